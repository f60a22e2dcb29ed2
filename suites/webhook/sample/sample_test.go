package sample_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/gatehouse-dev/gatehouse/suites/target"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/sample"
)

// TestBuiltinIsAccepted: an API server takes every sample as it is, once it has a name.
func TestBuiltinIsAccepted(t *testing.T) {
	server, err := target.Open(t.Context(), target.Options{Name: target.FakeAPI})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	client := dynamic.NewForConfigOrDie(server.RESTConfig())
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discovery.NewDiscoveryClientForConfigOrDie(server.RESTConfig())))
	for _, object := range sample.Builtin() {
		gvk := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			t.Fatal(err)
		}
		object.SetName("sample")
		var into dynamic.ResourceInterface = client.Resource(mapping.Resource)
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			into = client.Resource(mapping.Resource).Namespace("default")
		}
		if _, err := into.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Errorf("%s: %v", gvk, err)
		}
	}
}

func TestCustom(t *testing.T) {
	for _, test := range []struct{ name, schema, want string }{
		{"no schema", ``, ``},
		{"what is not required is left out", `{properties: {spec: {type: object, properties: {a: {type: string}}}}}`, `spec: {}`},
		{"required fields", `{properties: {spec: {type: object, required: [a, b, c, d], properties: {a: {type: string}, b: {type: integer, minimum: 3}, c: {type: boolean}, d: {type: number, maximum: 0.5}}}}}`,
			`spec: {a: gatehouse, b: 3, c: true, d: 0.5}`},
		{"enumerations and defaults", `{required: [spec], properties: {spec: {type: object, required: [a, b], properties: {a: {type: string, enum: [red, blue]}, b: {type: integer, default: 7}}}}}`,
			`spec: {a: red, b: 7}`},
		{"lists have as many items as they must", `{properties: {spec: {type: object, required: [a, b], properties: {a: {type: array, minItems: 2, items: {type: string}}, b: {type: array, items: {type: string}}}}}}`,
			`spec: {a: [gatehouse, gatehouse], b: []}`},
		{"formats and lengths", `{properties: {spec: {type: object, required: [a, b, c], properties: {a: {type: string, format: date-time}, b: {type: string, minLength: 12}, c: {type: string, maxLength: 4}}}}}`,
			`spec: {a: "2027-01-31T12:00:00Z", b: gatehousexxx, c: gate}`},
		{"alternatives", `{properties: {spec: {type: object, oneOf: [{required: [a]}, {required: [b]}], properties: {a: {type: string}, b: {type: string}}}}}`,
			`spec: {a: gatehouse}`},
		{"integers or strings", `{properties: {spec: {type: object, required: [a], properties: {a: {x-kubernetes-int-or-string: true}}}}}`, `spec: {a: 1}`},
		{"status is not for creates", `{required: [status], properties: {status: {type: object}}}`, ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			version := apiextensionsv1.CustomResourceDefinitionVersion{Name: "v1", Served: true}
			if test.schema != "" {
				version.Schema = &apiextensionsv1.CustomResourceValidation{}
				if err := yaml.UnmarshalStrict([]byte(test.schema), &version.Schema.OpenAPIV3Schema); err != nil {
					t.Fatal(err)
				}
			}
			definition := &apiextensionsv1.CustomResourceDefinition{}
			definition.Spec.Group, definition.Spec.Names.Kind = "example.com", "Widget"
			got := sample.Custom(definition, version).Object
			want := map[string]any{}
			if err := yaml.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			want["apiVersion"], want["kind"] = "example.com/v1", "Widget"
			gotText, _ := yaml.Marshal(got)
			wantText, _ := yaml.Marshal(want)
			if diff := cmp.Diff(string(wantText), string(gotText)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
