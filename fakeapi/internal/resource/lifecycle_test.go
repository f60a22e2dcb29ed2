package resource_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

// running runs a test while the catalogue's controllers run.
func running(t *testing.T, test func(t *testing.T, a api)) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalogue(t, resource.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		test(t, api{t: t, catalogue: c})
		cancel()
		<-done
	})
}

func TestNamespacesThatEveryClusterHas(t *testing.T) {
	c := newCatalogue(t, resource.Options{})
	for _, name := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		namespace, err := c.Sources().Namespace(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if namespace.Status.Phase != corev1.NamespaceActive || namespace.Labels[corev1.LabelMetadataName] != name {
			t.Errorf("namespace %s: phase %s, labels %v", name, namespace.Status.Phase, namespace.Labels)
		}
	}
}

func TestNewNamespace(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	created := a.do("POST", "/api/v1/namespaces", object{"metadata": object{"generateName": "x-", "labels": object{"a": "b"}}})
	if label := created.GetLabels()[corev1.LabelMetadataName]; label != created.GetName() || !strings.HasPrefix(label, "x-") {
		t.Errorf("label %q of namespace %q", label, created.GetName())
	}
	a.do("PATCH", "/api/v1/namespaces/"+created.GetName(), object{"metadata": object{"labels": object{corev1.LabelMetadataName: "forged"}}})
	if label := a.do("GET", "/api/v1/namespaces/"+created.GetName(), nil).GetLabels()[corev1.LabelMetadataName]; label != created.GetName() {
		t.Errorf("the label was changed to %q", label)
	}
}

func TestDeletedNamespaceIsEmptiedAndRemoved(t *testing.T) {
	running(t, func(t *testing.T, a api) {
		a.do("POST", "/api/v1/namespaces", object{"metadata": object{"name": "ns"}})
		a.do("POST", ns, object{"metadata": object{"name": "a"}})
		a.do("POST", "/api/v1/namespaces/ns/pods", object{"metadata": object{"name": "p"}, "spec": object{
			"nodeName": "node", "containers": []any{object{"name": "c", "image": "x"}},
		}})
		a.do("POST", "/api/v1/namespaces/default/configmaps", object{"metadata": object{"name": "elsewhere"}})
		answer := a.do("DELETE", "/api/v1/namespaces/ns", nil)
		if nested(answer, "status", "phase") != "Terminating" || answer.GetDeletionTimestamp() == nil {
			t.Errorf("answer: phase %v, deletionTimestamp %v", nested(answer, "status", "phase"), answer.GetDeletionTimestamp())
		}
		synctest.Wait()
		if code, _ := a.call("GET", "/api/v1/namespaces/ns", "", nil); code != 404 {
			t.Errorf("the namespace is still there: %d", code)
		}
		if objects := a.catalogue.Stored(corev1.Resource("pods"), "ns"); len(objects) > 0 {
			t.Error("its pod is still there")
		}
		a.do("GET", "/api/v1/namespaces/default/configmaps/elsewhere", nil)
	})
}

func TestFinalizersHoldANamespace(t *testing.T) {
	for name, test := range map[string]struct {
		hold, release func(a api)
	}{
		"of an object in it": {
			func(a api) {
				a.do("POST", ns, object{"metadata": object{"name": "a", "finalizers": []any{"example.com/hold"}}})
			},
			func(a api) { a.do("PATCH", ns+"/a", object{"metadata": object{"finalizers": nil}}) },
		},
		"in metadata": {
			func(a api) {
				a.do("PATCH", "/api/v1/namespaces/ns", object{"metadata": object{"finalizers": []any{"example.com/hold"}}})
			},
			func(a api) { a.do("PATCH", "/api/v1/namespaces/ns", object{"metadata": object{"finalizers": nil}}) },
		},
		"in spec": {
			func(a api) {
				a.do("PUT", "/api/v1/namespaces/ns/finalize", object{"metadata": object{"name": "ns"}, "spec": object{"finalizers": []any{"kubernetes", "example.com/hold"}}})
			},
			func(a api) {
				a.do("PUT", "/api/v1/namespaces/ns/finalize", object{"metadata": object{"name": "ns"}, "spec": object{"finalizers": []any{}}})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			running(t, func(t *testing.T, a api) {
				a.do("POST", "/api/v1/namespaces", object{"metadata": object{"name": "ns"}})
				test.hold(a)
				a.do("DELETE", "/api/v1/namespaces/ns", nil)
				synctest.Wait()
				if phase := nested(a.do("GET", "/api/v1/namespaces/ns", nil), "status", "phase"); phase != "Terminating" {
					t.Errorf("phase %v, want Terminating", phase)
				}
				test.release(a)
				synctest.Wait()
				if code, _ := a.call("GET", "/api/v1/namespaces/ns", "", nil); code != 404 {
					t.Errorf("released and still there: %d", code)
				}
			})
		})
	}
}

