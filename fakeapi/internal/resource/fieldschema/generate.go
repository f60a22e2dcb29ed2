//go:build ignore

// This program writes schema.json.gz from the apply configurations of the modules that the repository depends on.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

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
	for _, source := range []struct{ module, file string }{
		{"k8s.io/client-go", "applyconfigurations/internal/internal.go"},
		{"k8s.io/apiextensions-apiserver", "pkg/client/applyconfiguration/internal/internal.go"},
	} {
		parsed, err := read(source.module, source.file)
		if err != nil {
			return err
		}
		for _, t := range parsed.Types {
			if !known[t.Name] {
				known[t.Name] = true
				merged.Types = append(merged.Types, t)
			}
		}
	}
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
