// Command fixtures-schema writes the JSON Schema of fixture files, which editors use, from the Go types of the format
// and their comments. It is run by go generate in the directory fixtures.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"

	"github.com/invopop/jsonschema"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "fixtures-schema:", err)
		os.Exit(1)
	}
}

func run() error {
	schema, err := generate()
	if err != nil {
		return err
	}
	return os.WriteFile("schema.json", schema, 0o644)
}

// generate returns the schema. The working directory must be that of package fixtures, whose comments it reads.
func generate() ([]byte, error) {
	r := &jsonschema.Reflector{Anonymous: true, ExpandedStruct: true, Mapper: mapped}
	if err := r.AddGoComments("github.com/gatehouse-dev/gatehouse/fixtures", "./", jsonschema.WithFullComment()); err != nil {
		return nil, fmt.Errorf("read the comments of package fixtures: %w", err)
	}
	schema := r.ReflectFromType(reflect.TypeFor[fixtures.File]())
	// Call stands inside the written-out schema of Calls alone.
	call := (&jsonschema.Reflector{Anonymous: true, Mapper: mapped, CommentMap: r.CommentMap}).ReflectFromType(reflect.TypeFor[fixtures.Call]())
	schema.Definitions["Call"] = call.Definitions["Call"]

	schema.Title = "Gatehouse fixture"
	allowReferences(schema)
	for _, definition := range schema.Definitions {
		allowReferences(definition)
	}
	schema.Definitions["reference"] = &jsonschema.Schema{
		Type:        "string",
		Pattern:     `^\$\{[^}]+\}$`,
		Description: "A reference, which is replaced by a value: of the row's set, or one that is known when the case runs.",
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(schema); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
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
	if t.Kind() == reflect.String && t.Implements(reflect.TypeFor[interface{ Values() []string }]()) {
		schema := &jsonschema.Schema{Type: "string"}
		values := reflect.Zero(t).MethodByName("Values").Call(nil)[0]
		for i := range values.Len() {
			schema.Enum = append(schema.Enum, values.Index(i).Interface())
		}
		return schema
	}
	return nil
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
