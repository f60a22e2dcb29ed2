package webhook

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/versions"
)

// defaulting sets a default, so that tests see where defaults are set.
type defaulting struct{}

func (defaulting) Default(object runtime.Object) {
	if object, ok := object.(*corev1.ConfigMap); ok && object.Immutable == nil {
		object.Immutable = ptr(false)
	}
}

func TestPatched(t *testing.T) {
	object := func() *corev1.ConfigMap {
		return &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Name: "probe", Annotations: map[string]string{"example.com/a": "1"}},
			Data:       map[string]string{"a": "1", "b": "2"},
			Immutable:  ptr(false),
		}
	}
	custom := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "probe"}, "spec": map[string]any{"list": []any{"x"}},
		}}
	}
	tests := []struct {
		name    string
		object  runtime.Object
		patch   string
		changed bool
		change  func(*corev1.ConfigMap) // makes the wanted object of the object
		spec    map[string]any          // the wanted spec of a custom object
		err     string
		asFail  bool // the error is subject to the failure policy
	}{
		{name: "add", patch: `[{"op":"add","path":"/data/c","value":"3"}]`, changed: true, change: func(c *corev1.ConfigMap) { c.Data["c"] = "3" }},
		{name: "replace", patch: `[{"op":"replace","path":"/data/a","value":"x"}]`, changed: true, change: func(c *corev1.ConfigMap) { c.Data["a"] = "x" }},
		{name: "replace what is missing", patch: `[{"op":"replace","path":"/data/c","value":"x"}]`, changed: true, change: func(c *corev1.ConfigMap) { c.Data["c"] = "x" }},
		{name: "remove", patch: `[{"op":"remove","path":"/data/a"}]`, changed: true, change: func(c *corev1.ConfigMap) { delete(c.Data, "a") }},
		{name: "move", patch: `[{"op":"move","from":"/data/a","path":"/data/c"}]`, changed: true, change: func(c *corev1.ConfigMap) { delete(c.Data, "a"); c.Data["c"] = "1" }},
		{name: "copy", patch: `[{"op":"copy","from":"/data/a","path":"/data/c"}]`, changed: true, change: func(c *corev1.ConfigMap) { c.Data["c"] = "1" }},
		{name: "test that passes", patch: `[{"op":"test","path":"/data/a","value":"1"}]`},
		{name: "escaped path", patch: `[{"op":"replace","path":"/metadata/annotations/example.com~1a","value":"2"}]`, changed: true,
			change: func(c *corev1.ConfigMap) { c.Annotations["example.com/a"] = "2" }},
		{name: "the same value", patch: `[{"op":"add","path":"/data/a","value":"1"}]`},
		{name: "to and fro", patch: `[{"op":"add","path":"/data/c","value":"1"},{"op":"remove","path":"/data/c"}]`},
		{name: "an empty map for none", patch: `[{"op":"add","path":"/metadata/labels","value":{}}]`},
		{name: "a default is set again, and it is a change", patch: `[{"op":"remove","path":"/immutable"}]`, changed: true},
		{name: "the kind may go", patch: `[{"op":"remove","path":"/kind"},{"op":"remove","path":"/apiVersion"}]`, changed: true,
			change: func(c *corev1.ConfigMap) { c.TypeMeta = metav1.TypeMeta{} }},
		{name: "root", patch: `[{"op":"replace","path":"","value":{"metadata":{"name":"other"}}}]`, changed: true,
			change: func(c *corev1.ConfigMap) {
				*c = corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Immutable: ptr(false)}
			}},
		{name: "custom object", object: custom(), patch: `[{"op":"add","path":"/spec/list/-","value":"y"},{"op":"add","path":"/spec/list/-1","value":"z"}]`, changed: true,
			spec: map[string]any{"list": []any{"x", "y", "z"}}},
		{name: "custom object, nothing new", object: custom(), patch: `[{"op":"replace","path":"/spec/list/0","value":"x"}]`, spec: map[string]any{"list": []any{"x"}}},

		{name: "test that fails", patch: `[{"op":"test","path":"/data/a","value":"2"}]`, err: "testing value /data/a failed: test failed"},
		{name: "remove what is missing", patch: `[{"op":"remove","path":"/data/c"}]`, err: "Unable to remove nonexistent key: c"},
		{name: "add below what is missing", patch: `[{"op":"add","path":"/metadata/labels/a","value":"1"}]`, err: "add operation does not apply"},
		{name: "unknown operation", patch: `[{"op":"frobnicate","path":"/data/a"}]`, err: "Unexpected kind: frobnicate"},
		{name: "no operation", patch: `[{"path":"/data/a"}]`, err: "Unexpected kind: unknown"},
		{name: "no path", patch: `[{"op":"add","value":1}]`, err: "failed to decode path"},
		{name: "wrong type", patch: `[{"op":"replace","path":"/data","value":"text"}]`, err: "cannot unmarshal"},
		{name: "unknown kind", patch: `[{"op":"replace","path":"/kind","value":"Nonsense"}]`, err: `no kind "Nonsense" is registered for version "v1"`},
		{name: "custom object without kind", object: custom(), patch: `[{"op":"remove","path":"/kind"}]`, err: "Object 'Kind' is missing"},
		{name: "no array", patch: `{"op":"add"}`, err: "received undecodable patch in webhook response", asFail: true},
		{name: "no JSON", patch: `nonsense`, err: "received undecodable patch in webhook response", asFail: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.object == nil {
				tt.object = object()
			}
			got, changed, err := patchOf(t, tt.object, tt.patch, admissionv1.PatchTypeJSONPatch)
			if !strings.Contains(errorText(err), tt.err) || (err == nil) != (tt.err == "") {
				t.Fatalf("error %v, want %q", err, tt.err)
			}
			if err != nil {
				var failure *callError
				if errors.As(err, &failure) != tt.asFail {
					t.Errorf("error %v, subject to the failure policy: %v, want %v", err, !tt.asFail, tt.asFail)
				}
				return
			}
			if changed != tt.changed {
				t.Errorf("changed %v, want %v", changed, tt.changed)
			}
			if widget, ok := got.(*unstructured.Unstructured); ok {
				if diff := cmp.Diff(tt.spec, widget.Object["spec"]); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				return
			}
			want := object()
			if tt.change != nil {
				tt.change(want)
			}
			got.GetObjectKind().SetGroupVersionKind(want.GroupVersionKind())
			if diff := cmp.Diff(want, got); diff != "" && tt.name != "an empty map for none" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(object(), tt.object); diff != "" {
				t.Errorf("the object before was changed:\n%s", diff)
			}
		})
	}
	t.Run("unknown type", func(t *testing.T) {
		_, _, err := patchOf(t, object(), `[{"op":"test","path":"/data/a","value":"1"}]`, "MergePatch")
		if want := `failed calling webhook "w": unsupported patch type "MergePatch"`; errorText(err) != want {
			t.Errorf("error %v, want %s", err, want)
		}
	})
	for _, nothing := range []string{"", "[]", "null"} {
		if patch, err := (&hook{name: "w"}).decodePatch(&answer{patch: []byte(nothing)}); err != nil || len(patch) > 0 {
			t.Errorf("patch %q: %v, %v", nothing, patch, err)
		}
	}
}

