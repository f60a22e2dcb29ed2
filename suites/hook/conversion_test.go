package hook

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

func TestConversions(t *testing.T) {
	pool := openPool(t, "127.0.0.1")
	versions := map[string]map[string]string{
		"v2": {"/spec/size": "/spec/dimensions/width", "/spec/a": "/spec/b", "/spec/b": "/spec/a"},
		"v3": {"/spec/size": "/width", "/spec/note": "", "/data/x~1y": "/data/x.y"},
	}
	const metadata = `"kind":"Thing","metadata":{"name":"a","uid":"o1"}`
	for name, test := range map[string]struct {
		versions map[string]map[string]string // those above when nil
		answers  []fixtures.Answer
		version  string // of the review; v1 when empty
		to       string
		objects  string
		want     string // the response's objects, or all of it when it is a mapping
		code     int    // 200 when 0
		err      string // of the recorded call
	}{
		"to a version": {
			to: "v2", objects: `[{"apiVersion":"g/v1",` + metadata + `,"spec":{"size":1,"color":"red"}}]`,
			want: `[{"apiVersion":"g/v2",` + metadata + `,"spec":{"color":"red","dimensions":{"width":1}}}]`,
		},
		"back": {
			to: "v1", objects: `[{"apiVersion":"g/v2",` + metadata + `,"spec":{"dimensions":{"width":1}}}]`,
			want: `[{"apiVersion":"g/v1",` + metadata + `,"spec":{"size":1}}]`,
		},
		"what a mapping holds besides stays": {
			to: "v1", objects: `[{"apiVersion":"g/v2",` + metadata + `,"spec":{"dimensions":{"width":1,"height":2}}}]`,
			want: `[{"apiVersion":"g/v1",` + metadata + `,"spec":{"dimensions":{"height":2},"size":1}}]`,
		},
		"from one to another": {
			to: "v3", objects: `[{"apiVersion":"g/v2",` + metadata + `,"spec":{"dimensions":{"width":1}}}]`,
			want: `[{"apiVersion":"g/v3",` + metadata + `,"spec":{},"width":1}]`,
		},
		"fields that swap": {
			to: "v2", objects: `[{"apiVersion":"g/v1",` + metadata + `,"spec":{"a":1,"b":2}}]`,
			want: `[{"apiVersion":"g/v2",` + metadata + `,"spec":{"a":2,"b":1}}]`,
		},
		"a field that is lost": {
			to: "v3", objects: `[{"apiVersion":"g/v1",` + metadata + `,"spec":{"note":"x","other":"y"}}]`,
			want: `[{"apiVersion":"g/v3",` + metadata + `,"spec":{"other":"y"}}]`,
		},
		"a field with a slash in its name": {
			to: "v3", objects: `[{"apiVersion":"g/v1",` + metadata + `,"data":{"x/y":1}}]`,
			want: `[{"apiVersion":"g/v3",` + metadata + `,"data":{"x.y":1}}]`,
		},
		"several objects in several versions": {
			to: "v1", objects: `[{"apiVersion":"g/v3",` + metadata + `,"width":1},{"apiVersion":"g/v2",` + metadata + `,"spec":{"a":2}}]`,
			want: `[{"apiVersion":"g/v1",` + metadata + `,"spec":{"size":1}},{"apiVersion":"g/v1",` + metadata + `,"spec":{"b":2}}]`,
		},
		"no versions": {
			versions: map[string]map[string]string{}, to: "v2", objects: `[{"apiVersion":"g/v1",` + metadata + `}]`,
			want: `[{"apiVersion":"g/v2",` + metadata + `}]`,
		},
		"the review's version is kept": {
			version: "v1beta1", to: "v1", objects: `[]`,
			want: `{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"ConversionReview","response":{"uid":"r1","result":{"status":"Success"},"convertedObjects":[]}}`,
		},
		"a failure": {
			answers: []fixtures.Answer{{When: "objects[0].spec.a == 1", Status: fixtures.Object{"status": "Failure", "message": "no"}}},
			to:      "v3", objects: `[{"apiVersion":"g/v1",` + metadata + `,"spec":{"a":1}}]`,
			want: `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"r1","result":{"status":"Failure","message":"no"},
				"convertedObjects":[{"apiVersion":"g/v3",` + metadata + `,"spec":{"a":1}}]}}`,
		},
		"a patch of each object": {
			answers: []fixtures.Answer{{Patch: []fixtures.Object{{"op": "replace", "path": "/metadata/uid", "value": "other"}}}},
			to:      "v2", objects: `[{"apiVersion":"g/v1",` + metadata + `}]`,
			want: `[{"apiVersion":"g/v2","kind":"Thing","metadata":{"name":"a","uid":"other"}}]`,
		},
		"a review that is changed": {
			answers: []fixtures.Answer{{Review: fixtures.Object{"response": map[string]any{"uid": "other", "convertedObjects": nil}}}},
			to:      "v2", objects: `[{"apiVersion":"g/v1",` + metadata + `}]`,
			want: `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"other","result":{"status":"Success"}}}`,
		},
		"a patch that does not apply is the fixture's failure": {
			answers: []fixtures.Answer{{Patch: []fixtures.Object{{"op": "remove", "path": "/none"}}}},
			to:      "v2", objects: `[{"apiVersion":"g/v1",` + metadata + `}]`, code: http.StatusInternalServerError, err: "apply the answer's patch",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.versions == nil {
				test.versions = versions
			}
			if test.version == "" {
				test.version = "v1"
			}
			servers := open(t, pool, map[string]fixtures.Webhook{"conversion": {Versions: test.versions, Answer: test.answers}})
			config := servers.ClientConfigs()["conversion"]
			code, body, _, err := post(t, clientFor(t, config, ""), config.URL, `{"apiVersion":"apiextensions.k8s.io/`+test.version+`","kind":"ConversionReview",
				"request":{"uid":"r1","desiredAPIVersion":"g/`+test.to+`","objects":`+test.objects+`}}`)
			if err != nil || code != max(test.code, http.StatusOK) {
				t.Fatalf("code %d, error %v", code, err)
			}
			calls := drain(t, servers)
			if len(calls) != 1 || !calls[0].Conversion {
				t.Fatalf("calls: %+v, want one of a conversion webhook", calls)
			}
			if test.err != "" {
				if calls[0].Err == nil || !strings.Contains(calls[0].Err.Error(), test.err) {
					t.Errorf("the call's error is %v, want one about %s", calls[0].Err, test.err)
				}
				return
			}
			if calls[0].Err != nil {
				t.Fatal(calls[0].Err)
			}
			if strings.HasPrefix(test.want, "[") {
				test.want = `{"apiVersion":"apiextensions.k8s.io/` + test.version + `","kind":"ConversionReview",
					"response":{"uid":"r1","result":{"status":"Success"},"convertedObjects":` + test.want + `}}`
			}
			if diff := cmp.Diff(decode(t, test.want), decode(t, body)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}
