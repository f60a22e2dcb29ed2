// Package sample makes objects to try webhooks with: one of each common built-in kind, and of custom resources what their
// schemas ask for.
package sample

import (
	_ "embed"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

//go:embed builtin.yaml
var builtin []byte

// SeededSecret stands in the data of the sample of a Secret, and nowhere else.
const SeededSecret = "gatehouse-seeded-secret"

// Builtin returns an object without a name of each built-in kind that there is a sample of. They are the caller's.
func Builtin() []*unstructured.Unstructured {
	var copies []*unstructured.Unstructured
	for _, object := range builtins() {
		copies = append(copies, object.DeepCopy())
	}
	return copies
}

var builtins = sync.OnceValue(func() []*unstructured.Unstructured {
	encoded, err := yaml.YAMLToJSONStrict(builtin)
	if err != nil {
		panic("sample: builtin.yaml: " + err.Error()) // a test reads it
	}
	var entries []map[string]any
	if err := json.Unmarshal(encoded, &entries); err != nil {
		panic("sample: builtin.yaml: " + err.Error())
	}
	var objects []*unstructured.Unstructured
	for _, entry := range entries {
		objects = append(objects, &unstructured.Unstructured{Object: entry})
	}
	return objects
})
