package runner

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// fakeServer answers as its functions say and keeps the lines of the requests.
type fakeServer struct {
	client *client
	answer map[string]func(w http.ResponseWriter, body string) // by method and path

	mu    sync.Mutex
	lines []string
}

func newFakeServer(t *testing.T) *fakeServer {
	t.Helper()
	f := &fakeServer{answer: map[string]func(http.ResponseWriter, string){}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		line := r.Method + " " + r.URL.Path
		f.mu.Lock()
		f.lines = append(f.lines, line)
		answer := f.answer[line]
		f.mu.Unlock()
		if answer == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		answer(w, string(body))
	}))
	t.Cleanup(server.Close)
	var err error
	if f.client, err = newClient(&rest.Config{Host: server.URL}); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fakeServer) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.lines)
}

// replies makes the server give these answers, each a code and a body, one after the other and then the last for ever.
func (f *fakeServer) replies(line string, answers ...string) {
	count := 0
	f.answer[line] = func(w http.ResponseWriter, _ string) {
		code, body, _ := strings.Cut(answers[min(count, len(answers)-1)], " ")
		count++
		var status int
		fmt.Sscan(code, &status)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func TestUniqueName(t *testing.T) {
	for id, prefix := range map[string]string{
		"area/file/if-needed":  "if-needed-",
		"area/file/UPPER_case": "upper-case-",
		"area/file/2nd":        "c2nd-",
		"area/file/---":        "c-",
		"area/file/a-very-long-name-of-a-case-with-end": "a-very-long-name-of-",
	} {
		a, b := uniqueName(id), uniqueName(id)
		if !strings.HasPrefix(a, prefix) || len(a) > 27 {
			t.Errorf("uniqueName(%q) = %q, want it to begin with %q and be short", id, a, prefix)
		}
		if a == b {
			t.Errorf("uniqueName(%q) twice is %q", id, a)
		}
	}
}