// patchOf applies a patch to an object the way the mutating stage does.
func patchOf(t *testing.T, object runtime.Object, text string, patchType admissionv1.PatchType) (runtime.Object, bool, error) {
	t.Helper()
	interfaces := &admission.RuntimeObjectInterfaces{
		ObjectCreater: scheme.Scheme, ObjectTyper: scheme.Scheme, ObjectDefaulter: defaulting{}, ObjectConvertor: scheme.Scheme,
	}
	kind := object.GetObjectKind().GroupVersionKind()
	a := admission.NewAttributesRecord(object, nil, kind, "", "probe", schema.GroupVersionResource{}, "", admission.Create, nil, false, nil)
	version, err := versions.Of(a, interfaces).In(kind)
	if err != nil {
		t.Fatal(err)
	}
	h := &hook{name: "w"}
	patch, err := h.decodePatch(&answer{patch: []byte(text)})
	if err != nil {
		return nil, false, err
	}
	return h.patched(version, patch, patchType, interfaces)
}

func TestDescribePatch(t *testing.T) {
	patch, err := (&hook{}).decodePatch(&answer{patch: []byte(`[
		{"op":"test","path":"/a","value":1},
		{"op":"add","path":"/b","value":{"x": [1, 2]}},
		{"op":"remove","path":"/c"},
		{"op":"move","from":"/d","path":"/e"}]`)})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := describePatch(patch), []string{`add /b {"x":[1,2]}`, "remove /c", "move /e from /d"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
