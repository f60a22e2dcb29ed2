// Package schema has what the generators of JSON Schemas share.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"

	"github.com/invopop/jsonschema"
)

// Main is the main function of a generator: it writes schema.json in the working directory.
func Main(name string, generate func() ([]byte, error)) {
	data, err := generate()
	if err == nil {
		err = os.WriteFile("schema.json", data, 0o644)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Encode returns the text of a schema.
func Encode(s *jsonschema.Schema) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(s); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Words returns the schema of a string type whose method Values returns its closed list of words; nil for any other type.
func Words(t reflect.Type) *jsonschema.Schema {
	words, ok := reflect.Zero(t).Interface().(interface{ Values() []string })
	if !ok || t.Kind() != reflect.String {
		return nil
	}
	s := &jsonschema.Schema{Type: "string"}
	for _, value := range words.Values() {
		s.Enum = append(s.Enum, value)
	}
	return s
}
