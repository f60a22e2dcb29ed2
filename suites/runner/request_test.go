package runner

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// discovered knows some kinds, of a server that knows no others.
func discovered(t *testing.T) *kinds {
	k := newKinds(newFakeServer(t).client)
	k.served[schema.GroupVersion{Version: "v1"}] = []metav1.APIResource{
		{Name: "pods", Kind: "Pod", Namespaced: true},
		{Name: "pods/eviction", Kind: "Eviction", Namespaced: true, Group: "policy", Version: "v1"},
		{Name: "configmaps", Kind: "ConfigMap", Namespaced: true},
		{Name: "namespaces", Kind: "Namespace"},
	}
	k.served[schema.GroupVersion{Group: "apps", Version: "v1"}] = []metav1.APIResource{
		{Name: "deployments", Kind: "Deployment", Namespaced: true},
	}
	return k
}

func TestPrepare(t *testing.T) {
	configMap := fixtures.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}}
	elsewhere := fixtures.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "other"}}
	namespace := fixtures.Object{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "a"}}
	pod := fixtures.Object{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a"}}
	body := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`
	for name, test := range map[string]struct {
		step                    fixtures.Step
		line, contentType, body string
		writes                  bool
		object                  string
	}{
		"create": {fixtures.Step{Create: configMap}, "POST /api/v1/namespaces/own/configmaps", "application/json", body, true, "/api/v1/namespaces/own/configmaps/a"},
		"create elsewhere": {
			fixtures.Step{Create: elsewhere}, "POST /api/v1/namespaces/other/configmaps", "application/json",
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"other"}}`, true, "/api/v1/namespaces/other/configmaps/a",
		},
		"create where the step says": {
			fixtures.Step{Create: elsewhere, Namespace: ptr.To("third")}, "POST /api/v1/namespaces/third/configmaps", "application/json",
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"other"}}`, true, "/api/v1/namespaces/third/configmaps/a",
		},
		"create cluster-scoped": {
			fixtures.Step{Create: namespace}, "POST /api/v1/namespaces", "application/json",
			`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}`, true, "/api/v1/namespaces/a",
		},
		"create with options": {
			fixtures.Step{Create: configMap, DryRun: true, FieldManager: "me", Options: fixtures.Object{"fieldValidation": "Strict"}},
			"POST /api/v1/namespaces/own/configmaps?dryRun=All&fieldManager=me&fieldValidation=Strict", "application/json", body, false, "/api/v1/namespaces/own/configmaps/a",
		},
		"create a subresource": {
			fixtures.Step{Create: fixtures.Object{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": "a"}}, Resource: "pods", Subresource: "eviction"},
			"POST /api/v1/namespaces/own/pods/a/eviction", "application/json", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a"}}`, true, "/api/v1/namespaces/own/pods/a",
		},
		"update": {fixtures.Step{Update: configMap}, "PUT /api/v1/namespaces/own/configmaps/a", "application/json", body, true, "/api/v1/namespaces/own/configmaps/a"},
		"update a subresource of a resource named in full": {
			fixtures.Step{Update: fixtures.Object{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": map[string]any{"name": "a"}}, Resource: "deployments.v1.apps", Subresource: "scale"},
			"PUT /apis/apps/v1/namespaces/own/deployments/a/scale", "application/json", `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a"}}`, true, "/apis/apps/v1/namespaces/own/deployments/a",
		},
		"JSON patch": {
			fixtures.Step{Patch: configMap, JSON: []fixtures.Object{{"op": "remove", "path": "/x"}}},
			"PATCH /api/v1/namespaces/own/configmaps/a", "application/json-patch+json", `[{"op":"remove","path":"/x"}]`, true, "/api/v1/namespaces/own/configmaps/a",
		},
		"merge patch": {
			fixtures.Step{Patch: configMap, Merge: fixtures.Object{"data": nil}},
			"PATCH /api/v1/namespaces/own/configmaps/a", "application/merge-patch+json", `{"data":null}`, true, "/api/v1/namespaces/own/configmaps/a",
		},
		"strategic merge patch": {
			fixtures.Step{Patch: configMap, Strategic: fixtures.Object{}}, "PATCH /api/v1/namespaces/own/configmaps/a", "application/strategic-merge-patch+json", `{}`, true,
			"/api/v1/namespaces/own/configmaps/a",
		},
		"apply": {
			fixtures.Step{Patch: configMap, Apply: configMap, Options: fixtures.Object{"force": true}},
			"PATCH /api/v1/namespaces/own/configmaps/a?fieldManager=gatehouse&force=true", "application/apply-patch+yaml", body, true, "/api/v1/namespaces/own/configmaps/a",
		},
		"apply as a manager": {
			fixtures.Step{Patch: configMap, Apply: configMap, FieldManager: "me"},
			"PATCH /api/v1/namespaces/own/configmaps/a?fieldManager=me", "application/apply-patch+yaml", body, true, "/api/v1/namespaces/own/configmaps/a",
		},
		"delete":         {fixtures.Step{Delete: configMap}, "DELETE /api/v1/namespaces/own/configmaps/a", "", "", true, "/api/v1/namespaces/own/configmaps/a"},
		"delete dry run": {fixtures.Step{Delete: configMap, DryRun: true}, "DELETE /api/v1/namespaces/own/configmaps/a?dryRun=All", "", "", false, "/api/v1/namespaces/own/configmaps/a"},
		"delete with options": {
			fixtures.Step{Delete: configMap, DryRun: true, Options: fixtures.Object{"gracePeriodSeconds": 0}}, "DELETE /api/v1/namespaces/own/configmaps/a", "application/json",
			`{"apiVersion":"v1","dryRun":["All"],"gracePeriodSeconds":0,"kind":"DeleteOptions"}`, false, "/api/v1/namespaces/own/configmaps/a",
		},
		"delete a collection": {
			fixtures.Step{DeleteCollection: &fixtures.Collection{APIVersion: "v1", Kind: "ConfigMap", LabelSelector: "a=b"}},
			"DELETE /api/v1/namespaces/own/configmaps?labelSelector=a%3Db", "", "", true, "",
		},
		"get":  {fixtures.Step{Get: configMap}, "GET /api/v1/namespaces/own/configmaps/a", "", "", false, "/api/v1/namespaces/own/configmaps/a"},
		"list": {fixtures.Step{List: &fixtures.Collection{APIVersion: "v1", Kind: "ConfigMap", FieldSelector: "metadata.name=a"}}, "GET /api/v1/namespaces/own/configmaps?fieldSelector=metadata.name%3Da", "", "", false, ""},
		"list everywhere": {
			fixtures.Step{List: &fixtures.Collection{APIVersion: "v1", Kind: "ConfigMap"}, Namespace: ptr.To("")}, "GET /api/v1/configmaps", "", "", false, "",
		},
		"watch": {
			fixtures.Step{Watch: &fixtures.Collection{APIVersion: "apps/v1", Kind: "Deployment"}, Options: fixtures.Object{"timeoutSeconds": int64(1)}},
			"GET /apis/apps/v1/namespaces/own/deployments?timeoutSeconds=1&watch=true", "", "", false, "",
		},
		"watch without a time": {
			fixtures.Step{Watch: &fixtures.Collection{APIVersion: "v1", Kind: "Namespace"}}, "GET /api/v1/namespaces?timeoutSeconds=10&watch=true", "", "", false, "",
		},
		"connect": {
			fixtures.Step{Connect: pod, Subresource: "exec", Options: fixtures.Object{"command": []any{"ls", "-l"}, "stdin": true}},
			"POST /api/v1/namespaces/own/pods/a/exec?command=ls&command=-l&stdin=true", "", "", false, "/api/v1/namespaces/own/pods/a",
		},
		"connect by another method": {fixtures.Step{Connect: pod, Subresource: "proxy", Method: "GET"}, "GET /api/v1/namespaces/own/pods/a/proxy", "", "", false, "/api/v1/namespaces/own/pods/a"},
		"http":                      {fixtures.Step{HTTP: &fixtures.HTTPRequest{Path: "/healthz?verbose"}}, "GET /healthz?verbose", "", "", false, ""},
		"http with an object": {
			fixtures.Step{HTTP: &fixtures.HTTPRequest{Method: "PUT", Path: "/api/v1/namespaces/b/configmaps/a?dryRun=All", Body: map[string]any{"x": 1}}},
			"PUT /api/v1/namespaces/b/configmaps/a?dryRun=All", "application/json", `{"x":1}`, true, "/api/v1/namespaces/b/configmaps/a",
		},
		"http on a namespace": {
			fixtures.Step{HTTP: &fixtures.HTTPRequest{Method: "DELETE", Path: "/api/v1/namespaces/b"}}, "DELETE /api/v1/namespaces/b", "", "", true, "/api/v1/namespaces/b",
		},
		"http with text": {fixtures.Step{HTTP: &fixtures.HTTPRequest{Method: "POST", Path: "/x", Body: "{"}}, "POST /x", "", "{", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := prepare(context.Background(), discovered(t), test.step, "own")
			if err != nil {
				t.Fatal(err)
			}
			got := []any{a.request.line(), a.request.contentType, string(a.request.body), a.writes, a.objectPath(nil)}
			want := []any{test.line, test.contentType, test.body, test.writes, test.object}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("line, content type, body, writes, object (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPrepareRefuses(t *testing.T) {
	pod := fixtures.Object{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a"}}
	for name, step := range map[string]fixtures.Step{
		"no verb":            {},
		"a patch of no kind": {Patch: pod},
		"a nested parameter": {Get: pod, Options: fixtures.Object{"x": map[string]any{}}},
		"a broken version":   {Get: fixtures.Object{"apiVersion": "a/b/c", "kind": "Pod"}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := prepare(context.Background(), discovered(t), step, "own"); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestObjectPathOfAGeneratedName(t *testing.T) {
	step := fixtures.Step{Create: fixtures.Object{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"generateName": "a-"}}}
	a, err := prepare(context.Background(), discovered(t), step, "own")
	if err != nil {
		t.Fatal(err)
	}
	if got := a.objectPath(nil); got != "" {
		t.Errorf("before the answer: %q, want none", got)
	}
	got := a.objectPath(answered(t, 201, `{"metadata": {"name": "a-x7f2k"}}`))
	if want := "/api/v1/namespaces/own/pods/a-x7f2k"; got != want {
		t.Errorf("after the answer: %q, want %q", got, want)
	}
}

func TestNotServed(t *testing.T) {
	server := newFakeServer(t)
	_, err := newKinds(server.client).ofKind(context.Background(), schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"})
	var missing *notServed
	if !errors.As(err, &missing) {
		t.Errorf("error %v, want that it is not served", err)
	}
}
