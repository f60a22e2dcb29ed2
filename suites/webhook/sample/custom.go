package sample

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

// Custom makes an object without a name of one version of a custom resource: every field that its schema requires, with a
// value that the schema allows as far as types, enumerations, bounds and formats tell. Patterns and rules in CEL may need
// more than that: a sample of the webhook's author is better.
func Custom(definition *apiextensionsv1.CustomResourceDefinition, version apiextensionsv1.CustomResourceDefinitionVersion) *unstructured.Unstructured {
	object := map[string]any{}
	if version.Schema != nil && version.Schema.OpenAPIV3Schema != nil {
		if made, ok := value(version.Schema.OpenAPIV3Schema, 0).(map[string]any); ok {
			object = made
		}
		if spec, ok := version.Schema.OpenAPIV3Schema.Properties["spec"]; ok && object["spec"] == nil {
			object["spec"] = value(&spec, 0)
		}
	}
	delete(object, "status")
	delete(object, "metadata")
	object["apiVersion"] = definition.Spec.Group + "/" + version.Name
	object["kind"] = definition.Spec.Names.Kind
	return &unstructured.Unstructured{Object: object}
}

// maxDepth ends schemas that require themselves.
const maxDepth = 20

// value makes a value of a schema.
func value(s *apiextensionsv1.JSONSchemaProps, depth int) any {
	if depth > maxDepth {
		return nil
	}
	for _, raw := range []*apiextensionsv1.JSON{s.Default, s.Example} {
		if v, ok := decode(raw); ok {
			return v
		}
	}
	if len(s.Enum) > 0 {
		if v, ok := decode(&s.Enum[0]); ok {
			return v
		}
	}
	if s.XIntOrString {
		return int64(1)
	}
	switch s.Type {
	case "object", "":
		return object(s, depth)
	case "array":
		return array(s, depth)
	case "boolean":
		return true
	case "integer":
		return int64(number(s, 1))
	case "number":
		return number(s, 1)
	default:
		return text(s)
	}
}

func decode(raw *apiextensionsv1.JSON) (any, bool) {
	if raw == nil || len(raw.Raw) == 0 {
		return nil, false
	}
	var v any
	return v, json.Unmarshal(raw.Raw, &v) == nil && v != nil
}

func object(s *apiextensionsv1.JSONSchemaProps, depth int) map[string]any {
	out := map[string]any{}
	for _, name := range required(s) {
		if property, ok := s.Properties[name]; ok {
			out[name] = value(&property, depth+1)
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil && s.MinProperties != nil {
		for i := range *s.MinProperties {
			out[fmt.Sprintf("key%d", i)] = value(s.AdditionalProperties.Schema, depth+1)
		}
	}
	return out
}

// required are the required fields, those of one alternative among them.
func required(s *apiextensionsv1.JSONSchemaProps) []string {
	names := slices.Clone(s.Required)
	for _, alternatives := range [][]apiextensionsv1.JSONSchemaProps{s.OneOf, s.AnyOf} {
		if len(alternatives) > 0 {
			names = append(names, alternatives[0].Required...)
		}
	}
	for i := range s.AllOf {
		names = append(names, s.AllOf[i].Required...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func array(s *apiextensionsv1.JSONSchemaProps, depth int) []any {
	least := int64(0)
	if s.MinItems != nil {
		least = *s.MinItems
	}
	out := []any{}
	for range least {
		if s.Items != nil && s.Items.Schema != nil {
			out = append(out, value(s.Items.Schema, depth+1))
		}
	}
	return out
}

func number(s *apiextensionsv1.JSONSchemaProps, least float64) float64 {
	v := least
	if s.Minimum != nil {
		v = *s.Minimum
		if s.ExclusiveMinimum {
			v++
		}
	}
	if s.Maximum != nil && v > *s.Maximum {
		v = *s.Maximum
	}
	if s.MultipleOf != nil && *s.MultipleOf > 0 {
		v = math.Ceil(v / *s.MultipleOf) * *s.MultipleOf
	}
	return v
}

// formats are values of the formats that the API checks.
var formats = map[string]string{
	"date": "2027-01-31", "date-time": "2027-01-31T12:00:00Z", "duration": "1m", "email": "jane@example.com",
	"hostname": "gatehouse.example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "cidr": "192.0.2.0/24",
	"uri": "https://gatehouse.example.com", "uuid": "123e4567-e89b-42d3-a456-426614174000", "byte": "Z2F0ZWhvdXNl",
}

func text(s *apiextensionsv1.JSONSchemaProps) string {
	v, ok := formats[s.Format]
	if !ok {
		v = "gatehouse"
	}
	if s.MinLength != nil && int64(len(v)) < *s.MinLength {
		v += strings.Repeat("x", int(*s.MinLength)-len(v))
	}
	if s.MaxLength != nil && int64(len(v)) > *s.MaxLength {
		v = v[:*s.MaxLength]
	}
	return v
}

// Versions returns the served versions of a custom resource by their names.
func Versions(definition *apiextensionsv1.CustomResourceDefinition) map[string]apiextensionsv1.CustomResourceDefinitionVersion {
	versions := map[string]apiextensionsv1.CustomResourceDefinitionVersion{}
	for _, version := range definition.Spec.Versions {
		if version.Served {
			versions[version.Name] = version
		}
	}
	return versions
}

// Served returns the names of the served versions, in the order of their names.
func Served(definition *apiextensionsv1.CustomResourceDefinition) []string {
	return slices.Sorted(maps.Keys(Versions(definition)))
}
