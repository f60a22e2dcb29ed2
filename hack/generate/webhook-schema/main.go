// Command webhook-schema writes the JSON Schema of gatehouse.yaml, which editors use, from the Go types of package config
// and their comments. It is run by go generate in the directory suites/webhook/config.
package main

import (
	"fmt"
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/gatehouse-dev/gatehouse/hack/generate/internal/schema"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/config"
)

func main() { schema.Main("webhook-schema", generate) }

// generate returns the schema. The working directory must be that of package config, whose comments it reads.
func generate() ([]byte, error) {
	r := &jsonschema.Reflector{Anonymous: true, ExpandedStruct: true, Mapper: schema.Words}
	if err := r.AddGoComments("github.com/gatehouse-dev/gatehouse/suites/webhook/config", "./", jsonschema.WithFullComment()); err != nil {
		return nil, fmt.Errorf("read the comments of package config: %w", err)
	}
	document := r.ReflectFromType(reflect.TypeFor[config.File]())
	document.Title = "Gatehouse webhook trial (gatehouse.yaml)"
	document.OneOf = []*jsonschema.Schema{{Required: []string{"url"}}, {Required: []string{"run"}}}
	return schema.Encode(document)
}
