// Command webhook-schema writes the JSON Schema of gatehouse.yaml, which editors use, from the Go types of package config
// and their comments. It is run by go generate in the directory suites/webhook/config.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/config"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "webhook-schema:", err)
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

// generate returns the schema. The working directory must be that of package config, whose comments it reads.
func generate() ([]byte, error) {
	r := &jsonschema.Reflector{Anonymous: true, ExpandedStruct: true, Mapper: mapped}
	if err := r.AddGoComments("github.com/gatehouse-dev/gatehouse/suites/webhook/config", "./", jsonschema.WithFullComment()); err != nil {
		return nil, fmt.Errorf("read the comments of package config: %w", err)
	}
	schema := r.ReflectFromType(reflect.TypeFor[config.File]())
	schema.Title = "Gatehouse webhook trial (gatehouse.yaml)"
	schema.OneOf = []*jsonschema.Schema{{Required: []string{"url"}}, {Required: []string{"run"}}}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(schema); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// mapped returns the schemas of words from a closed list.
func mapped(t reflect.Type) *jsonschema.Schema {
	words, ok := reflect.Zero(t).Interface().(interface{ Values() []string })
	if !ok || t.Kind() != reflect.String {
		return nil
	}
	schema := &jsonschema.Schema{Type: "string"}
	for _, value := range words.Values() {
		schema.Enum = append(schema.Enum, value)
	}
	return schema
}
