//go:build ignore

// This program writes schema.json.gz from the apply configurations of the modules that the repository depends on, and from
// the recorded OpenAPI documents.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/spec3"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/openapi"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource/fieldschema"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate field schema:", err)
		os.Exit(1)
	}
}

func run() error {
	merged := &schema.Schema{}
	known := map[string]bool{}
	add := func(types []schema.TypeDef) {
		for _, t := range types {
			if !known[t.Name] {
				known[t.Name] = true
				merged.Types = append(merged.Types, t)
			}
		}
	}
	for _, source := range []struct{ module, file string }{
		{"k8s.io/client-go", "applyconfigurations/internal/internal.go"},
		{"k8s.io/apiextensions-apiserver", "pkg/client/applyconfiguration/internal/internal.go"},
	} {
		parsed, err := read(source.module, source.file)
		if err != nil {
			return err
		}
		add(parsed.Types)
	}
	// This kind has no apply configurations. Its list, and what else is in the document, nobody applies.
	recorded, err := recordedSchema("apis/apiregistration.k8s.io/v1")
	if err != nil {
		return err
	}
	add(slices.DeleteFunc(recorded.Types, func(t schema.TypeDef) bool {
		return !strings.HasPrefix(t.Name, "io.k8s.kube-aggregator.") || strings.HasSuffix(t.Name, "List")
	}))
	data, err := fieldschema.Encode(merged)
	if err != nil {
		return err
	}
	var compressed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := writer.Write(data); err != nil {
		return err
	}
	if err := writer.Close(); err != nil {
		return err
	}
	return os.WriteFile("schema.json.gz", compressed.Bytes(), 0o644)
}

// recordedSchema makes a schema of a recorded OpenAPI document.
func recordedSchema(name string) (*schema.Schema, error) {
	documents, err := openapi.V3()
	if err != nil {
		return nil, err
	}
	data, err := documents[name].JSON()
	if err != nil {
		return nil, err
	}
	var document spec3.OpenAPI
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("OpenAPI document %s: %w", name, err)
	}
	return schemaconv.ToSchemaFromOpenAPI(document.Components.Schemas, false)
}

// read parses the schema that stands between backquotes in a module's file.
func read(module, file string) (*schema.Schema, error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return nil, fmt.Errorf("directory of %s: %w", module, err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), file))
	if err != nil {
		return nil, err
	}
	parts := strings.Split(string(source), "`")
	if len(parts) != 3 {
		return nil, fmt.Errorf("%s of %s: expected one string between backquotes", file, module)
	}
	parser, err := typed.NewParser(typed.YAMLObject(parts[1]))
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", file, module, err)
	}
	return &parser.Schema, nil
}
