package openapi

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// TypeConverter returns how objects are merged whose kinds a group version's recorded document describes; nil where there
// is no such document. It gives an error for kinds that are not in it: Scale, Eviction and TokenRequest are in the document
// of the group versions that have them as subresources, and not in that of their own. It is made when first asked for.
func TypeConverter(gv schema.GroupVersion) (managedfields.TypeConverter, error) {
	convert, ok := recordedConverters()[DocumentName(gv)]
	if !ok {
		return nil, nil
	}
	return convert()
}

// recordedConverters are those of the recorded documents by the names of these, each made once.
var recordedConverters = sync.OnceValue(func() map[string]func() (managedfields.TypeConverter, error) {
	all := map[string]func() (managedfields.TypeConverter, error){}
	for name, components := range recordedComponents() {
		all[name] = sync.OnceValues(func() (managedfields.TypeConverter, error) {
			encoded, err := components()
			if err != nil {
				return nil, err
			}
			schemas := make(map[string]*spec.Schema, len(encoded))
			for schemaName, data := range encoded {
				var s spec.Schema
				if err := s.UnmarshalJSON(data); err != nil {
					return nil, fmt.Errorf("OpenAPI document %s: schema %s: %w", name, schemaName, err)
				}
				schemas[schemaName] = &s
			}
			converter, err := managedfields.NewTypeConverter(schemas, false)
			if err != nil {
				return nil, fmt.Errorf("OpenAPI document %s: %w", name, err)
			}
			return converter, nil
		})
	}
	return all
})
