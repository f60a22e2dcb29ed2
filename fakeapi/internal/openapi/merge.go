package openapi

import (
	"encoding/json"
	"fmt"
)

// sections are the parts of a document of version 2 that are merged, by the names of their entries.
type sections struct {
	Paths       map[string]json.RawMessage `json:"paths"`
	Definitions map[string]json.RawMessage `json:"definitions"`
	Parameters  map[string]json.RawMessage `json:"parameters"`
}

// merge adds to a document of version 2 what others have more. What it has already stays: the metadata types, which every
// document has, are the same in all. The documents are not parsed any deeper.
func merge(base []byte, more [][]byte) ([]byte, error) {
	var document map[string]json.RawMessage
	if err := json.Unmarshal(base, &document); err != nil {
		return nil, fmt.Errorf("merging OpenAPI documents: %w", err)
	}
	added := make([]sections, len(more))
	for i, data := range more {
		if err := json.Unmarshal(data, &added[i]); err != nil {
			return nil, fmt.Errorf("merging OpenAPI documents: %w", err)
		}
	}
	for name, entriesOf := range map[string]func(sections) map[string]json.RawMessage{
		"paths":       func(s sections) map[string]json.RawMessage { return s.Paths },
		"definitions": func(s sections) map[string]json.RawMessage { return s.Definitions },
		"parameters":  func(s sections) map[string]json.RawMessage { return s.Parameters },
	} {
		entries := map[string]json.RawMessage{}
		if err := json.Unmarshal(document[name], &entries); err != nil {
			return nil, fmt.Errorf("merging OpenAPI documents: %s: %w", name, err)
		}
		for _, s := range added {
			for key, entry := range entriesOf(s) {
				if _, ok := entries[key]; !ok {
					entries[key] = entry
				}
			}
		}
		data, err := json.Marshal(entries)
		if err != nil {
			return nil, fmt.Errorf("merging OpenAPI documents: %s: %w", name, err)
		}
		document[name] = data
	}
	return json.Marshal(document)
}
