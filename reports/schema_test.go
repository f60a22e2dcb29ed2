package reports

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestSchemaFitsReports: every report.json is one of the published schema; that the schema is up to date is tested
// beside its generator.
func TestSchemaFitsReports(t *testing.T) {
	schema := compileSchema(t)
	for name, run := range junitRuns() {
		if name == "hostile" {
			continue // its outcome that does not exist is none of the schema's either
		}
		var out bytes.Buffer
		if err := WriteJSON(&out, New(run)); err != nil {
			t.Fatal(err)
		}
		if err := validateJSON(t, schema, out.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	schema := compileSchema(t)
	for name, change := range map[string]func(map[string]any){
		"another version":    func(r map[string]any) { r["schemaVersion"] = 2 },
		"an unknown field":   func(r map[string]any) { r["color"] = "red" },
		"a missing field":    func(r map[string]any) { delete(r, "verdict") },
		"an unknown verdict": func(r map[string]any) { r["verdict"] = "perfect" },
		"results of no list": func(r map[string]any) { r["results"] = map[string]any{} },
	} {
		var report map[string]any
		if err := json.Unmarshal([]byte(text1(t, New(badRun()))), &report); err != nil {
			t.Fatal(err)
		}
		change(report)
		data, err := json.Marshal(report)
		if err != nil {
			t.Fatal(err)
		}
		if err := validateJSON(t, schema, data); err == nil {
			t.Errorf("%s: the schema accepts it", name)
		}
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func validateJSON(t *testing.T, schema *jsonschema.Schema, data []byte) error {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(document)
}
