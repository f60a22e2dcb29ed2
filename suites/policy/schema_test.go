package policy_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// TestExamplesFitTheSchema: an editor that knows fixtures/schema.json finds nothing wrong with the tables.
func TestExamplesFitTheSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "fixtures", "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob("examples/*/test.yaml")
	if err != nil || len(tables) == 0 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	for _, table := range tables {
		data, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		var content any
		if err := yaml.Unmarshal(data, &content); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(content); err != nil {
			t.Errorf("%s: %v", table, err)
		}
	}
}
