// Package manifest reads Kubernetes objects from files and remembers where each stands.
package manifest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Object is an object of a manifest.
type Object struct {
	*unstructured.Unstructured
	// File is the name of the file.
	File string
	// Document counts the documents of the file, from 1.
	Document int
	// Line is where the document begins, from 1.
	Line int
}

// Position says where the object stands.
func (o Object) Position() string { return position(o.File, o.Line, o.Document) }

func position(file string, line, document int) string {
	return fmt.Sprintf("%s:%d: document %d", file, line, document)
}

// Read reads the objects of files and of directories with all below them, in order: the paths as given, the files of a
// directory by name, the documents of a file from top to bottom. Of a directory only files named *.yaml, *.yml and
// *.json are read. The items of a List stand for themselves.
func Read(paths ...string) ([]Object, error) {
	var objects []Object
	for _, path := range paths {
		files, err := find(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			parsed, err := Parse(file, data)
			if err != nil {
				return nil, err
			}
			objects = append(objects, parsed...)
		}
	}
	return objects, nil
}

// find returns the files that a path stands for.
func find(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)) {
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: a directory without *.yaml, *.yml or *.json files", path)
	}
	return files, nil
}

// Parse reads the objects of one file.
func Parse(file string, data []byte) ([]Object, error) {
	var objects []Object
	for _, document := range split(string(data)) {
		// With the lines above it left blank, the parser's line numbers are those of the file.
		text := strings.Repeat("\n", document.line-1) + document.text
		var content map[string]any
		at := position(file, document.firstContent, document.number)
		encoded, err := yaml.YAMLToJSONStrict([]byte(text))
		if err == nil {
			err = json.Unmarshal(encoded, &content) // keeps integers
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		object := &unstructured.Unstructured{Object: content}
		for _, field := range []struct{ name, value string }{{"apiVersion", object.GetAPIVersion()}, {"kind", object.GetKind()}} {
			switch {
			case field.value != "":
			case isKustomization(file):
				return nil, fmt.Errorf("%s: a kustomization, not an object: load what kustomize build %s (or kubectl kustomize) writes", at, filepath.Dir(file))
			default:
				return nil, fmt.Errorf("%s: not a Kubernetes object: it has no %s", at, field.name)
			}
		}
		add := func(item *unstructured.Unstructured) {
			objects = append(objects, Object{Unstructured: item, File: file, Document: document.number, Line: document.firstContent})
		}
		if !object.IsList() {
			add(object)
			continue
		}
		err = object.EachListItem(func(item runtime.Object) error {
			add(item.(*unstructured.Unstructured))
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
	}
	return objects, nil
}

// isKustomization tells by its name whether a file is kustomize's: apiVersion and kind may be absent in it.
func isKustomization(file string) bool {
	name := filepath.Base(file)
	return strings.TrimSuffix(name, filepath.Ext(name)) == "kustomization"
}

// document is a piece of a file between separators.
type document struct {
	number int
	// line is where the text begins, firstContent where its first line stands that is neither blank nor a comment.
	line, firstContent int
	text               string
}

// split cuts a file at its "---" lines. Pieces without content are left out and not counted.
func split(data string) []document {
	var (
		documents []document
		current   = document{line: 1}
		lines     []string
	)
	finish := func(next int) {
		if current.firstContent > 0 {
			current.number = len(documents) + 1
			current.text = strings.Join(lines, "\n") + "\n"
			documents = append(documents, current)
		}
		current, lines = document{line: next}, nil
	}
	for i, line := range strings.Split(data, "\n") {
		number := i + 1
		if rest, separator := strings.CutPrefix(line, "---"); separator && (rest == "" || strings.ContainsAny(rest[:1], " \t\r#")) {
			finish(number)
			line = "   " + rest // what follows the separator belongs to the document
		}
		if trimmed := strings.TrimSpace(line); current.firstContent == 0 && trimmed != "" && !strings.HasPrefix(trimmed, "#") && !strings.HasPrefix(trimmed, "%") {
			current.firstContent = number
		}
		lines = append(lines, line)
	}
	finish(0)
	return documents
}
