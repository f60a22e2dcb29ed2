package crd

import (
	"context"
	"fmt"
	"math"
	"strings"

	apiextensionsinternal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	structurallisttype "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	schemaobjectmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

// checks are what objects of a version are checked with.
type checks struct {
	schema, status schemavalidation.SchemaValidator
	rules          *cel.Validator
}

func newChecks(v *Version, validation *apiextensionsinternal.CustomResourceValidation) (*checks, error) {
	c := &checks{}
	var props *apiextensionsinternal.JSONSchemaProps
	if validation != nil {
		props = validation.OpenAPIV3Schema
	}
	var err error
	if c.schema, _, err = schemavalidation.NewSchemaValidator(props); err != nil {
		return nil, err
	}
	if v.Status && props != nil {
		if status, ok := props.Properties["status"]; ok {
			if c.status, _, err = schemavalidation.NewSchemaValidator(&status); err != nil {
				return nil, err
			}
		}
	}
	if v.structural != nil {
		c.rules = cel.NewValidator(v.structural, true, celconfig.PerCallLimit)
	}
	return c, nil
}

// Validate checks a new object.
func (v *Version) Validate(object *unstructured.Unstructured) field.ErrorList {
	c, err := v.checks()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	if errs := v.validateType(object); len(errs) > 0 {
		return errs
	}
	errs := validateMetadataTypes(object)
	if len(errs) == 0 {
		errs = apivalidation.ValidateObjectMetaAccessor(object, v.namespaced(), apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	}
	errs = append(errs, schemavalidation.ValidateCustomResource(nil, object.Object, c.schema)...)
	errs = append(errs, v.validateScaleSpec(object)...)
	errs = append(errs, v.validateScaleStatus(object)...)
	errs = append(errs, schemaobjectmeta.Validate(context.Background(), nil, object.Object, v.structural, false)...)
	errs = append(errs, structurallisttype.ValidateListSetsAndMaps(nil, v.structural, object.Object)...)
	return append(errs, c.validateRules(v, object, nil, errs)...)
}

// ValidateUpdate checks an update of an object. Faults that the old object has are accepted where the API says so.
func (v *Version) ValidateUpdate(object, old *unstructured.Unstructured) field.ErrorList {
	c, err := v.checks()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	if errs := v.validateType(object); len(errs) > 0 {
		return errs
	}
	correlated := v.correlate(object, old)
	errs := validateMetadataTypes(object)
	errs = append(errs, schemavalidation.ValidateCustomResourceUpdate(nil, object.Object, old.Object, c.schema, schemavalidation.WithRatcheting(correlated))...)
	errs = append(errs, v.validateScaleSpec(object)...)
	errs = append(errs, v.validateScaleStatus(object)...)
	errs = append(errs, schemaobjectmeta.Validate(context.Background(), nil, object.Object, v.structural, false)...)
	errs = append(errs, v.validateLists(object, old)...)
	return append(errs, c.validateRules(v, object, old, errs, cel.WithRatcheting(correlated))...)
}

// ValidateStatusUpdate checks an update of the status alone.
func (v *Version) ValidateStatusUpdate(object, old *unstructured.Unstructured) field.ErrorList {
	c, err := v.checks()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	if errs := v.validateType(object); len(errs) > 0 {
		return errs
	}
	correlated := v.correlate(object, old)
	errs := validateMetadataTypes(object)
	if status, ok := object.Object["status"]; ok {
		var options []schemavalidation.ValidationOption
		if v.structural != nil {
			options = append(options, schemavalidation.WithRatcheting(correlated.Key("status")))
		}
		errs = append(errs, schemavalidation.ValidateCustomResourceUpdate(field.NewPath("status"), status, old.Object["status"], c.status, options...)...)
	}
	errs = append(errs, v.validateScaleStatus(object)...)
	errs = append(errs, v.validateLists(object, old)...)
	return append(errs, c.validateRules(v, object, old, errs, cel.WithRatcheting(correlated))...)
}

func (v *Version) namespaced() bool {
	return v.Kind.Definition.Spec.Scope == apiextensionsv1.NamespaceScoped
}

func (v *Version) correlate(object, old *unstructured.Unstructured) *common.CorrelatedObject {
	return common.NewCorrelatedObject(object.Object, old.Object, &model.Structural{Structural: v.structural})
}

func (v *Version) validateType(object *unstructured.Unstructured) field.ErrorList {
	var errs field.ErrorList
	if kind := object.GetKind(); kind != v.GVK.Kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), kind, fmt.Sprintf("must be %v", v.GVK.Kind)))
	}
	if version := object.GetAPIVersion(); version != v.GVK.GroupVersion().String() {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), version, fmt.Sprintf("must be %v", v.GVK.GroupVersion())))
	}
	return errs
}

