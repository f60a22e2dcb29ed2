package serve

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/handler3"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/openapi"
)

// A client lists the documents, gets those that it does not have by the hash in their URLs, and keeps them.
func TestOpenAPIV3(t *testing.T) {
	router := newTestRouter(t)
	list := listOpenAPI(t, router)
	for _, group := range router.catalogue.Groups() {
		for _, version := range group.Versions {
			name := openapi.DocumentName(schema.GroupVersion{Group: group.Name, Version: version})
			if list.Paths[name].ServerRelativeURL == "" {
				t.Errorf("there is no document of %s", name)
			}
		}
	}
	const plain, deprecated = "application/json", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
	const protobuf = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
	hashed := list.Paths["apis/apps/v1"].ServerRelativeURL
	for _, test := range []struct {
		name, path, accept string
		code               int
		contentType        string
		immutable          bool
	}{
		{"by hash", hashed, plain, http.StatusOK, plain, true},
		{"without a hash", "/openapi/v3/apis/apps/v1", plain, http.StatusOK, plain, false},
		{"with an old hash", "/openapi/v3/apis/apps/v1?hash=ABC", plain, http.StatusMovedPermanently, plain, false},
		{"anything", hashed, "*/*", http.StatusOK, plain, true},
		{"protobuf", hashed, protobuf, http.StatusOK, protobuf, true},
		{"protobuf under its old name", hashed, deprecated, http.StatusOK, protobuf, true},
		{"what there is not", hashed, "text/html", http.StatusNotAcceptable, "", false},
		{"an unknown group", "/openapi/v3/apis/nothing/v1", plain, http.StatusNotFound, "", false},
		{"an optional version", "/openapi/v3/apis/admissionregistration.k8s.io/v1beta1", plain, http.StatusNotFound, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := answer(router, test.path, test.accept)
			if got.Code != test.code || got.Header().Get("Content-Type") != test.contentType {
				t.Errorf("%d %q, want %d %q", got.Code, got.Header().Get("Content-Type"), test.code, test.contentType)
			}
			if immutable := got.Header().Get("Cache-Control") == "public, immutable"; immutable != test.immutable {
				t.Errorf("immutable: %v, want %v", immutable, test.immutable)
			}
			if test.code == http.StatusMovedPermanently && got.Header().Get("Location") != hashed {
				t.Errorf("sent to %s, want %s", got.Header().Get("Location"), hashed)
			}
		})
	}
}

func TestOpenAPIOfOptionalVersions(t *testing.T) {
	beta := schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1beta1"}
	router := newTestRouter(t, beta)
	if list := listOpenAPI(t, router); list.Paths[openapi.DocumentName(beta)].ServerRelativeURL == "" {
		t.Errorf("there is no document of %s", beta)
	}
	if v2 := answer(router, "/openapi/v2", "application/json"); !strings.Contains(v2.Body.String(), "/apis/"+beta.String()+"/") {
		t.Errorf("version 2 has no paths of %s", beta)
	}
}

func TestOpenAPIV2(t *testing.T) {
	router := newTestRouter(t)
	v2 := answer(router, "/openapi/v2", "application/json")
	var document struct {
		Swagger     string                     `json:"swagger"`
		Definitions map[string]json.RawMessage `json:"definitions"`
	}
	if err := json.Unmarshal(v2.Body.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	if document.Swagger != "2.0" || document.Definitions["io.k8s.api.core.v1.PodSpec"] == nil {
		t.Errorf("swagger %q with %d definitions", document.Swagger, len(document.Definitions))
	}
	if vary := v2.Header().Values("Vary"); !slices.Contains(vary, "Accept") {
		t.Errorf("Vary: %v", vary)
	}
	const protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
	encoded := answer(router, "/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
	if encoded.Header().Get("Content-Type") != protobuf || encoded.Header().Get("Etag") != v2.Header().Get("Etag") {
		t.Errorf("%s %s, want %s with the same tag as JSON", encoded.Header().Get("Content-Type"), encoded.Header().Get("Etag"), protobuf)
	}
}

func listOpenAPI(t *testing.T, router *router) handler3.OpenAPIV3Discovery {
	t.Helper()
	var list handler3.OpenAPIV3Discovery
	if err := json.Unmarshal(answer(router, "/openapi/v3", "application/json").Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	return list
}
