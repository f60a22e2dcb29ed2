// Package crd compiles CustomResourceDefinitions: what their custom resources look like, how they are decoded, pruned,
// defaulted, converted and checked. It knows no storage.
package crd

import (
	"fmt"
	"sort"
	"strings"
	"sync"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsinternal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Kind is a compiled CustomResourceDefinition. It is not changed after it was compiled.
type Kind struct {
	// Definition is what was compiled; it must not be changed.
	Definition *apiextensionsv1.CustomResourceDefinition
	// Versions are those that are served or stored, in the order of the definition.
	Versions []*Version
	// Stored is the version that objects are stored in.
	Stored *Version
	// Convertor converts between versions and leaves its input alone; UnsafeConvertor may change it.
	Convertor, UnsafeConvertor runtime.ObjectConvertor
	// Equivalents knows that the versions are of one resource.
	Equivalents runtime.EquivalentResourceMapper

	structural map[string]*structuralschema.Structural
	types      func() managedfields.TypeConverter
}

// Version is a version of a custom kind.
type Version struct {
	Kind   *Kind
	Served bool
	GVR    schema.GroupVersionResource
	GVK    schema.GroupVersionKind
	// ListGVK is the kind of lists.
	ListGVK schema.GroupVersionKind
	// Status and Scale are the subresources; Scale is nil when there is none.
	Status bool
	Scale  *apiextensionsv1.CustomResourceSubresourceScale
	// Table and ScaleTable make the columns that kubectl shows.
	Table, ScaleTable rest.TableConvertor
	// Warnings are sent with every answer.
	Warnings []string

	definition *apiextensionsv1.CustomResourceDefinitionVersion
	structural *structuralschema.Structural
	checks     func() (*checks, error)
}

// Compile compiles a definition that is valid and whose names are accepted. converters makes its convertor.
func Compile(definition *apiextensionsv1.CustomResourceDefinition, converters *conversion.CRConverterFactory) (*Kind, error) {
	kind := &Kind{Definition: definition, structural: map[string]*structuralschema.Structural{}}
	var err error
	if kind.Convertor, kind.UnsafeConvertor, err = converters.NewConverter(definition); err != nil {
		return nil, fmt.Errorf("convertor of %s: %w", definition.Name, err)
	}
	kind.types = sync.OnceValue(kind.typeConverter)
	equivalents := runtime.NewEquivalentResourceRegistry()
	kind.Equivalents = equivalents
	for i := range definition.Spec.Versions {
		v := &definition.Spec.Versions[i]
		compiled, err := kind.compileVersion(v)
		if err != nil {
			return nil, fmt.Errorf("version %s of %s: %w", v.Name, definition.Name, err)
		}
		equivalents.RegisterKindFor(compiled.GVR, "", compiled.GVK)
		if compiled.Status {
			equivalents.RegisterKindFor(compiled.GVR, "status", compiled.GVK)
		}
		if compiled.Scale != nil {
			equivalents.RegisterKindFor(compiled.GVR, "scale", autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
		}
		if v.Storage {
			kind.Stored = compiled
		}
		if v.Served || v.Storage {
			kind.Versions = append(kind.Versions, compiled)
		}
	}
	if kind.Stored == nil {
		return nil, fmt.Errorf("%s has no storage version", definition.Name)
	}
	return kind, nil
}

func (k *Kind) compileVersion(v *apiextensionsv1.CustomResourceDefinitionVersion) (*Version, error) {
	spec, names := k.Definition.Spec, k.Definition.Status.AcceptedNames
	group := schema.GroupVersion{Group: spec.Group, Version: v.Name}
	compiled := &Version{
		Kind: k, Served: v.Served, definition: v,
		GVR: group.WithResource(names.Plural), GVK: group.WithKind(names.Kind), ListGVK: group.WithKind(names.ListKind),
	}
	if v.Subresources != nil {
		compiled.Status, compiled.Scale = v.Subresources.Status != nil, v.Subresources.Scale
	}
	validation, err := internalSchema(k.Definition, v.Name)
	if err != nil {
		return nil, err
	}
	if validation != nil && validation.OpenAPIV3Schema != nil {
		if compiled.structural, err = structural(validation.OpenAPIV3Schema, spec.PreserveUnknownFields); err != nil {
			return nil, err
		}
	}
	k.structural[v.Name] = compiled.structural
	compiled.checks = sync.OnceValues(func() (*checks, error) { return newChecks(compiled, validation) })
	compiled.Table = table(v.AdditionalPrinterColumns)
	if compiled.Scale != nil {
		compiled.ScaleTable = table([]apiextensionsv1.CustomResourceColumnDefinition{
			{Name: "Desired", Type: "integer", Description: "Number of desired replicas", JSONPath: ".spec.replicas"},
			{Name: "Available", Type: "integer", Description: "Number of actual replicas", JSONPath: ".status.replicas"},
			ageColumn(),
		})
	}
	if v.Deprecated {
		compiled.Warnings = []string{deprecationWarning(k.Definition, v)}
	}
	return compiled, nil
}

// internalSchema returns a version's validation schema in the form that the libraries take; nil when it has none.
func internalSchema(definition *apiextensionsv1.CustomResourceDefinition, version string) (*apiextensionsinternal.CustomResourceValidation, error) {
	validation, err := apihelpers.GetSchemaForVersion(definition, version)
	if err != nil || validation == nil {
		return nil, err
	}
	internal := &apiextensionsinternal.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(validation, internal, nil); err != nil {
		return nil, err
	}
	return internal, nil
}

func structural(props *apiextensionsinternal.JSONSchemaProps, preserveUnknownFields bool) (*structuralschema.Structural, error) {
	s, err := structuralschema.NewStructural(props)
	if err != nil {
		if preserveUnknownFields {
			return nil, nil
		}
		return nil, fmt.Errorf("structural schema: %w", err)
	}
	// What it was made from is shared, defaults for example.
	s = s.DeepCopy()
	if !preserveUnknownFields {
		if err := structuraldefaulting.PruneDefaults(s); err != nil {
			return nil, fmt.Errorf("defaults: %w", err)
		}
	}
	return s, nil
}

func ageColumn() apiextensionsv1.CustomResourceColumnDefinition {
	return apiextensionsv1.CustomResourceColumnDefinition{
		Name: "Age", Type: "date", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"], JSONPath: ".metadata.creationTimestamp",
	}
}

func table(columns []apiextensionsv1.CustomResourceColumnDefinition) rest.TableConvertor {
	if len(columns) == 0 {
		columns = []apiextensionsv1.CustomResourceColumnDefinition{ageColumn()}
	}
	// Of columns that do not parse, those that do are shown.
	convertor, _ := tableconvertor.New(columns)
	return convertor
}

// deprecationWarning is the definition's own, or names the version to use instead.
func deprecationWarning(definition *apiextensionsv1.CustomResourceDefinition, v *apiextensionsv1.CustomResourceDefinitionVersion) string {
	if v.DeprecationWarning != nil {
		return *v.DeprecationWarning
	}
	spec := definition.Spec
	message := fmt.Sprintf("%s/%s %s is deprecated", spec.Group, v.Name, spec.Names.Kind)
	var better []string
	for _, other := range spec.Versions {
		if other.Served && !other.Deprecated && version.CompareKubeAwareVersionStrings(v.Name, other.Name) < 0 {
			better = append(better, other.Name)
		}
	}
	if len(better) == 0 {
		return message
	}
	sort.Slice(better, func(i, j int) bool { return version.CompareKubeAwareVersionStrings(better[i], better[j]) > 0 })
	return message + fmt.Sprintf("; use %s/%s %s", spec.Group, better[0], spec.Names.Kind)
}

// TypeConverter knows how the fields of all versions are merged in server-side apply. It is made when first asked for.
func (k *Kind) TypeConverter() managedfields.TypeConverter { return k.types() }

func (k *Kind) typeConverter() managedfields.TypeConverter {
	models := map[string]*spec.Schema{}
	for _, v := range k.Definition.Spec.Versions {
		document, err := builder.BuildOpenAPIV3(k.Definition, v.Name, builder.Options{})
		if err != nil {
			return managedfields.NewDeducedTypeConverter()
		}
		for name, model := range document.Components.Schemas {
			models[name] = model
		}
	}
	converter, err := managedfields.NewTypeConverter(models, k.Definition.Spec.PreserveUnknownFields)
	if err != nil {
		return managedfields.NewDeducedTypeConverter()
	}
	return converter
}

// fieldPath splits a path such as .spec.replicas.
func fieldPath(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }
