package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// conversion converts custom resources as a fixture says, with the faults that its script adds.
type conversion struct {
	script   script
	versions map[string][]move
}

// move is where a version has a field that other versions have elsewhere.
type move struct {
	from, to []string // to is nil for a field that the version does not have
}

func newConversion(s script, versions map[string]map[string]string) conversion {
	c := conversion{script: s, versions: map[string][]move{}}
	for version, fields := range versions {
		for _, from := range slices.Sorted(maps.Keys(fields)) {
			c.versions[version] = append(c.versions[version], move{from: segments(from), to: segments(fields[from])})
		}
	}
	return c
}

// segments splits a JSON pointer.
func segments(pointer string) []string {
	if pointer == "" {
		return nil
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := range parts {
		parts[i] = unescape.Replace(parts[i])
	}
	return parts
}

func (c conversion) close() {}

func (c conversion) respond(_ context.Context, call *Call, number int64) (*response, error) {
	request, _ := call.Review["request"].(map[string]any)
	objects, _ := request["objects"].([]any)
	answer, err := c.script.choose(call, map[string]any{"request": request, "objects": objects, "call": number})
	if err != nil {
		return nil, err
	}
	desired, _ := request["desiredAPIVersion"].(string)
	converted := make([]any, len(objects))
	for i, object := range objects {
		original, ok := object.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("webhook %s: request.objects[%d] is no object", call.Hook, i)
		}
		if converted[i], err = answer.alter(c.convert(original, desired)); err != nil {
			return nil, fmt.Errorf("webhook %s: request.objects[%d]: %w", call.Hook, i, err)
		}
	}
	result := map[string]any{"status": metav1.StatusSuccess}
	if answer.Status != nil {
		result = answer.Status
	}
	return answer.response(map[string]any{
		"apiVersion": call.Review["apiVersion"], "kind": "ConversionReview",
		"response": map[string]any{"uid": request["uid"], "result": result, "convertedObjects": converted},
	})
}

// convert returns an object in another version. The object is left alone.
func (c conversion) convert(object map[string]any, apiVersion string) map[string]any {
	converted := runtime.DeepCopyJSON(object)
	from, _ := converted["apiVersion"].(string)
	var back []move
	for _, m := range c.versions[versionOf(from)] {
		if m.to != nil {
			back = append(back, move{from: m.to, to: m.from})
		}
	}
	relocate(converted, back)
	relocate(converted, c.versions[versionOf(apiVersion)])
	converted["apiVersion"] = apiVersion
	return converted
}

func versionOf(apiVersion string) string {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return ""
	}
	return gv.Version
}

// relocate moves fields, all at once. Those that the object does not have are passed over.
func relocate(object map[string]any, moves []move) {
	values := make([]any, len(moves))
	found := make([]bool, len(moves))
	for i, m := range moves {
		if values[i], found[i] = lookUp(object, m.from); found[i] {
			remove(object, m.from)
		}
	}
	for i, m := range moves {
		if found[i] && m.to != nil {
			// It fails where something else is in the way; the API server then gets an object without the field.
			_ = unstructured.SetNestedField(object, values[i], m.to...)
		}
	}
}

func lookUp(object map[string]any, path []string) (any, bool) {
	value, found, err := unstructured.NestedFieldNoCopy(object, path...)
	return value, found && err == nil
}

// remove removes a field, and the mappings below the top level that this leaves empty.
func remove(object map[string]any, path []string) {
	unstructured.RemoveNestedField(object, path...)
	for parent := path[:len(path)-1]; len(parent) > 1; parent = parent[:len(parent)-1] {
		if left, ok := lookUp(object, parent); !ok || len(left.(map[string]any)) > 0 {
			return
		}
		unstructured.RemoveNestedField(object, parent...)
	}
}

// alter applies the answer's patch to a converted object.
func (a scripted) alter(object map[string]any) (any, error) {
	if a.patch == nil {
		return object, nil
	}
	patch, err := jsonpatch.DecodePatch(a.patch)
	if err != nil {
		return nil, fmt.Errorf("the answer's patch: %w", err)
	}
	encoded, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	if encoded, err = patch.Apply(encoded); err != nil {
		return nil, fmt.Errorf("apply the answer's patch: %w", err)
	}
	var altered any
	err = utiljson.Unmarshal(encoded, &altered)
	return altered, err
}
