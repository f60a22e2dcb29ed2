package resource_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

// TestVerbsAreWhatTheStorageCan holds because servers ask the storage what it can.
func TestVerbsAreWhatTheStorageCan(t *testing.T) {
	c := newCatalogue(t, resource.Options{EnabledVersions: []schema.GroupVersion{
		{Group: "admissionregistration.k8s.io", Version: "v1beta1"}, {Group: "admissionregistration.k8s.io", Version: "v1alpha1"},
	}})
	for _, r := range c.Resources() {
		can := map[string]bool{}
		storage := r.Storage()
		_, can["get"] = storage.(rest.Getter)
		_, can["list"] = storage.(rest.Lister)
		_, can["watch"] = storage.(rest.Watcher)
		_, can["update"] = storage.(rest.Updater)
		_, can["patch"] = storage.(rest.Patcher)
		_, can["delete"] = storage.(rest.GracefulDeleter)
		_, can["deletecollection"] = storage.(rest.CollectionDeleter)
		_, creates := storage.(rest.Creater)
		_, createsNamed := storage.(rest.NamedCreater)
		can["create"] = creates || createsNamed
		if _, ok := storage.(rest.GetterWithOptions); ok {
			can["get"] = true
		}
		if connecter, ok := storage.(rest.Connecter); ok {
			methods := connecter.ConnectMethods()
			for method, verb := range map[string]string{"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"} {
				can[verb] = slices.Contains(methods, method)
			}
		}
		for verb, able := range can {
			if listed := slices.Contains(r.Verbs, verb); listed != able {
				t.Errorf("%s/%s: verb %s listed: %v, storage (%T) can: %v", r.GVR, r.Subresource, verb, listed, storage, able)
			}
		}
	}
}

func TestScopes(t *testing.T) {
	c := newCatalogue(t, resource.Options{})
	for _, r := range c.Resources() {
		scope := r.Scope()
		if scope.Resource != r.GVR || scope.Subresource != r.Subresource || scope.Kind != r.GVK {
			t.Errorf("%s/%s: scope is of %s/%s %s", r.GVR, r.Subresource, scope.Resource, scope.Subresource, scope.Kind)
		}
		if scope.HubGroupVersion != r.GVK.GroupVersion() {
			t.Errorf("%s/%s: hub version %s, want that of the kind", r.GVR, r.Subresource, scope.HubGroupVersion)
		}
		if r.Scope() != scope {
			t.Errorf("%s/%s: the scope is built again", r.GVR, r.Subresource)
		}
	}
}

func TestEquivalentResources(t *testing.T) {
	c := newCatalogue(t, resource.Options{})
	for start, want := range map[schema.GroupVersionResource]string{
		{Version: "v1", Resource: "events"}:                                         "/v1 events.k8s.io/v1",
		{Group: "events.k8s.io", Version: "v1", Resource: "events"}:                 "/v1 events.k8s.io/v1",
		{Group: "autoscaling", Version: "v1", Resource: "horizontalpodautoscalers"}: "autoscaling/v2 autoscaling/v1",
		{Group: "apps", Version: "v1", Resource: "deployments"}:                     "apps/v1",
	} {
		scope := lookup(t, c, start, "").Scope()
		var versions []string
		for _, gvr := range scope.EquivalentResourceMapper.EquivalentResourcesFor(start, "") {
			versions = append(versions, gvr.Group+"/"+gvr.Version)
			if kind := scope.EquivalentResourceMapper.KindFor(gvr, ""); kind != lookup(t, c, gvr, "").GVK {
				t.Errorf("kind of %s is %s", gvr, kind)
			}
		}
		if got := strings.Join(versions, " "); got != want {
			t.Errorf("equivalents of %s: %s, want %s", start, got, want)
		}
	}
}

func TestOptionalVersions(t *testing.T) {
	beta := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1beta1", Resource: "mutatingadmissionpolicies"}
	if _, served := newCatalogue(t, resource.Options{}).Lookup(beta, ""); served {
		t.Error("a beta version is served by default")
	}
	c := newCatalogue(t, resource.Options{EnabledVersions: []schema.GroupVersion{beta.GroupVersion()}})
	a := api{t: t, catalogue: c}
	a.do("POST", "/apis/admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicies", object{
		"apiVersion": "admissionregistration.k8s.io/v1beta1", "kind": "MutatingAdmissionPolicy", "metadata": object{"name": "p"},
		"spec": object{
			"matchConstraints":   object{"resourceRules": []any{object{"operations": []any{"CREATE"}, "apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"pods"}}}},
			"mutations":          []any{object{"patchType": "JSONPatch", "jsonPatch": object{"expression": `[JSONPatch{op: "remove", path: "/spec"}]`}}},
			"reinvocationPolicy": "Never",
		},
	})
	stable := a.do("GET", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies/p", nil)
	if got := nested(stable, "spec", "failurePolicy"); got != "Fail" {
		t.Errorf("failurePolicy %v after a write through v1beta1, want the default", got)
	}
	if stable.GetAPIVersion() != "admissionregistration.k8s.io/v1" {
		t.Errorf("apiVersion %s", stable.GetAPIVersion())
	}
}
