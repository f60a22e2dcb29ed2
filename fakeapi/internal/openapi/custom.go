package openapi

import (
	"encoding/json"
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
)

// Custom makes the documents of the custom resources that a CustomResourceDefinition defines, when they are asked for.
type Custom struct {
	definition *apiextensionsv1.CustomResourceDefinition
	v3         map[string]func() (*spec3.OpenAPI, error) // by version
	v2         func() ([][]byte, error)
}

// NewCustom returns the documents of a definition, which must not be changed after. Its names must be accepted.
func NewCustom(definition *apiextensionsv1.CustomResourceDefinition) *Custom {
	c := &Custom{definition: definition, v3: map[string]func() (*spec3.OpenAPI, error){}}
	for _, version := range c.versions() {
		c.v3[version] = sync.OnceValues(func() (*spec3.OpenAPI, error) {
			document, err := builder.BuildOpenAPIV3(definition, version, builder.Options{IncludeSelectableFields: true})
			if err != nil {
				return nil, fmt.Errorf("OpenAPI document of %s in version %s: %w", definition.Name, version, err)
			}
			return document, nil
		})
	}
	c.v2 = sync.OnceValues(c.buildV2)
	return c
}

// versions are the served versions.
func (c *Custom) versions() []string {
	var versions []string
	for _, version := range c.definition.Spec.Versions {
		if version.Served {
			versions = append(versions, version.Name)
		}
	}
	return versions
}

// buildV2 makes a document of version 2 for each version of the custom resource.
func (c *Custom) buildV2() ([][]byte, error) {
	var documents [][]byte
	for _, version := range c.versions() {
		document, err := builder.BuildOpenAPIV2(c.definition, version, builder.Options{V2: true, IncludeSelectableFields: true})
		if err != nil {
			return nil, fmt.Errorf("OpenAPI document of %s in version %s: %w", c.definition.Name, version, err)
		}
		// The metadata types come out as in the document of the built-in kinds, which tells no defaults.
		document.Definitions = handler.PruneDefaults(document.Definitions)
		data, err := json.Marshal(document)
		if err != nil {
			return nil, fmt.Errorf("OpenAPI document of %s in version %s: %w", c.definition.Name, version, err)
		}
		documents = append(documents, data)
	}
	return documents, nil
}

// V3OfCustom returns the documents of version 3 of custom resources by their names: apis/stable.example.com/v1. Those that
// share a group version share a document.
func V3OfCustom(custom []*Custom) map[string]*Document {
	type part = func() (*spec3.OpenAPI, error)
	parts := map[string][]part{}
	for _, c := range custom {
		for version, build := range c.v3 {
			name := "apis/" + c.definition.Spec.Group + "/" + version
			parts[name] = append(parts[name], build)
		}
	}
	documents := map[string]*Document{}
	for name, parts := range parts {
		documents[name] = newDocument(func() ([]byte, error) {
			var specs []*spec3.OpenAPI
			for _, build := range parts {
				spec, err := build()
				if err != nil {
					return nil, err
				}
				specs = append(specs, spec)
			}
			merged, err := builder.MergeSpecsV3(specs...)
			if err != nil {
				return nil, fmt.Errorf("OpenAPI document %s: %w", name, err)
			}
			return json.Marshal(merged)
		}, handler3.ToV3ProtoBinary)
	}
	return documents
}
