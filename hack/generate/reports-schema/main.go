// Command reports-schema writes the JSON Schema of report.json from the Go types of package reports and their comments.
// It is run by go generate in the directory reports.
package main

import (
	"fmt"
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/gatehouse-dev/gatehouse/hack/generate/internal/schema"
	"github.com/gatehouse-dev/gatehouse/reports"
)

func main() { schema.Main("reports-schema", generate) }

// generate returns the schema. The working directory must be that of package reports, whose comments and those of
// package fixtures it reads.
func generate() ([]byte, error) {
	r := &jsonschema.Reflector{Anonymous: true, ExpandedStruct: true, Mapper: schema.Words}
	for _, dir := range []string{"./", "../fixtures"} {
		if err := r.AddGoComments("github.com/gatehouse-dev/gatehouse/reports", dir, jsonschema.WithFullComment()); err != nil {
			return nil, fmt.Errorf("read the comments of %s: %w", dir, err)
		}
	}
	document := r.ReflectFromType(reflect.TypeFor[reports.Report]())
	document.Title = "Gatehouse report"
	version, _ := document.Properties.Get("schemaVersion")
	version.Const = reports.SchemaVersion
	return schema.Encode(document)
}
