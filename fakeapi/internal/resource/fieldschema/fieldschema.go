// Package fieldschema knows how the fields of the built-in kinds are merged, for server-side apply: which lists are maps
// by which keys, which are sets, and what is replaced as a whole. It holds the schemas of client-go's and
// apiextensions-apiserver's apply configurations, and of the kinds that have none, in a form that is read in a few
// milliseconds, when first needed.
package fieldschema

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

//go:generate go run generate.go

//go:embed schema.json.gz
var compressed []byte

// parser is shared by the whole process and not changed.
var parser = sync.OnceValues(func() (*typed.Parser, error) {
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("field schema: %w", err)
	}
	data, err := io.ReadAll(reader)
	if err != nil {
		return nil, fmt.Errorf("field schema: %w", err)
	}
	parser := &typed.Parser{}
	if err := Decode(data, &parser.Schema); err != nil {
		return nil, fmt.Errorf("field schema: %w", err)
	}
	return parser, nil
})

// Has tells whether the fields of a kind of the scheme are known.
func Has(scheme *runtime.Scheme, kind schema.GroupVersionKind) bool {
	p, err := parser()
	if err != nil {
		return false
	}
	name, err := scheme.ToOpenAPIDefinitionName(kind)
	return err == nil && p.Type(name).IsValid()
}

// Converter converts objects of the built-in kinds to typed values and back. The scheme holds their Go types. Kinds that
// nobody applies, such as Scale and the access reviews, have no schema; their lists are atomic.
type Converter struct {
	Scheme *runtime.Scheme
}

var _ managedfields.TypeConverter = Converter{}

// ObjectToTyped implements managedfields.TypeConverter.
func (c Converter) ObjectToTyped(object runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	p, err := parser()
	if err != nil {
		return nil, err
	}
	name, err := c.Scheme.ToOpenAPIDefinitionName(object.GetObjectKind().GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if !p.Type(name).IsValid() {
		return managedfields.NewDeducedTypeConverter().ObjectToTyped(object, options...)
	}
	return managedfields.NewSchemeTypeConverter(c.Scheme, p).ObjectToTyped(object, options...)
}

// TypedToObject implements managedfields.TypeConverter.
func (c Converter) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	p, err := parser()
	if err != nil {
		return nil, err
	}
	return managedfields.NewSchemeTypeConverter(c.Scheme, p).TypedToObject(value)
}
