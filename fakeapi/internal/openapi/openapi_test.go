package openapi_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/openapi"
)

// sections are those of a document of version 2 that definitions add to.
type sections struct {
	Paths, Definitions, Parameters map[string]any
}

// TestCustom compares the documents of custom resources with those of a kube-apiserver v1.37.2.
func TestCustom(t *testing.T) {
	var recorded struct {
		V3 map[string]any
		V2 sections
	}
	decode(t, uncompressed(t, "testdata/custom.json.gz"), &recorded)
	custom := customResources(t)

	documents := openapi.V3OfCustom(custom)
	for name, want := range recorded.V3 {
		document, ok := documents[name]
		if !ok {
			t.Errorf("there is no document %s", name)
			continue
		}
		var got any
		decode(t, contentOf(t, document), &got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-real +ours):\n%s", name, diff)
		}
	}
	if len(documents) != len(recorded.V3) {
		t.Errorf("%d documents, want %d", len(documents), len(recorded.V3))
	}

	var before, after sections
	decode(t, contentOf(t, v2(t, nil, nil)), &before)
	decode(t, contentOf(t, v2(t, nil, custom)), &after)
	for _, section := range []struct {
		name                string
		want, before, after map[string]any
	}{
		{"paths", recorded.V2.Paths, before.Paths, after.Paths},
		{"definitions", recorded.V2.Definitions, before.Definitions, after.Definitions},
		{"parameters", recorded.V2.Parameters, before.Parameters, after.Parameters},
	} {
		for name, want := range section.before {
			if diff := cmp.Diff(want, section.after[name]); diff != "" {
				t.Errorf("version 2, %s %s was changed:\n%s", section.name, name, diff)
			}
			delete(section.after, name)
		}
		if section.want == nil {
			section.want = map[string]any{}
		}
		if diff := cmp.Diff(section.want, section.after); diff != "" {
			t.Errorf("version 2, added %s (-real +ours):\n%s", section.name, diff)
		}
	}
}

func TestRecorded(t *testing.T) {
	documents, err := openapi.V3()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"api", "api/v1", "apis", "apis/apps", "apis/apps/v1", "apis/admissionregistration.k8s.io/v1beta1", "version"} {
		if documents[name] == nil {
			t.Errorf("there is no document %s", name)
		}
	}
	for name, document := range documents {
		etag, err := document.ETag()
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%X", sha512.Sum512(contentOf(t, document))); etag != want {
			t.Errorf("%s has the hash %s, its content %s", name, etag, want)
		}
	}
}

// What protobuf is made of must be readable as what it is.
func TestProtobuf(t *testing.T) {
	documents, err := openapi.V3()
	if err != nil {
		t.Fatal(err)
	}
	data, err := documents["apis/batch/v1"].Protobuf()
	if err != nil {
		t.Fatal(err)
	}
	v3 := &openapi_v3.Document{}
	if err := proto.Unmarshal(data, v3); err != nil {
		t.Fatal(err)
	}
	if v3.GetOpenapi() != "3.0.0" || len(v3.GetPaths().GetPath()) == 0 {
		t.Errorf("version %q with %d paths", v3.GetOpenapi(), len(v3.GetPaths().GetPath()))
	}
	if data, err = v2(t, nil, customResources(t)).Protobuf(); err != nil {
		t.Fatal(err)
	}
	swagger := &openapi_v2.Document{}
	if err := proto.Unmarshal(data, swagger); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, definition := range swagger.GetDefinitions().GetAdditionalProperties() {
		found = found || definition.GetName() == "com.example.stable.v1.Widget"
	}
	if !found {
		t.Error("version 2 does not define a custom resource")
	}
}

// Group versions that are not served by default are in version 2 when they are served.
func TestOptionalVersions(t *testing.T) {
	beta := schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1beta1"}
	stable := schema.GroupVersion{Group: "apps", Version: "v1"}
	const path = "/apis/admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicies"
	const definition = "io.k8s.api.admissionregistration.v1beta1.MutatingAdmissionPolicy"
	for _, test := range []struct {
		served []schema.GroupVersion
		want   bool
	}{
		{nil, false}, {[]schema.GroupVersion{stable}, false}, {[]schema.GroupVersion{stable, beta}, true},
	} {
		var document sections
		decode(t, contentOf(t, v2(t, test.served, nil)), &document)
		_, hasPath := document.Paths[path]
		_, hasDefinition := document.Definitions[definition]
		if hasPath != test.want || hasDefinition != test.want {
			t.Errorf("served %v: path there: %v, definition there: %v, want %v", test.served, hasPath, hasDefinition, test.want)
		}
	}
}

