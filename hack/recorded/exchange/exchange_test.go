package exchange_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/gatehouse-dev/gatehouse/hack/recorded/exchange"
)

// file has an exchange of every sort with the server below.
const file = `# Some remark.

== a case, of its own
POST /things/$ns
Accept: application/json
| {metadata: {name: a}}
? .metadata.name .metadata.uid .list[*].n
$rv = .metadata.resourceVersion
< 201
< Warning: 299 - "careful"
< .metadata.name a
< .metadata.uid <uid1>
< .list[*].n 1 2
MERGE /things/$ns?at=$rv
> {"raw": $unknown}
< 409
< Failure Conflict: version <rv1> of <uid1> is not the one of <time>
< {"name":"a"}
# Another remark.
WATCH /things/$ns?watch=true
? .metadata.name .metadata.resourceVersion
! 2
< 200
< ADDED .metadata.name a .metadata.resourceVersion <rv1>
< DELETED .metadata.name b .metadata.resourceVersion <rv2>
GET /slow
~ 200
% some reason
< 200
< plain
`

// serve answers as file has it.
func serve(t *testing.T) *rest.Config {
	slow := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch key := req.Method + " " + req.URL.String(); key {
		case "POST /api/v1/namespaces":
			w.WriteHeader(http.StatusCreated)
		case "POST /things/a-case-of-its-own":
			w.Header().Set("Warning", `299 - "careful"`)
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, `{"metadata":{"name":"a","uid":"01234567-89ab-cdef-0123-456789abcdef","resourceVersion":"1234"},"list":[{"n":1},{"n":2}]}`)
		case "PATCH /things/a-case-of-its-own?at=1234":
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict",`+
				`"message":"version 1234 of 01234567-89ab-cdef-0123-456789abcdef is not the one of 2024-05-06T07:08:09Z","details":{"name":"a"}}`)
		case "GET /things/a-case-of-its-own?watch=true":
			fmt.Fprintln(w, `{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1234"}}}`)
			fmt.Fprintln(w, `{"type":"DELETED","object":{"metadata":{"name":"b","resourceVersion":"1235"}}}`)
			fmt.Fprintln(w, `{"type":"ADDED","object":{"metadata":{"name":"c","resourceVersion":"1236"}}}`)
		case "GET /slow":
			if slow++; slow < 3 {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			fmt.Fprintln(w, "plain")
		default:
			t.Errorf("unexpected request %s", key)
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func TestPlay(t *testing.T) {
	f, err := exchange.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Cases) != 1 || f.Cases[0].Name != "a case, of its own" {
		t.Fatalf("cases %+v", f.Cases)
	}
	c := f.Cases[0]
	answers, err := c.Play(t.Context(), serve(t))
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range c.Steps {
		if diff := cmp.Diff(step.Answer, answers[i]); diff != "" {
			t.Errorf("line %d (-recorded +played):\n%s", step.Line, diff)
		}
	}
	if got := c.Steps[3].Deviation; got != "some reason" {
		t.Errorf("deviation %q", got)
	}
}

func TestBytes(t *testing.T) {
	var without []string
	for line := range strings.Lines(file) {
		if !strings.HasPrefix(line, "<") {
			without = append(without, line)
		}
	}
	f, err := exchange.Parse([]byte(strings.Join(without, "")))
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := exchange.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range recorded.Cases[0].Steps {
		f.Cases[0].Steps[i].Answer = slices.Clone(step.Answer)
	}
	if diff := cmp.Diff(file, string(f.Bytes())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		"GET /x":                      "before the first case",
		"== a\nAccept: x":             "before the first request",
		"== a\n< 200":                 "line 2: an answer without a request",
		"== a\nGET /x\n! many":        "line 3",
		"== a\nGET /x\nnot a header":  "cannot read",
		"== a\nGET /x\n$Name = .name": "cannot read",
	} {
		if _, err := exchange.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}
