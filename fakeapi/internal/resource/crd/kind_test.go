package crd_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource/crd"
)

// compile compiles a kind with the versions v1, which is stored, v1beta1 and v1alpha1.
func compile(t *testing.T, change func(*apiextensionsv1.CustomResourceDefinition)) *crd.Kind {
	t.Helper()
	var schema apiextensionsv1.JSONSchemaProps
	if err := yaml.UnmarshalStrict([]byte(widgetSchema), &schema); err != nil {
		t.Fatal(err)
	}
	validation := &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &schema}
	names := apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"}
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Names: names, Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{
					Name: "v1", Served: true, Storage: true, Schema: validation,
					Subresources: &apiextensionsv1.CustomResourceSubresources{
						Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
						Scale: &apiextensionsv1.CustomResourceSubresourceScale{
							SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas", LabelSelectorPath: ptr.To(".status.selector"),
						},
					},
					SelectableFields: []apiextensionsv1.SelectableField{{JSONPath: ".spec.color"}, {JSONPath: ".spec.replicas"}},
				},
				{Name: "v1beta1", Served: true, Schema: validation, Deprecated: true},
				{Name: "v1alpha1", Served: true, Schema: validation, Deprecated: true, DeprecationWarning: ptr.To("do not use")},
			},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{AcceptedNames: names},
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(definition)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&definition.Spec)
	if change != nil {
		change(definition)
	}
	converters, err := conversion.NewCRConverterFactory(webhook.NewDefaultServiceResolver(), nil)
	if err != nil {
		t.Fatal(err)
	}
	kind, err := crd.Compile(definition, converters)
	if err != nil {
		t.Fatal(err)
	}
	return kind
}

const widgetSchema = `
type: object
properties:
  spec:
    type: object
    x-kubernetes-validations:
    - {rule: "self.replicas < 10", message: "too many"}
    properties:
      color: {type: string, enum: [red, blue], default: red}
      replicas: {type: integer, default: 1}
      note: {type: string, maxLength: 3}
      free: {type: object, x-kubernetes-preserve-unknown-fields: true}
      template:
        type: object
        x-kubernetes-embedded-resource: true
        x-kubernetes-preserve-unknown-fields: true
      parts:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items:
          type: object
          required: [name]
          properties: {name: {type: string}}
  status:
    type: object
    properties:
      replicas: {type: integer}
      selector: {type: string}
      phase: {type: string, enum: [Ready]}
`

// widget parses a widget of version v1, unless it names another.
func widget(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	if u.GetAPIVersion() == "" {
		u.SetAPIVersion("example.com/v1")
		u.SetKind("Widget")
	}
	if _, ok := u.Object["metadata"]; !ok {
		u.Object["metadata"] = map[string]any{"name": "w", "namespace": "ns"}
	}
	return unstructuredNumbers(u)
}

// unstructuredNumbers makes whole numbers int64, as decoding from JSON does.
func unstructuredNumbers(u *unstructured.Unstructured) *unstructured.Unstructured {
	data, err := u.MarshalJSON()
	if err != nil {
		panic(err)
	}
	result := &unstructured.Unstructured{}
	if err := result.UnmarshalJSON(data); err != nil {
		panic(err)
	}
	return result
}

