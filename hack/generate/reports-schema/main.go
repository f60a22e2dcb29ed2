// Command reports-schema writes the JSON Schema of report.json from the Go types of package reports and their comments.
// It is run by go generate in the directory reports.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/gatehouse-dev/gatehouse/reports"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "reports-schema:", err)
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

// generate returns the schema. The working directory must be that of package reports, whose comments and those of
// package fixtures it reads.
func generate() ([]byte, error) {
	r := &jsonschema.Reflector{Anonymous: true, ExpandedStruct: true, Mapper: mapped}
	for _, dir := range []string{"./", "../fixtures"} {
		if err := r.AddGoComments("github.com/gatehouse-dev/gatehouse/reports", dir, jsonschema.WithFullComment()); err != nil {
			return nil, fmt.Errorf("read the comments of %s: %w", dir, err)
		}
	}
	schema := r.ReflectFromType(reflect.TypeFor[reports.Report]())
	schema.Title = "Gatehouse report"
	version, _ := schema.Properties.Get("schemaVersion")
	version.Const = reports.SchemaVersion

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
	if t.Kind() != reflect.String || !t.Implements(reflect.TypeFor[interface{ Values() []string }]()) {
		return nil
	}
	schema := &jsonschema.Schema{Type: "string"}
	for _, value := range reflect.Zero(t).Interface().(interface{ Values() []string }).Values() {
		schema.Enum = append(schema.Enum, value)
	}
	return schema
}
