// Command fixtures-schema writes the JSON Schema of fixture files, which editors use, from the Go types of the format
// and their comments. It is run by go generate in the directory fixtures.
package main

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/invopop/jsonschema"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/hack/generate/internal/schema"
)

func main() { schema.Main("fixtures-schema", generate) }

// generate returns the schema. The working directory must be that of package fixtures, whose comments it reads.
func generate() ([]byte, error) {
	r := &jsonschema.Reflector{Anonymous: true, ExpandedStruct: true, Mapper: mapped}
	if err := r.AddGoComments("github.com/gatehouse-dev/gatehouse/fixtures", "./", jsonschema.WithFullComment()); err != nil {
		return nil, fmt.Errorf("read the comments of package fixtures: %w", err)
	}
	document := r.ReflectFromType(reflect.TypeFor[fixtures.File]())
	// Call stands inside the written-out schema of Calls alone.
	call := (&jsonschema.Reflector{Anonymous: true, Mapper: mapped, CommentMap: r.CommentMap}).ReflectFromType(reflect.TypeFor[fixtures.Call]())
	document.Definitions["Call"] = call.Definitions["Call"]

	document.Title = "Gatehouse fixture"
	allowReferences(document)
	for _, definition := range document.Definitions {
		allowReferences(definition)
	}
	document.Definitions["reference"] = &jsonschema.Schema{
		Type:        "string",
		Pattern:     `^\$\{[^}]+\}$`,
		Description: "A reference, which is replaced by a value: of the row's set, or one that is known when the case runs.",
	}
	return schema.Encode(document)
}

// mapped returns the schemas of the types that are not written as their Go types tell.
func mapped(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[fixtures.Object]():
		return &jsonschema.Schema{Type: "object"}
	case reflect.TypeFor[fixtures.AuditValues]():
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			{Type: "string"},
			{Type: "array", Items: &jsonschema.Schema{Type: "string"}},
			{Type: "null"},
		}}
	case reflect.TypeFor[fixtures.Calls]():
		call := []*jsonschema.Schema{{Type: "string"}, {Ref: "#/$defs/Call"}}
		group := &jsonschema.Schema{
			Type:        "array",
			Description: "Calls that may come in any order among themselves.",
			Items:       &jsonschema.Schema{AnyOf: call},
		}
		return &jsonschema.Schema{
			Type:  "array",
			Items: &jsonschema.Schema{AnyOf: append(slices.Clone(call), group)},
		}
	}
	return schema.Words(t)
}

// literal are the fields that cannot be a reference: the loader reads them before it replaces references.
var literal = []string{"cases", "set", "manifests"}

// allowReferences lets a reference stand for every value inside a schema that is not a string anyway.
func allowReferences(s *jsonschema.Schema) {
	if s.Properties != nil {
		for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
			allowReferences(pair.Value)
			if !slices.Contains(literal, pair.Key) {
				pair.Value = orReference(pair.Value)
			}
		}
	}
	if s.Items != nil {
		allowReferences(s.Items)
		s.Items = orReference(s.Items)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties != jsonschema.FalseSchema && s.AdditionalProperties != jsonschema.TrueSchema {
		allowReferences(s.AdditionalProperties)
		s.AdditionalProperties = orReference(s.AdditionalProperties)
	}
	for _, alternative := range s.AnyOf {
		allowReferences(alternative)
	}
}

func orReference(s *jsonschema.Schema) *jsonschema.Schema {
	value := *s
	value.Description = ""
	if s.Type == "string" && s.Enum == nil || reflect.DeepEqual(value, jsonschema.Schema{}) {
		return s
	}
	reference := &jsonschema.Schema{Ref: "#/$defs/reference"}
	if s.AnyOf != nil {
		out := *s
		out.AnyOf = append(slices.Clone(s.AnyOf), reference)
		return &out
	}
	return &jsonschema.Schema{Description: s.Description, AnyOf: []*jsonschema.Schema{&value, reference}}
}
