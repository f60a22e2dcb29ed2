package resource_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

var (
	_ admission.Namespaces     = &resource.Sources{}
	_ admission.Configurations = &resource.Sources{}
	_ admission.Params         = &resource.Sources{}
)

func TestConfigurationsAreTheStoredOnes(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	path := "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
	for _, name := range []string{"b", "a", "c"} {
		a.do("POST", path, object{"metadata": object{"name": name}})
	}
	sources := a.catalogue.Sources()
	before := sources.ValidatingWebhooks()
	var names []string
	for _, configuration := range before {
		names = append(names, configuration.Name)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	a.do("PATCH", path+"/b", object{"metadata": object{"labels": object{"a": "b"}}})
	after := sources.ValidatingWebhooks()
	for i, changed := range []bool{false, true, false} {
		if (before[i] != after[i]) != changed {
			t.Errorf("%s is another object: %v, want %v", names[i], before[i] != after[i], changed)
		}
	}
	if after[1].ResourceVersion == "" || after[1].ResourceVersion == before[1].ResourceVersion {
		t.Errorf("resource version %q after %q", after[1].ResourceVersion, before[1].ResourceVersion)
	}
}

func TestParams(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	a.do("POST", definitions, widgets())
	a.do("POST", widgetsPath, widget("w", object{"color": "red"}))
	a.do("POST", "/api/v1/namespaces/kube-system/configmaps", object{"metadata": object{"name": "b", "labels": object{"kind": "param"}}})
	a.do("POST", "/api/v1/namespaces/default/configmaps", object{"metadata": object{"name": "c", "labels": object{"kind": "param"}}})
	a.do("POST", "/api/v1/namespaces/default/configmaps", object{"metadata": object{"name": "a"}})
	sources := a.catalogue.Sources()
	kind := func(group, version, kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
	}
	config, widgetKind := kind("", "v1", "ConfigMap"), kind("example.com", "v2beta1", "Widget")

	for of, want := range map[schema.GroupVersionKind][2]bool{
		config: {true, true}, kind("", "v1", "Node"): {false, true}, widgetKind: {true, true},
		kind("", "v2", "ConfigMap"): {false, false}, kind("", "v1", "Scale"): {false, false},
	} {
		if namespaced, served := sources.Scope(of); [2]bool{namespaced, served} != want {
			t.Errorf("scope of %s: namespaced %v, served %v", of, namespaced, served)
		}
	}

	found, err := sources.Param(t.Context(), widgetKind, "default", "w")
	if err != nil {
		t.Fatal(err)
	}
	if version := found.GetObjectKind().GroupVersionKind(); version != widgetKind {
		t.Errorf("a custom param is a %s, want it in the version asked for", version)
	}
	if _, err := sources.Param(t.Context(), config, "default", "nothing"); !apierrors.IsNotFound(err) {
		t.Errorf("a param that is not there: %v, want not found", err)
	}
	if _, err := sources.Param(t.Context(), kind("", "v2", "ConfigMap"), "default", "a"); err == nil {
		t.Error("a param of a kind that is not served was found")
	}

	selected := labels.SelectorFromSet(labels.Set{"kind": "param"})
	for name, test := range map[string]struct {
		namespace string
		selector  labels.Selector
		want      []string
	}{
		"all":                     {"", labels.Everything(), []string{"default/a", "default/c", "kube-system/b"}},
		"of a namespace":          {"default", labels.Everything(), []string{"default/a", "default/c"}},
		"selected":                {"", selected, []string{"default/c", "kube-system/b"}},
		"selected of a namespace": {"kube-system", selected, []string{"kube-system/b"}},
	} {
		params, err := sources.ListParams(t.Context(), config, test.namespace, test.selector)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, namesOf(t, params)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func namesOf(t *testing.T, objects []runtime.Object) []string {
	t.Helper()
	var names []string
	for _, object := range objects {
		accessor, err := meta.Accessor(object)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, accessor.GetNamespace()+"/"+accessor.GetName())
	}
	return names
}

// TestTypeConverter holds for built-in and custom kinds.
func TestTypeConverter(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	a.do("POST", definitions, widgets())
	for kind, known := range map[schema.GroupVersionKind]bool{
		{Version: "v1", Kind: "Pod"}:                             true,
		{Group: "example.com", Version: "v1", Kind: "Widget"}:    true,
		{Group: "example.com", Version: "v1", Kind: "Something"}: false,
	} {
		if got := a.catalogue.Sources().TypeConverter(kind) != nil; got != known {
			t.Errorf("%s has a type converter: %v, want %v", kind, got, known)
		}
	}
}