// validateMetadataTypes checks that what metadata holds has the types of an ObjectMeta: a webhook may have left others.
func validateMetadataTypes(object *unstructured.Unstructured) field.ErrorList {
	path, raw := field.NewPath("metadata"), object.Object["metadata"]
	if raw == nil {
		return nil
	}
	content, ok := raw.(map[string]any)
	if !ok {
		return field.ErrorList{field.Invalid(path, raw, fmt.Sprintf("expected an object, got %T", raw))}
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &metav1.ObjectMeta{}); err != nil {
		return field.ErrorList{field.Invalid(path, raw, err.Error())}
	}
	return nil
}

// validateLists checks that lists that are sets or maps have no duplicates, unless the old object had some already.
func (v *Version) validateLists(object, old *unstructured.Unstructured) field.ErrorList {
	if errs := structurallisttype.ValidateListSetsAndMaps(nil, v.structural, old.Object); len(errs) > 0 {
		return nil
	}
	return structurallisttype.ValidateListSetsAndMaps(nil, v.structural, object.Object)
}

// validateRules evaluates x-kubernetes-validations, unless the object has faults that the rules do not expect.
func (c *checks) validateRules(v *Version, object, old *unstructured.Unstructured, found field.ErrorList, options ...cel.Option) field.ErrorList {
	if c.rules == nil {
		return nil
	}
	for _, err := range found {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return field.ErrorList{field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation")}
		}
	}
	var before any
	if old != nil {
		before = old.Object
	}
	errs, _ := c.rules.Validate(context.Background(), nil, v.structural, object.Object, before, celconfig.RuntimeCELCostBudget, options...)
	return errs
}

func (v *Version) validateScaleSpec(object *unstructured.Unstructured) field.ErrorList {
	if v.Scale == nil {
		return nil
	}
	return validateReplicas(object, v.Scale.SpecReplicasPath)
}

func (v *Version) validateScaleStatus(object *unstructured.Unstructured) field.ErrorList {
	if v.Scale == nil {
		return nil
	}
	errs := validateReplicas(object, v.Scale.StatusReplicasPath)
	if path := v.Scale.LabelSelectorPath; path != nil && *path != "" {
		selector, _, err := unstructured.NestedString(object.Object, fieldPath(*path)...)
		if err != nil {
			errs = append(errs, field.Invalid(field.NewPath(*path), selector, err.Error()))
		}
	}
	return errs
}

func validateReplicas(object *unstructured.Unstructured, path string) field.ErrorList {
	replicas, _, err := unstructured.NestedInt64(object.Object, fieldPath(path)...)
	switch {
	case err != nil:
		return field.ErrorList{field.Invalid(field.NewPath(path), replicas, err.Error())}
	case replicas < 0:
		return field.ErrorList{field.Invalid(field.NewPath(path), replicas, "should be a non-negative integer")}
	case replicas > math.MaxInt32:
		return field.ErrorList{field.Invalid(field.NewPath(path), replicas, fmt.Sprintf("should be less than or equal to %v", math.MaxInt32))}
	}
	return nil
}

// HasFields tells whether field selectors may ask for more than the name and namespace.
func (v *Version) HasFields() bool { return len(v.definition.SelectableFields) > 0 }

// Fields returns the values of an object that field selectors may ask for, besides the name and namespace.
func (v *Version) Fields(object *unstructured.Unstructured) fields.Set {
	set := fields.Set{}
	for _, selectable := range v.definition.SelectableFields {
		path := fieldPath(selectable.JSONPath)
		set[strings.Join(path, ".")] = ""
		if value, ok, err := unstructured.NestedFieldNoCopy(object.Object, path...); err == nil && ok && value != nil {
			set[strings.Join(path, ".")] = fmt.Sprint(value)
		}
	}
	return set
}
