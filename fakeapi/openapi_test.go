package fakeapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

// The OpenAPI documents tell of a custom resource as soon as the answer to the write of its definition has come.
func TestOpenAPIFollowsDefinitions(t *testing.T) {
	const (
		definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
		document    = "/openapi/v3/apis/example.com/v1"
		definition  = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"},
			"spec": {"group": "example.com", "scope": "Cluster", "names": {"plural": "widgets", "kind": "Widget"}, "versions": [{"name": "v1",
				"served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "description": "the first words"}}}]}}`
	)
	server := start(t, fakeapi.Options{})
	tells := func(path, words string) bool {
		t.Helper()
		return strings.Contains(do(t, server, http.MethodGet, path, "").body, words)
	}
	for _, step := range []struct {
		method, path, body string
		words              string // of the documents after it
	}{
		{http.MethodPost, definitions, definition, "the first words"},
		{http.MethodPatch, definitions + "/widgets.example.com",
			`[{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/description", "value": "better words"}]`, "better words"},
		{http.MethodDelete, definitions + "/widgets.example.com", "", ""},
	} {
		contentType := "application/json"
		if step.method == http.MethodPatch {
			contentType = "application/json-patch+json"
		}
		if answer := do(t, server, step.method, step.path, step.body, "Content-Type", contentType); answer.code >= 300 {
			t.Fatalf("%s %s: %d %s", step.method, step.path, answer.code, answer.body)
		}
		if step.words == "" {
			for end := time.Now().Add(patience); do(t, server, http.MethodGet, step.path, "").code != http.StatusNotFound; {
				if time.Now().After(end) {
					t.Fatal("the definition does not go")
				}
			}
			if tells("/openapi/v3", "apis/example.com/v1") || tells("/openapi/v2", "com.example.v1.Widget") ||
				do(t, server, http.MethodGet, document, "").code != http.StatusNotFound {
				t.Error("the documents still tell of the custom resource")
			}
			continue
		}
		if !tells("/openapi/v3", "apis/example.com/v1?hash=") || !tells(document, step.words) || !tells("/openapi/v2", step.words) {
			t.Errorf("after %s the documents do not say %q", step.method, step.words)
		}
	}
}
