package openapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Schema returns the schema of a built-in kind with what it refers to in it. An error that is resolver.ErrSchemaNotFound
// says that there is no such kind. It must not be changed.
func Schema(kind schema.GroupVersionKind) (*spec.Schema, error) {
	components, ok := recordedComponents()[DocumentName(kind.GroupVersion())]
	if !ok {
		return nil, notFound(kind)
	}
	schemas, err := components()
	if err != nil {
		return nil, err
	}
	return schemas.resolve(kind)
}

// Schema returns the schema of the custom kind in one of its served versions, as does the function of that name.
func (c *Custom) Schema(version string) (*spec.Schema, error) {
	kind := schema.GroupVersionKind{Group: c.definition.Spec.Group, Version: version, Kind: c.definition.Status.AcceptedNames.Kind}
	build, ok := c.v3[version]
	if !ok {
		return nil, notFound(kind)
	}
	document, err := build()
	if err != nil {
		return nil, err
	}
	for name, s := range document.Components.Schemas {
		if !isOf(s, kind) {
			continue
		}
		return resolver.PopulateRefs(func(ref string) (*spec.Schema, bool) {
			found, ok := document.Components.Schemas[strings.TrimPrefix(ref, refPrefix)]
			return found, ok
		}, name)
	}
	return nil, notFound(kind)
}

const refPrefix = "#/components/schemas/"

// DocumentName is the name of a group version's document of version 3.
func DocumentName(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.String()
}

// components are the schemas of a document, each decoded when it is needed.
type components map[string]json.RawMessage

// recordedComponents are those of the recorded documents by the names of these, each read once.
var recordedComponents = sync.OnceValue(func() map[string]func() (components, error) {
	documents, err := V3()
	if err != nil {
		return nil // V3 tells everyone else
	}
	all := map[string]func() (components, error){}
	for name, document := range documents {
		all[name] = sync.OnceValues(func() (components, error) {
			data, err := document.JSON()
			if err != nil {
				return nil, err
			}
			var parsed struct {
				Components struct {
					Schemas components `json:"schemas"`
				} `json:"components"`
			}
			if err := json.Unmarshal(data, &parsed); err != nil {
				return nil, fmt.Errorf("OpenAPI document %s: %w", name, err)
			}
			return parsed.Components.Schemas, nil
		})
	}
	return all
})

func (c components) resolve(kind schema.GroupVersionKind) (*spec.Schema, error) {
	for name := range c {
		// The names end with the kinds, which spares decoding the others.
		if !strings.HasSuffix(name, "."+kind.Kind) {
			continue
		}
		if s, ok := c.schema(name); ok && isOf(s, kind) {
			return resolver.PopulateRefs(c.schema, name)
		}
	}
	return nil, notFound(kind)
}

// schema decodes a schema by its name or a reference to it.
func (c components) schema(ref string) (*spec.Schema, bool) {
	data, ok := c[strings.TrimPrefix(ref, refPrefix)]
	if !ok {
		return nil, false
	}
	var s spec.Schema
	if err := s.UnmarshalJSON(data); err != nil {
		return nil, false
	}
	return &s, true
}

// isOf tells whether a schema says of itself that it describes the kind.
func isOf(s *spec.Schema, kind schema.GroupVersionKind) bool {
	var kinds []schema.GroupVersionKind
	if err := s.Extensions.GetObject("x-kubernetes-group-version-kind", &kinds); err != nil {
		return false
	}
	for _, k := range kinds {
		if k == kind {
			return true
		}
	}
	return false
}

func notFound(kind schema.GroupVersionKind) error {
	return fmt.Errorf("%s: %w", kind, resolver.ErrSchemaNotFound)
}
