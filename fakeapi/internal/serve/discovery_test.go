package serve

import (
	"compress/gzip"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

//go:generate go run ../../../hack/generate/served discovery testdata/discovery.json.gz

// inOneDocument is what clients accept that want discovery in one document.
const inOneDocument = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// TestDiscovery compares all of discovery with what a kube-apiserver v1.37.2 with default settings answers.
func TestDiscovery(t *testing.T) {
	recorded := recordedDiscovery(t)
	router := newTestRouter(t)
	for path, want := range recorded.Plain {
		compareDiscovery(t, router, path, runtime.ContentTypeJSON, want)
	}
	for path, want := range recorded.Aggregated {
		compareDiscovery(t, router, path, inOneDocument, want)
	}
}

// Group versions that are not served by default are discovered as where a kube-apiserver was asked to serve them.
func TestDiscoveryOfOptionalVersions(t *testing.T) {
	router := newTestRouter(t,
		schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1alpha1"},
		schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1beta1"})
	for path, want := range recordedDiscovery(t).Optional {
		compareDiscovery(t, router, path, runtime.ContentTypeJSON, want)
	}
}

type discoveryDocuments struct {
	Plain, Aggregated, Optional map[string]any
}

func recordedDiscovery(t *testing.T) discoveryDocuments {
	t.Helper()
	var recorded discoveryDocuments
	readCompressed(t, "testdata/discovery.json.gz", &recorded)
	if len(recorded.Plain) == 0 || len(recorded.Aggregated) == 0 || len(recorded.Optional) == 0 {
		t.Fatal("the recording of discovery is not whole")
	}
	return recorded
}

func compareDiscovery(t *testing.T, router *router, path, accept string, want any) {
	t.Helper()
	recorder := answer(router, path, accept)
	var got any
	if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil {
		t.Fatalf("%s: %d, %v:\n%s", path, recorder.Code, err, recorder.Body)
	}
	if diff := cmp.Diff(withoutAddress(want), withoutAddress(got)); diff != "" {
		t.Errorf("%s as %s (-real +ours):\n%s", path, accept, diff)
	}
}

// withoutAddress takes the address of the server out of a document.
func withoutAddress(document any) any {
	if addresses, ok := document.(map[string]any)["serverAddressByClientCIDRs"].([]any); ok {
		for _, address := range addresses {
			if text, _ := address.(map[string]any)["serverAddress"].(string); regexp.MustCompile(`^[0-9.]+:\d+$`).MatchString(text) {
				address.(map[string]any)["serverAddress"] = "ADDRESS"
			}
		}
	}
	return document
}

func newTestRouter(t *testing.T, enabled ...schema.GroupVersion) *router {
	t.Helper()
	catalogue, err := resource.New(resource.Options{Store: store.New(store.Options{}), EnabledVersions: enabled})
	if err != nil {
		t.Fatal(err)
	}
	return newRouter(Config{Catalogue: catalogue, Address: "127.0.0.1:6443"})
}

// answer sends a GET.
func answer(handler http.Handler, path, accept string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodGet, path, nil)
	request.Header.Set("Accept", accept)
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder
}

func readCompressed(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close() // it is only read
	reader, err := gzip.NewReader(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(reader).Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// Documents that are made once are read by many clients at the same time: the race detector sees a writer among them.
func TestDiscoveryAtOnce(t *testing.T) {
	router := newTestRouter(t)
	for _, document := range []struct{ path, accept string }{
		{"/api", runtime.ContentTypeJSON},
		{"/apis", runtime.ContentTypeJSON},
		{"/api", inOneDocument},
		{"/apis", inOneDocument},
		{"/api/v1", runtime.ContentTypeJSON},
		{"/apis/apps", runtime.ContentTypeJSON},
		{"/openapi/v2", runtime.ContentTypeJSON},
		{"/openapi/v3", runtime.ContentTypeJSON},
		{"/openapi/v3/apis/apps/v1", runtime.ContentTypeJSON},
		{"/version", runtime.ContentTypeJSON},
	} {
		first := answer(router, document.path, document.accept)
		if first.Code != http.StatusOK {
			t.Errorf("%s: %d: %s", document.path, first.Code, first.Body)
			continue
		}
		var clients sync.WaitGroup
		for range 8 {
			clients.Go(func() {
				for range 4 {
					if got := answer(router, document.path, document.accept); got.Body.String() != first.Body.String() {
						t.Errorf("%s as %s differs from one request to the next", document.path, document.accept)
					}
				}
			})
		}
		clients.Wait()
	}
}