// A definition that cannot be described does not stand in the way of the others.
func TestIndescribable(t *testing.T) {
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "broken"}}
	definition.Spec.Group = "broken.example.com"
	definition.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{
		Name: "v1", Served: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", Default: &apiextensionsv1.JSON{Raw: []byte("{")},
		}},
	}}
	custom := append(customResources(t), openapi.NewCustom(definition))
	if _, err := openapi.V3OfCustom(custom)["apis/broken.example.com/v1"].JSON(); err == nil {
		t.Error("the definition can be described")
	}
	var document sections
	decode(t, contentOf(t, v2(t, nil, custom)), &document)
	if document.Definitions["com.example.stable.v1.Widget"] == nil {
		t.Error("version 2 does not define the others")
	}
}

func v2(t *testing.T, served []schema.GroupVersion, custom []*openapi.Custom) *openapi.Document {
	t.Helper()
	document, err := openapi.V2(served, custom)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// customResources are those that the recording was made of.
func customResources(t *testing.T) []*openapi.Custom {
	t.Helper()
	data, err := os.ReadFile("testdata/definitions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var custom []*openapi.Custom
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict([]byte(document), definition); err != nil {
			t.Fatal(err)
		}
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&definition.Spec)
		definition.Status.AcceptedNames = definition.Spec.Names
		custom = append(custom, openapi.NewCustom(definition))
	}
	return custom
}

func contentOf(t *testing.T, document *openapi.Document) []byte {
	t.Helper()
	data, err := document.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func uncompressed(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(reader); err != nil {
		t.Fatal(err)
	}
	return data
}

func TestSchema(t *testing.T) {
	for _, tt := range []struct {
		kind schema.GroupVersionKind
		path []string
		want string // the type there; empty where there is nothing
	}{
		{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, []string{"spec", "template", "spec", "hostname"}, "string"},
		{schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, []string{"metadata", "labels"}, "object"},
		{schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, []string{"spec", "none"}, ""},
		{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Pod"}, nil, ""},
		{schema.GroupVersionKind{Group: "apps", Version: "v2", Kind: "Deployment"}, nil, ""},
		{schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Deployment"}, nil, ""},
	} {
		found, err := openapi.Schema(tt.kind)
		if tt.path == nil {
			if !errors.Is(err, resolver.ErrSchemaNotFound) {
				t.Errorf("%s: error %v, want one that there is no such schema", tt.kind, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := typeAt(*found, tt.path); got != tt.want {
			t.Errorf("%s: %v is a %q, want %q", tt.kind, tt.path, got, tt.want)
		}
	}
}

// TestSchemaOfCustom finds in each version of a definition what that version has.
func TestSchemaOfCustom(t *testing.T) {
	custom := openapi.NewCustom(&apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped, Names: names,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version("v1", true, "integer"), version("v2", true, "string"), version("v3", false, "string")},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{AcceptedNames: names},
	})
	for version, want := range map[string]string{"v1": "integer", "v2": "string"} {
		found, err := custom.Schema(version)
		if err != nil {
			t.Fatal(err)
		}
		if got := typeAt(*found, []string{"size"}); got != want {
			t.Errorf("size is a %q in %s, want %q", got, version, want)
		}
		if got := typeAt(*found, []string{"metadata", "name"}); got != "string" {
			t.Errorf("metadata.name is a %q in %s", got, version)
		}
	}
	if _, err := custom.Schema("v3"); !errors.Is(err, resolver.ErrSchemaNotFound) {
		t.Errorf("of a version that is not served: %v", err)
	}
}

var names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Singular: "thing", Kind: "Thing", ListKind: "ThingList"}

func version(name string, served bool, size string) apiextensionsv1.CustomResourceDefinitionVersion {
	return apiextensionsv1.CustomResourceDefinitionVersion{
		Name: name, Served: served, Storage: name == "v1",
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"size": {Type: size}},
		}},
	}
}

// typeAt follows a path of properties.
func typeAt(s spec.Schema, path []string) string {
	for _, name := range path {
		var ok bool
		if s, ok = s.Properties[name]; !ok {
			return ""
		}
	}
	return strings.Join(s.Type, ",")
}
