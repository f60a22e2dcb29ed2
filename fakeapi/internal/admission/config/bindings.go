package config

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	validationActions = []admissionregistrationv1.ValidationAction{
		admissionregistrationv1.Audit, admissionregistrationv1.Deny, admissionregistrationv1.Warn,
	}
	parameterNotFoundActions = []admissionregistrationv1.ParameterNotFoundActionType{
		admissionregistrationv1.DenyAction, admissionregistrationv1.AllowAction,
	}
)

// validateValidatingBinding validates a binding; old is the stored one, nil on create. Late errors are those that the API
// reports after all others.
func validateValidatingBinding(binding, old *admissionregistrationv1.ValidatingAdmissionPolicyBinding) (errs, late field.ErrorList) {
	spec, path := &binding.Spec, field.NewPath("spec")
	errs = validateMetadata(&binding.ObjectMeta)
	policyName, actions := path.Child("policyName"), path.Child("validationActions")
	switch {
	case spec.PolicyName != "":
		errs = append(errs, validatePolicyName(spec.PolicyName, policyName)...)
	case old != nil && old.Spec.PolicyName == "":
		errs = append(errs, field.Required(policyName, ""))
	default:
		late = append(late, field.Required(policyName, ""))
	}
	errs = append(errs, validateParamRef(spec.ParamRef, path.Child("paramRef"))...)
	errs = append(errs, validateMatchResources(spec.MatchResources, path.Child("matchResources"))...)
	switch {
	case len(spec.ValidationActions) > 0:
		errs = append(errs, validateActions(spec.ValidationActions, actions)...)
	case old != nil && len(old.Spec.ValidationActions) == 0:
		errs = append(errs, field.Required(actions, "at least one validation action is required"))
	default:
		late = append(late, field.Required(actions, ""))
	}
	return errs, late
}

func validateMutatingBinding(binding *admissionregistrationv1.MutatingAdmissionPolicyBinding) field.ErrorList {
	spec, path := &binding.Spec, field.NewPath("spec")
	errs := validateMetadata(&binding.ObjectMeta)
	if spec.PolicyName == "" {
		errs = append(errs, field.Required(path.Child("policyName"), ""))
	} else {
		errs = append(errs, validatePolicyName(spec.PolicyName, path.Child("policyName"))...)
	}
	errs = append(errs, validateParamRef(spec.ParamRef, path.Child("paramRef"))...)
	errs = append(errs, validateMatchResources(spec.MatchResources, path.Child("matchResources"))...)
	if spec.MatchResources != nil {
		errs = append(errs, validateMutatingOperations(spec.MatchResources.ResourceRules, path.Child("matchResources"))...)
	}
	return errs
}

func validatePolicyName(name string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, message := range apivalidation.NameIsDNSSubdomain(name, false) {
		errs = append(errs, field.Invalid(path, name, message))
	}
	return errs
}

// validateParamRef validates which params a binding selects. Nil is valid.
func validateParamRef(ref *admissionregistrationv1.ParamRef, path *field.Path) field.ErrorList {
	if ref == nil {
		return nil
	}
	const exclusive = "name and selector are mutually exclusive"
	var errs field.ErrorList
	if ref.Name != "" {
		for _, message := range content.IsPathSegmentName(ref.Name) {
			errs = append(errs, field.Invalid(path.Child("name"), ref.Name, message))
		}
		if ref.Selector != nil {
			errs = append(errs, field.Forbidden(path.Child("name"), exclusive))
		}
	}
	if ref.Selector != nil {
		errs = append(errs, validateSelector(ref.Selector, false, path.Child("selector"))...)
		if ref.Name != "" {
			errs = append(errs, field.Forbidden(path.Child("selector"), exclusive))
		}
	}
	if ref.Name == "" && ref.Selector == nil {
		errs = append(errs, field.Required(path, "one of name or selector must be specified"))
	}
	action := path.Child("parameterNotFoundAction")
	if ref.ParameterNotFoundAction == nil || *ref.ParameterNotFoundAction == "" {
		return append(errs, field.Required(action, ""))
	}
	return append(errs, validateOneOf(*ref.ParameterNotFoundAction, parameterNotFoundActions, action)...)
}

func validateActions(actions []admissionregistrationv1.ValidationAction, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, action := range actions {
		errs = append(errs, validateOneOf(action, validationActions, path.Index(i))...)
		if slices.Contains(actions[:i], action) {
			errs = append(errs, field.Duplicate(path.Index(i), action))
		}
	}
	if slices.Contains(actions, admissionregistrationv1.Deny) && slices.Contains(actions, admissionregistrationv1.Warn) {
		errs = append(errs, field.Invalid(path, actions, "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)"))
	}
	return errs
}
