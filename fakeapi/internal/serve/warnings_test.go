package serve

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/warning"
)

// The filter must answer as upstream's, which this one replaces for the sake of safety alone.
func TestWarningsAreUpstreams(t *testing.T) {
	many := func(count, size int) []string {
		var texts []string
		for i := range count {
			texts = append(texts, strings.Repeat(string(rune('a'+i%26)), size+i))
		}
		return texts
	}
	tests := map[string][]string{
		"none":               nil,
		"one":                {"one"},
		"in order":           {"b", "a"},
		"each once":          {"a", "b", "a"},
		"empty":              {"", "a", " "},
		"quotes":             {`a "quoted" \ text`},
		"control characters": {"a\nb", "c", "d\te", "\xff"},
		"not ASCII":          {"zażółć"},
		"long alone":         {strings.Repeat("x", 4096)},
		"too long alone":     {strings.Repeat("x", 4097)},
		"just fits":          {strings.Repeat("x", 4000), strings.Repeat("y", 96)},
		"fits and one more":  {strings.Repeat("x", 4000), strings.Repeat("y", 96), "z"},
		"many short":         many(30, 200),
		"many long":          many(30, 300),
		"too much, then bad": {strings.Repeat("x", 4097), "a\nb", "c"},
	}
	for name, texts := range tests {
		t.Run(name, func(t *testing.T) {
			handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				for _, text := range texts {
					warning.AddWarning(req.Context(), "", text)
				}
				w.WriteHeader(http.StatusOK)
				warning.AddWarning(req.Context(), "", "too late")
			})
			got := warningsOf(withWarnings(handler))
			want := warningsOf(filters.WithWarningRecorder(handler))
			if !slices.Equal(got, want) {
				t.Errorf("got %d warnings, want %d\n%q\n%q", len(got), len(want), got, want)
			}
		})
	}
}

func warningsOf(handler http.Handler) []string {
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/", nil))
	return recorder.Result().Header.Values("Warning")
}

// A handler that has timed out may go on adding warnings while the answer is sent. The race detector tells.
func TestWarningsAddedWhileAnswering(t *testing.T) {
	done := make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx := req.Context()
		go func() {
			defer close(done)
			for i := range 100 {
				warning.AddWarning(ctx, "", strings.Repeat("x", i))
			}
		}()
		w.WriteHeader(http.StatusGatewayTimeout)
		w.Header().Get("Warning")
	})
	warningsOf(withWarnings(handler))
	<-done
}
