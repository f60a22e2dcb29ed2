package resource_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

// start is when tests take place.
var start = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)

// newCatalogue returns a catalogue with a clock that stands still and uids that count.
func newCatalogue(t *testing.T, options resource.Options) *resource.Catalogue {
	t.Helper()
	if options.Store == nil {
		options.Store = store.New(store.Options{})
	}
	options.Clock = clocktesting.NewFakePassiveClock(start)
	uids := 0
	options.UID = func() types.UID {
		uids++
		return types.UID(fmt.Sprintf("uid-%d", uids))
	}
	catalogue, err := resource.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return catalogue
}

// in is a context of a request in a namespace.
func in(namespace string) context.Context {
	ctx := request.WithNamespace(context.Background(), namespace)
	return request.WithUser(ctx, &user.DefaultInfo{Name: "tester"})
}

func lookup(t *testing.T, c *resource.Catalogue, gvr schema.GroupVersionResource, subresource string) *resource.Resource {
	t.Helper()
	found, ok := c.Lookup(gvr, subresource)
	if !ok {
		t.Fatalf("%s %q is not served", gvr, subresource)
	}
	return found
}

func storageOf[T any](t *testing.T, c *resource.Catalogue, gvr schema.GroupVersionResource, subresource string) T {
	t.Helper()
	storage, ok := lookup(t, c, gvr, subresource).Storage().(T)
	if !ok {
		t.Fatalf("storage of %s %q is a %T", gvr, subresource, lookup(t, c, gvr, subresource).Storage())
	}
	return storage
}

// api calls the upstream handlers with the catalogue's scopes and storages, as a server does.
type api struct {
	t         *testing.T
	catalogue *resource.Catalogue
	admission admission.Interface
}

// call sends a request and returns the status and the answered object.
func (a api) call(method, path, contentType string, body any) (int, *unstructured.Unstructured) {
	a.t.Helper()
	var data []byte
	switch b := body.(type) {
	case nil:
	case string:
		data = []byte(b)
	default:
		var err error
		if data, err = json.Marshal(b); err != nil {
			a.t.Fatal(err)
		}
	}
	req := httptest.NewRequest(method, path, bytes.NewReader(data))
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", "tester")
	recorder := httptest.NewRecorder()
	a.serve(recorder, req)
	answer := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(recorder.Body.Bytes(), &answer.Object); err != nil {
		a.t.Fatalf("%s %s: %v: %s", method, path, err, recorder.Body)
	}
	return recorder.Code, answer
}

// do is call that must succeed.
func (a api) do(method, path string, body any) *unstructured.Unstructured {
	a.t.Helper()
	contentType := "application/json"
	if method == http.MethodPatch {
		contentType = "application/merge-patch+json"
	}
	code, answer := a.call(method, path, contentType, body)
	if code >= 300 {
		a.t.Fatalf("%s %s: %d: %v", method, path, code, answer.Object["message"])
	}
	return answer
}

// apply is a server-side apply.
func (a api) apply(path, manager string, body any) (int, *unstructured.Unstructured) {
	a.t.Helper()
	return a.call(http.MethodPatch, path+"?fieldManager="+manager, "application/apply-patch+yaml", body)
}

func (a api) serve(w http.ResponseWriter, req *http.Request) {
	factory := request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	info, err := factory.NewRequestInfo(req)
	if err != nil {
		a.t.Fatal(err)
	}
	gvr := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
	found := lookup(a.t, a.catalogue, gvr, info.Subresource)
	ctx := request.WithRequestInfo(req.Context(), info)
	ctx = request.WithUser(ctx, &user.DefaultInfo{Name: "tester"})
	req = req.WithContext(audit.WithAuditContext(request.WithReceivedTimestamp(ctx, time.Now())))
	scope, storage := found.Scope(), found.Storage()
	if connecter, ok := storage.(rest.Connecter); ok {
		handlers.ConnectResource(connecter, scope, a.admission, req.URL.Path, true)(w, req)
		return
	}
	switch info.Verb {
	case "create":
		if named, ok := storage.(rest.NamedCreater); ok {
			handlers.CreateNamedResource(named, scope, a.admission)(w, req)
			return
		}
		handlers.CreateResource(storage.(rest.Creater), scope, a.admission)(w, req)
	case "update":
		handlers.UpdateResource(storage.(rest.Updater), scope, a.admission)(w, req)
	case "patch":
		handlers.PatchResource(storage.(rest.Patcher), scope, a.admission, []string{
			string(types.JSONPatchType), string(types.MergePatchType), string(types.StrategicMergePatchType), string(types.ApplyYAMLPatchType),
		})(w, req)
	case "delete":
		handlers.DeleteResource(storage.(rest.GracefulDeleter), true, scope, a.admission)(w, req)
	case "deletecollection":
		handlers.DeleteCollection(storage.(rest.CollectionDeleter), true, scope, a.admission)(w, req)
	case "get":
		if withOptions, ok := storage.(rest.GetterWithOptions); ok {
			handlers.GetResourceWithOptions(withOptions, scope, true)(w, req)
			return
		}
		handlers.GetResource(storage.(rest.Getter), scope)(w, req)
	case "list":
		handlers.ListResource(storage.(rest.Lister), storage.(rest.Watcher), scope, false, time.Minute)(w, req)
	default:
		a.t.Fatalf("verb %s", info.Verb)
	}
}

// object is a JSON object.
type object = map[string]any

// nested returns a value of an object, nil when it is not there.
func nested(u *unstructured.Unstructured, path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
	return value
}
