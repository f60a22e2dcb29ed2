package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// Operation is one operation of a JSON patch.
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from,omitempty"`
	Value any    `json:"value,omitempty"`
}

// Operations reads a JSON patch.
func Operations(patch []byte) ([]Operation, error) {
	var operations []Operation
	if err := json.Unmarshal(patch, &operations); err != nil {
		return nil, fmt.Errorf("the patch is no list of JSON patch operations: %w", err)
	}
	return operations, nil
}

// Apply applies a JSON patch as an API server does.
func Apply(patch, object []byte) ([]byte, error) {
	parsed, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, fmt.Errorf("the patch is no JSON patch: %w", err)
	}
	patched, err := parsed.Apply(object)
	if err != nil {
		return nil, fmt.Errorf("the patch does not apply to the object: %w", err)
	}
	return patched, nil
}

// Same tells that two JSON texts say the same.
func Same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	return len(a) > 0 && len(b) > 0 && jsonpatch.Equal(a, b)
}
