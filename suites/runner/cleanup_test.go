package runner

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLeftoversInOrder(t *testing.T) {
	var told []string
	left := &leftovers{namespace: "own", caseName: "x", changed: func(all []string) { told = all }}
	for _, path := range []string{
		"/api/v1/namespaces/x-other",
		"/apis/rbac.authorization.k8s.io/v1/clusterroles/x",
		"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/x",
		"/api/v1/namespaces/own/pods/a", // goes with the namespace
		"/api/v1/namespaces/x-other/pods/a",
		"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/x",
		"/api/v1/namespaces/x-other/pods/a",
	} {
		left.add(path, nil)
	}
	want := []string{
		"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/x",
		"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/x",
		"/api/v1/namespaces/x-other/pods/a",
		"/apis/rbac.authorization.k8s.io/v1/clusterroles/x",
		"/api/v1/namespaces/x-other",
		"/api/v1/namespaces/own",
	}
	if diff := cmp.Diff(want, left.all()); diff != "" {
		t.Errorf("order of deletion (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told of (-want +got):\n%s", diff)
	}
}

func TestLeftoversKeepWhatMayHaveBeenMade(t *testing.T) {
	left := &leftovers{namespace: "own", caseName: "x7f2k", changed: func([]string) {}}
	drop := left.expect("/api/v1/namespaces/refused-x7f2k")
	left.expect("/api/v1/namespaces/lost-x7f2k")
	left.expect("/api/v1/namespaces/default") // not the case's own name: never deleted on a guess
	left.expect("")
	drop()
	left.add("/api/v1/namespaces/own/pods/kept", parse(t, `{metadata: {finalizers: [example.com/x]}}`))
	want := []string{"/api/v1/namespaces/lost-x7f2k", "/api/v1/namespaces/own/pods/kept"}
	if diff := cmp.Diff(want, left.paths); diff != "" {
		t.Errorf("left over (-want +got):\n%s", diff)
	}
}

func TestRemove(t *testing.T) {
	const path = "/apis/example.com/v1/things/x"
	const crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/x"
	const finalized = `200 {"metadata":{"finalizers":["example.com/x"]}}`
	for name, test := range map[string]struct {
		path    string
		replies map[string][]string
		want    []string
	}{
		"deleted":      {path, map[string][]string{"DELETE " + path: {"200 {}"}}, []string{"DELETE " + path}},
		"gone already": {path, map[string][]string{}, []string{"DELETE " + path}},
		"refused for a while": {
			path, map[string][]string{"DELETE " + path: {"403 {}", "500 {}", "200 {}"}}, []string{"DELETE " + path, "DELETE " + path, "DELETE " + path},
		},
		"finalizers are taken off": {
			path, map[string][]string{"DELETE " + path: {finalized}, "PATCH " + path: {"200 {}"}}, []string{"DELETE " + path, "PATCH " + path},
		},
		"the server's own finalizers stay": {crd, map[string][]string{"DELETE " + crd: {finalized}}, []string{"DELETE " + crd}},
	} {
		t.Run(name, func(t *testing.T) {
			server := newFakeServer(t)
			for line, answers := range test.replies {
				server.replies(line, answers...)
			}
			if err := server.client.remove(context.Background(), test.path); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, server.requests()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRemoveSaysWhyItGaveUp(t *testing.T) {
	server := newFakeServer(t)
	server.replies("DELETE /api/v1/namespaces/x", `403 {"message":"a webhook said no"}`)
	ctx, cancel := context.WithCancel(context.Background())
	refused := server.answer["DELETE /api/v1/namespaces/x"]
	server.answer["DELETE /api/v1/namespaces/x"] = func(w http.ResponseWriter, body string) {
		refused(w, body)
		if len(server.lines) > 1 {
			cancel()
		}
	}
	err := (&Server{client: server.client}).Remove(ctx, []string{"/api/v1/namespaces/x"})
	if err == nil || !strings.Contains(err.Error(), "/api/v1/namespaces/x is left over") || !strings.Contains(err.Error(), "a webhook said no") {
		t.Errorf("error %v, want what is left over and why", err)
	}
	if !slices.Contains(server.requests(), "DELETE /api/v1/namespaces/x") {
		t.Error("the namespace was not deleted")
	}
}