func TestClean(t *testing.T) {
	kind := compile(t, nil)
	for name, test := range map[string]struct {
		object, want string
		unknown      []string
	}{
		"known fields are kept":             {`spec: {color: red}`, `spec: {color: red}`, nil},
		"unknown fields go":                 {`{spec: {color: red, size: 3}, other: 1}`, `spec: {color: red}`, []string{"other", "spec.size"}},
		"unless the schema preserves them":  {`spec: {free: {a: {b: 1}}}`, `spec: {free: {a: {b: 1}}}`, nil},
		"nulls that are not nullable go":    {`spec: {color: null, note: null}`, `spec: {color: null}`, nil},
		"metadata is brought into form":     {`metadata: {name: w, namespace: ns, size: 3}`, `metadata: {name: w, namespace: ns}`, []string{"metadata.size"}},
		"so is that of an embedded object":  {`spec: {template: {apiVersion: v1, kind: Pod, metadata: {name: p, size: 3}, a: b}}`, `spec: {template: {apiVersion: v1, kind: Pod, metadata: {name: p}, a: b}}`, []string{"spec.template.metadata.size"}},
		"objects of other kinds are passed": {`{apiVersion: v1, kind: Other, any: 1}`, `{apiVersion: v1, kind: Other, any: 1}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			u := widget(t, test.object)
			unknown, err := kind.Clean(u, crd.CleanOptions{ReportUnknown: true})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.unknown, unknown); diff != "" {
				t.Errorf("unknown fields (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(widget(t, test.want).Object, u.Object); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCleanInvalidMetadata(t *testing.T) {
	kind := compile(t, nil)
	bad := `metadata: {name: w, labels: {a: 1}}`
	if _, err := kind.Clean(widget(t, bad), crd.CleanOptions{}); err == nil {
		t.Error("a label that is a number was accepted")
	}
	u := widget(t, bad)
	if _, err := kind.Clean(u, crd.CleanOptions{DropInvalidMetadata: true}); err != nil {
		t.Fatal(err)
	}
	if len(u.GetLabels()) > 0 || u.GetName() != "w" || u.GetGeneration() != 1 {
		t.Errorf("what is left of what was stored: %v", u.Object)
	}
}

func TestDefault(t *testing.T) {
	kind := compile(t, nil)
	u := widget(t, `spec: {color: blue}`)
	kind.Default(u)
	if diff := cmp.Diff(widget(t, `spec: {color: blue, replicas: 1}`).Object, u.Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestValidate(t *testing.T) {
	kind := compile(t, nil)
	for name, test := range map[string]struct {
		object string
		want   []string
	}{
		"valid":               {`spec: {color: red, replicas: 1}`, nil},
		"schema":              {`spec: {color: green, replicas: 1}`, []string{"spec.color: Unsupported value", "<nil>: Invalid value"}},
		"a rule":              {`spec: {replicas: 10}`, []string{"spec: Invalid value"}},
		"a key twice":         {`spec: {replicas: 1, parts: [{name: a}, {name: a}]}`, []string{"spec.parts[1]: Duplicate value"}},
		"no name":             {`{metadata: {namespace: ns}, spec: {replicas: 1}}`, []string{"metadata.name: Required value", "<nil>: Invalid value"}},
		"an embedded object":  {`spec: {replicas: 1, template: {kind: Pod}}`, []string{"spec.template.apiVersion: Required value", "<nil>: Invalid value"}},
		"negative replicas":   {`spec: {replicas: -1}`, []string{".spec.replicas: Invalid value"}},
		"another version":     {`{apiVersion: example.com/v2, kind: Widget}`, []string{"apiVersion: Invalid value"}},
		"another kind":        {`{apiVersion: example.com/v1, kind: Other}`, []string{"kind: Invalid value"}},
		"a selector not text": {`{spec: {replicas: 1}, status: {selector: 3}}`, []string{"status.selector: Invalid value", ".status.selector: Invalid value", "<nil>: Invalid value"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, faults(kind.Stored.Validate(widget(t, test.object)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateUpdate(t *testing.T) {
	kind := compile(t, nil)
	for name, test := range map[string]struct {
		old, object string
		want        []string
	}{
		"an old fault may stay":            {`spec: {replicas: 1, note: long}`, `spec: {replicas: 2, note: long}`, nil},
		"a new one may not come":           {`spec: {replicas: 1}`, `spec: {replicas: 1, note: long}`, []string{"spec.note: Too long", "<nil>: Invalid value"}},
		"an old list with a key twice":     {`spec: {replicas: 1, parts: [{name: a}, {name: a}]}`, `spec: {replicas: 2, parts: [{name: a}, {name: a}]}`, nil},
		"what a rule refuses may not come": {`spec: {replicas: 1}`, `spec: {replicas: 10}`, []string{"spec: Invalid value"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, faults(kind.Stored.ValidateUpdate(widget(t, test.object), widget(t, test.old)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateStatusUpdate(t *testing.T) {
	kind := compile(t, nil)
	old := widget(t, `spec: {replicas: 1, color: green}`)
	for status, want := range map[string][]string{
		`{phase: Ready}`: nil,
		`{phase: Gone}`:  {"status.phase: Unsupported value", "<nil>: Invalid value"},
		`{replicas: -1}`: {".status.replicas: Invalid value"},
	} {
		object := widget(t, `{spec: {replicas: 1, color: green}, status: `+status+`}`)
		if diff := cmp.Diff(want, faults(kind.Stored.ValidateStatusUpdate(object, old))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", status, diff)
		}
	}
}

// faults shows where the faults are and of what type.
func faults(errs field.ErrorList) []string {
	var result []string
	for _, err := range errs {
		result = append(result, err.Field+": "+err.Type.String())
	}
	return result
}

func TestReadAndWrite(t *testing.T) {
	kind := compile(t, nil)
	stored, err := kind.Write(widget(t, `{apiVersion: example.com/v1beta1, kind: Widget, metadata: {name: w, namespace: ns}, spec: {replicas: 1}}`))
	if err != nil {
		t.Fatal(err)
	}
	if stored.GetAPIVersion() != "example.com/v1" {
		t.Errorf("stored as %s", stored.GetAPIVersion())
	}
	before := stored.DeepCopy()
	for _, version := range kind.Versions {
		read, err := version.Read(stored)
		if err != nil {
			t.Fatal(err)
		}
		if read.GetAPIVersion() != version.GVK.GroupVersion().String() {
			t.Errorf("read in %s: %v", version.GVK.Version, read)
		}
		if color, _, _ := unstructured.NestedString(read.Object, "spec", "color"); color != "red" {
			t.Errorf("read in %s: color %s, want the default", version.GVK.Version, color)
		}
	}
	if diff := cmp.Diff(before.Object, stored.Object); diff != "" {
		t.Errorf("reading changed what is stored (-before +after):\n%s", diff)
	}
}

// A list is encoded in the version that is asked for, and left as it was.
func TestEncodeList(t *testing.T) {
	kind := compile(t, nil)
	for name, versions := range map[string][]string{"of that version": {"v1", "v1"}, "of others": {"v1", "v1beta1"}} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.Stored.ListGVK)
		for _, version := range versions {
			list.Items = append(list.Items, *widget(t, `{apiVersion: example.com/`+version+`, kind: Widget, metadata: {name: w}, spec: {color: red}}`))
		}
		before := list.DeepCopy()
		serializer := crd.Serializer{Kind: kind}
		encoder := serializer.EncoderForVersion(serializer.ForObjects()[0].Serializer, kind.Stored.GVK.GroupVersion())
		encoded := &unstructured.UnstructuredList{}
		if data, err := runtime.Encode(encoder, list); err != nil {
			t.Fatal(err)
		} else if err := encoded.UnmarshalJSON(data); err != nil {
			t.Fatal(err)
		}
		for i, item := range encoded.Items {
			if item.GetAPIVersion() != "example.com/v1" {
				t.Errorf("%s: items[%d] is encoded in %s", name, i, item.GetAPIVersion())
			}
		}
		if diff := cmp.Diff(before, list); diff != "" {
			t.Errorf("%s: encoding changed the list (-before +after):\n%s", name, diff)
		}
	}
}

func TestWarnings(t *testing.T) {
	kind := compile(t, nil)
	want := map[string]string{"v1": "", "v1beta1": "example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget", "v1alpha1": "do not use"}
	got := map[string]string{}
	for _, version := range kind.Versions {
		got[version.GVK.Version] = strings.Join(version.Warnings, "; ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFields(t *testing.T) {
	kind := compile(t, nil)
	for object, want := range map[string]fields.Set{
		`spec: {color: red, replicas: 3}`: {"spec.color": "red", "spec.replicas": "3"},
		`spec: {}`:                        {"spec.color": "", "spec.replicas": ""},
	} {
		if diff := cmp.Diff(want, kind.Stored.Fields(widget(t, object))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", object, diff)
		}
	}
}

func TestWhatCannotBeCompiled(t *testing.T) {
	converters, err := conversion.NewCRConverterFactory(webhook.NewDefaultServiceResolver(), nil)
	if err != nil {
		t.Fatal(err)
	}
	none := compile(t, nil).Definition.DeepCopy()
	none.Spec.Versions[0].Storage = false
	notStructural := compile(t, nil).Definition.DeepCopy()
	notStructural.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = apiextensionsv1.JSONSchemaProps{Ref: ptr.To("#/other")}
	for want, definition := range map[string]*apiextensionsv1.CustomResourceDefinition{
		"widgets.example.com has no storage version": none,
		"version v1 of widgets.example.com":          notStructural,
	} {
		if _, err := crd.Compile(definition, converters); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