// refuser refuses deletions until it is told to allow them. Controllers ask it from goroutines of their own.
type refuser struct {
	allow atomic.Bool
	mu    sync.Mutex
	users []string
}

func (r *refuser) Handles(operation admission.Operation) bool { return operation == admission.Delete }

func (r *refuser) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.users = append(r.users, a.GetUserInfo().GetName())
	if !r.allow.Load() && a.GetResource().Resource == "configmaps" {
		return admission.NewForbidden(a, apierrors.NewBadRequest("not now"))
	}
	return nil
}

func (r *refuser) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.users)
}

func TestAdmissionIsAskedForWhatIsInANamespace(t *testing.T) {
	running(t, func(t *testing.T, a api) {
		chain := &refuser{}
		a.catalogue.Bind(resource.Hooks{Admission: chain})
		a.do("POST", "/api/v1/namespaces", object{"metadata": object{"name": "ns"}})
		a.do("POST", ns, object{"metadata": object{"name": "a"}})
		a.do("DELETE", "/api/v1/namespaces/ns", nil)
		synctest.Wait()
		namespace, err := a.catalogue.Sources().Namespace(t.Context(), "ns")
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, condition := range namespace.Status.Conditions {
			if condition.Type == corev1.NamespaceDeletionContentFailure {
				found = condition.Status == corev1.ConditionTrue && strings.Contains(condition.Message, "not now")
			}
		}
		if !found {
			t.Errorf("no condition says that admission refused: %v", namespace.Status.Conditions)
		}
		if users := chain.seen(); len(users) == 0 || users[0] != "system:serviceaccount:kube-system:namespace-controller" {
			t.Errorf("admission saw the users %q", users)
		}
		chain.allow.Store(true)
		time.Sleep(2 * time.Second) // it tries again
		synctest.Wait()
		if _, err := a.catalogue.Sources().Namespace(t.Context(), "ns"); !apierrors.IsNotFound(err) {
			t.Errorf("the namespace is still there: %v", err)
		}
	})
}

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// widgets is a definition with two versions.
func widgets() object {
	schema := func(properties object) object {
		return object{"openAPIV3Schema": object{"type": "object", "properties": object{
			"spec":   object{"type": "object", "properties": properties},
			"status": object{"type": "object", "properties": object{"phase": object{"type": "string"}}},
		}}}
	}
	return object{
		"metadata": object{"name": "widgets.example.com"},
		"spec": object{
			"group": "example.com", "scope": "Namespaced",
			"names": object{"plural": "widgets", "kind": "Widget", "shortNames": []any{"wd"}},
			"versions": []any{
				object{"name": "v1", "served": true, "storage": true,
					"subresources": object{"status": object{}, "scale": object{"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
					"schema": schema(object{
						"color":    object{"type": "string", "enum": []any{"red", "blue"}},
						"size":     object{"type": "integer", "default": 3},
						"replicas": object{"type": "integer"},
						"parts": object{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"name"},
							"items": object{"type": "object", "required": []any{"name"}, "properties": object{"name": object{"type": "string"}}}},
					}),
					"selectableFields": []any{object{"jsonPath": ".spec.color"}},
				},
				object{"name": "v2beta1", "served": true, "storage": false, "deprecated": true,
					"schema": schema(object{"color": object{"type": "string"}, "extra": object{"type": "string", "default": "x"}})},
			},
		},
	}
}

var (
	widgetsV1   = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	widgetsBeta = schema.GroupVersionResource{Group: "example.com", Version: "v2beta1", Resource: "widgets"}
)

const widgetsPath = "/apis/example.com/v1/namespaces/default/widgets"

func widget(name string, spec object) object {
	return object{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": object{"name": name}, "spec": spec}
}

func TestDefinitionIsServedFromTheWriteOn(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	a.do("POST", definitions, widgets())
	for subresource, want := range map[string]bool{"": true, "status": true, "scale": true, "other": false} {
		if _, served := a.catalogue.Lookup(widgetsV1, subresource); served != want {
			t.Errorf("v1 %q served: %v, want %v", subresource, served, want)
		}
	}
	if _, served := a.catalogue.Lookup(widgetsBeta, "status"); served {
		t.Error("v2beta1 has a status subresource that it does not declare")
	}
	definition := a.do("GET", definitions+"/widgets.example.com", nil)
	conditions := map[string]string{}
	for _, condition := range nested(definition, "status", "conditions").([]any) {
		conditions[condition.(object)["type"].(string)] = condition.(object)["status"].(string)
	}
	if conditions["NamesAccepted"] != "True" || conditions["Established"] != "True" {
		t.Errorf("conditions %v", conditions)
	}
	groups := a.catalogue.Groups()
	if last := groups[len(groups)-1]; last.Name != "example.com" || strings.Join(last.Versions, " ") != "v1 v2beta1" {
		t.Errorf("last group %v", last)
	}
	if warnings := lookup(t, a.catalogue, widgetsBeta, "").Warnings; len(warnings) != 1 || warnings[0] != "example.com/v2beta1 Widget is deprecated; use example.com/v1 Widget" {
		t.Errorf("warnings %q", warnings)
	}
	mapper := lookup(t, a.catalogue, widgetsV1, "").Scope().EquivalentResourceMapper
	if got := mapper.EquivalentResourcesFor(widgetsV1, ""); len(got) != 2 {
		t.Errorf("equivalents %v, want both versions", got)
	}
	namespaced, served := a.catalogue.Sources().Scope(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"})
	if !namespaced || !served {
		t.Errorf("as a param kind: namespaced %v, served %v", namespaced, served)
	}
}

func TestDefinitionWithNamesThatAreTaken(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	a.do("POST", definitions, widgets())
	second := widgets()
	second["metadata"] = object{"name": "gadgets.example.com"}
	second["spec"].(object)["names"] = object{"plural": "gadgets", "kind": "Widget"}
	a.do("POST", definitions, second)
	if _, served := a.catalogue.Lookup(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}, ""); served {
		t.Error("a kind is served twice")
	}
	status := a.do("GET", definitions+"/gadgets.example.com", nil)
	condition := nested(status, "status", "conditions").([]any)[0].(object)
	if condition["type"] != "NamesAccepted" || condition["status"] != "False" || condition["reason"] != "ListKindConflict" {
		t.Errorf("condition %v", condition)
	}
}

func TestCustomResources(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	a.do("POST", definitions, widgets())

	created := a.do("POST", widgetsPath, object{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": object{"name": "a"},
		"spec": object{"color": "red", "unknown": 1}, "status": object{"phase": "x"},
	})
	if nested(created, "spec", "size") != int64(3) || nested(created, "spec", "unknown") != nil || nested(created, "status") != nil || created.GetGeneration() != 1 {
		t.Errorf("created %v", created.Object)
	}
	for name, test := range map[string]struct {
		body object
		code int
	}{
		"a value that the schema refuses": {widget("b", object{"color": "green"}), 422},
		"a key of a list twice":           {widget("b", object{"parts": []any{object{"name": "x"}, object{"name": "x"}}}), 422},
		"another version":                 {object{"apiVersion": "example.com/v2beta1", "kind": "Widget", "metadata": object{"name": "b"}}, 400},
		"another kind":                    {object{"apiVersion": "example.com/v1", "kind": "Other", "metadata": object{"name": "b"}}, 422},
		"a bad name":                      {widget("B_", nil), 422},
	} {
		if code, answer := a.call("POST", widgetsPath, "application/json", test.body); code != test.code {
			t.Errorf("%s: %d, want %d: %v", name, code, test.code, answer.Object["message"])
		}
	}

	if got := a.do("PATCH", widgetsPath+"/a", object{"status": object{"phase": "x"}}); nested(got, "status") != nil {
		t.Errorf("the resource's own endpoint wrote the status: %v", got.Object)
	}
	got := a.do("PATCH", widgetsPath+"/a/status", object{"status": object{"phase": "Ready"}, "spec": object{"color": "blue"}})
	if nested(got, "status", "phase") != "Ready" || nested(got, "spec", "color") != "red" || got.GetGeneration() != 1 {
		t.Errorf("after a write of the status: %v", got.Object)
	}
	if got := a.do("PATCH", widgetsPath+"/a", object{"spec": object{"replicas": 2}}); got.GetGeneration() != 2 {
		t.Errorf("generation %d, want 2", got.GetGeneration())
	}
	if scale := a.do("PATCH", widgetsPath+"/a/scale", object{"spec": object{"replicas": 5}}); nested(scale, "spec", "replicas") != int64(5) {
		t.Errorf("scale %v", scale.Object)
	}
	beta := a.do("GET", "/apis/example.com/v2beta1/namespaces/default/widgets/a", nil)
	if nested(beta, "spec", "color") != "red" || nested(beta, "spec", "replicas") != nil || beta.GetAPIVersion() != "example.com/v2beta1" {
		t.Errorf("in the other version: %v", beta.Object)
	}
	for query, items := range map[string]int{"?fieldSelector=spec.color%3Dred": 1, "?fieldSelector=spec.color%3Dblue": 0} {
		if list := a.do("GET", widgetsPath+query, nil); len(list.Object["items"].([]any)) != items {
			t.Errorf("%s: %v, want %d items", query, list.Object["items"], items)
		}
	}
	if code, _ := a.call("GET", widgetsPath+"?fieldSelector=spec.size%3D3", "", nil); code != 400 {
		t.Errorf("a field that is not selectable: %d, want 400", code)
	}
}

func TestServerSideApplyOfCustomResources(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	a.do("POST", definitions, widgets())
	part := func(name string) object { return widget("a", object{"parts": []any{object{"name": name}}}) }
	for _, manager := range []string{"one", "two"} {
		if code, answer := a.apply(widgetsPath+"/a", manager, part(manager)); code >= 300 {
			t.Fatalf("apply by %s: %d %v", manager, code, answer.Object["message"])
		}
	}
	if parts := nested(a.do("GET", widgetsPath+"/a", nil), "spec", "parts").([]any); len(parts) != 2 {
		t.Errorf("parts %v, want those of both managers", parts)
	}
}

func TestChangedDefinition(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	a.do("POST", definitions, widgets())
	a.do("POST", widgetsPath, widget("a", object{"color": "red", "replicas": 2}))
	definition := a.do("GET", definitions+"/widgets.example.com", nil)
	version := nested(definition, "spec", "versions").([]any)[0].(object)
	version["schema"].(object)["openAPIV3Schema"] = object{"type": "object", "properties": object{"spec": object{"type": "object", "properties": object{
		"color": object{"type": "string"}, "shape": object{"type": "string", "default": "round"},
	}}}}
	delete(version, "subresources")
	a.do("PUT", definitions+"/widgets.example.com", definition.Object)
	got := a.do("GET", widgetsPath+"/a", nil)
	if nested(got, "spec", "shape") != "round" || nested(got, "spec", "replicas") != nil {
		t.Errorf("an old object by the new schema: %v", got.Object)
	}
	if _, served := a.catalogue.Lookup(widgetsV1, "scale"); served {
		t.Error("a subresource that is gone is served")
	}
}

func TestDeletedDefinitionTakesItsObjectsAlong(t *testing.T) {
	running(t, func(t *testing.T, a api) {
		a.do("POST", definitions, widgets())
		a.do("POST", widgetsPath, widget("a", object{}))
		held := widget("held", object{})
		held["metadata"] = object{"name": "held", "finalizers": []any{"example.com/hold"}}
		a.do("POST", widgetsPath, held)
		a.do("DELETE", definitions+"/widgets.example.com", nil)
		synctest.Wait()
		if code, _ := a.call("GET", widgetsPath+"/a", "", nil); code != 404 {
			t.Errorf("an object is still there: %d", code)
		}
		if code, answer := a.call("POST", widgetsPath, "application/json", widget("late", object{})); code != 403 {
			t.Errorf("create while the definition goes: %d %v, want 403", code, answer.Object["message"])
		}
		a.do("PATCH", widgetsPath+"/held", object{"metadata": object{"finalizers": nil}})
		synctest.Wait()
		if code, _ := a.call("GET", definitions+"/widgets.example.com", "", nil); code != 404 {
			t.Errorf("the definition is still there: %d", code)
		}
		if _, served := a.catalogue.Lookup(widgetsV1, ""); served {
			t.Error("the kind is still served")
		}
	})
}
