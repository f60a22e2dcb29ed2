package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

func TestSchemaIsUpToDate(t *testing.T) {
	t.Chdir("../../../suites/webhook/config")
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("suites/webhook/config/schema.json is not what the Go types say; run make generate")
	}
}

func TestSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../../suites/webhook/config/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		text string
		fits bool
	}{
		{"manifests: [a]\nurl: https://127.0.0.1:1\n", true},
		{"manifests: [a]\nrun: {command: [x], ready: {path: /healthz}}\ntarget: fakeapi\n", true},
		{"manifests: [a]\n", false},
		{"manifests: [a]\nurl: https://127.0.0.1:1\nrun: {command: [x]}\n", false},
		{"manifests: [a]\nurl: https://127.0.0.1:1\ntarget: kind\n", false},
		{"manifests: [a]\nurl: https://127.0.0.1:1\nsample: {}\n", false},
	} {
		encoded, err := yaml.YAMLToJSON([]byte(test.text))
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != test.fits {
			t.Errorf("%q: %v", test.text, err)
		}
	}
}
