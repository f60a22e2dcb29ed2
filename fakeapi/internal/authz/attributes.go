package authz

import (
	"errors"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// attributes are what a review asks about, as the authorizer takes it. Exactly one of resource and nonResource is set.
func attributes(who user.Info, resource *authorizationv1.ResourceAttributes, nonResource *authorizationv1.NonResourceAttributes) authorizer.AttributesRecord {
	if resource == nil {
		return authorizer.AttributesRecord{User: who, Verb: nonResource.Verb, Path: nonResource.Path}
	}
	asked := authorizer.AttributesRecord{
		User:            who,
		Verb:            resource.Verb,
		Namespace:       resource.Namespace,
		APIGroup:        resource.Group,
		APIVersion:      resource.Version,
		Resource:        resource.Resource,
		Subresource:     resource.Subresource,
		Name:            resource.Name,
		ResourceRequest: true,
	}
	if asked.APIVersion == "" {
		asked.APIVersion = "*"
	}
	if selector := resource.LabelSelector; selector != nil {
		asked.LabelSelectorRequirements, asked.LabelSelectorParsingErr = labelRequirements(selector)
	}
	if selector := resource.FieldSelector; selector != nil {
		asked.FieldSelectorRequirements, asked.FieldSelectorParsingErr = fieldRequirements(selector)
	}
	return asked
}

// labelRequirements returns the requirements that can be parsed and an error for the others. Leaving some out asks for
// more than the user wanted, never for less.
func labelRequirements(selector *authorizationv1.LabelSelectorAttributes) (labels.Requirements, error) {
	if len(selector.Requirements) == 0 {
		parsed, err := labels.Parse(selector.RawSelector)
		if err != nil {
			return nil, err
		}
		requirements, _ := parsed.Requirements()
		return requirements, nil
	}
	operators := map[metav1.LabelSelectorOperator]selection.Operator{
		metav1.LabelSelectorOpIn:           selection.In,
		metav1.LabelSelectorOpNotIn:        selection.NotIn,
		metav1.LabelSelectorOpExists:       selection.Exists,
		metav1.LabelSelectorOpDoesNotExist: selection.DoesNotExist,
	}
	var (
		requirements labels.Requirements
		errs         []error
	)
	for _, expression := range selector.Requirements {
		operator, known := operators[expression.Operator]
		if !known {
			errs = append(errs, fmt.Errorf("%q is not a valid label selector operator", expression.Operator))
			continue
		}
		requirement, err := labels.NewRequirement(expression.Key, operator, expression.Values)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		requirements = append(requirements, *requirement)
	}
	return requirements, utilerrors.NewAggregate(errs)
}

// fieldRequirements returns the requirements that can be parsed and an error for the others. Field selectors know no
// sets: In and NotIn take one value.
func fieldRequirements(selector *authorizationv1.FieldSelectorAttributes) (fields.Requirements, error) {
	if len(selector.Requirements) == 0 {
		parsed, err := fields.ParseSelector(selector.RawSelector)
		if err != nil {
			return nil, err
		}
		return parsed.Requirements(), nil
	}
	operators := map[metav1.FieldSelectorOperator]selection.Operator{
		metav1.FieldSelectorOpIn:    selection.Equals,
		metav1.FieldSelectorOpNotIn: selection.NotEquals,
	}
	var (
		requirements fields.Requirements
		errs         []error
	)
	for _, expression := range selector.Requirements {
		operator, known := operators[expression.Operator]
		switch {
		case !known:
			errs = append(errs, fmt.Errorf("%q is not a valid field selector operator", expression.Operator))
		case len(expression.Values) != 1:
			errs = append(errs, errors.New("a field selector must have one value"))
		default:
			requirements = append(requirements, fields.Requirement{Field: expression.Key, Operator: operator, Value: expression.Values[0]})
		}
	}
	return requirements, utilerrors.NewAggregate(errs)
}

// evaluationError words what kept the authorizer from a full answer.
func evaluationError(err error, asked authorizer.AttributesRecord) string {
	var parts []string
	if err != nil {
		parts = append(parts, err.Error())
	}
	for _, selector := range []struct {
		name string
		kept int
		err  error
	}{
		{"fieldSelector", len(asked.FieldSelectorRequirements), asked.FieldSelectorParsingErr},
		{"labelSelector", len(asked.LabelSelectorRequirements), asked.LabelSelectorParsingErr},
	} {
		if selector.err == nil {
			continue
		}
		ignored := "ignored"
		if selector.kept > 0 {
			ignored = "partially ignored"
		}
		parts = append(parts, fmt.Sprintf("spec.resourceAttributes.%s %s due to parse error", selector.name, ignored))
	}
	return strings.Join(parts, "; ")
}

// written is how the real server writes the attributes in its messages.
type written struct{ Path, Verb string }

// validateOneOf demands exactly one of the two.
func validateOneOf(resource *authorizationv1.ResourceAttributes, nonResource *authorizationv1.NonResourceAttributes) field.ErrorList {
	if (resource == nil) != (nonResource == nil) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec"), (*written)(nonResource), "exactly one of nonResourceAttributes or resourceAttributes must be specified")}
}

// validateSelectors checks the selectors of attributes, which may be nil.
func validateSelectors(resource *authorizationv1.ResourceAttributes) field.ErrorList {
	if resource == nil {
		return nil
	}
	var errs field.ErrorList
	path := field.NewPath("spec", "resourceAttributes")
	if selector := resource.FieldSelector; selector != nil {
		at := path.Child("fieldSelector")
		errs = append(errs, validateSelectorForm(selector.RawSelector, len(selector.Requirements), at)...)
		for i, requirement := range selector.Requirements {
			errs = append(errs, metav1validation.ValidateFieldSelectorRequirement(requirement,
				metav1validation.FieldSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}, at.Child("requirements").Index(i))...)
		}
	}
	if selector := resource.LabelSelector; selector != nil {
		at := path.Child("labelSelector")
		errs = append(errs, validateSelectorForm(selector.RawSelector, len(selector.Requirements), at)...)
		for i, requirement := range selector.Requirements {
			errs = append(errs, metav1validation.ValidateLabelSelectorRequirement(requirement,
				metav1validation.LabelSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}, at.Child("requirements").Index(i))...)
		}
	}
	return errs
}

// validateSelectorForm demands exactly one of the two forms of a selector.
func validateSelectorForm(raw string, requirements int, path *field.Path) field.ErrorList {
	switch {
	case raw != "" && requirements > 0:
		return field.ErrorList{field.Invalid(path.Child("rawSelector"), raw, "may not specified at the same time as requirements")}
	case raw == "" && requirements == 0:
		return field.ErrorList{field.Required(path.Child("requirements"), fmt.Sprintf("when %s is specified, requirements or rawSelector is required", path))}
	default:
		return nil
	}
}
