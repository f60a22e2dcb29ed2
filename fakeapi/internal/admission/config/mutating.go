package config

import (
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/cel"
)

var patchTypes = []admissionregistrationv1.PatchType{
	admissionregistrationv1.PatchTypeApplyConfiguration, admissionregistrationv1.PatchTypeJSONPatch,
}

// validateMutatingPolicy validates a policy; old is the stored one, nil on create.
func validateMutatingPolicy(policy, old *admissionregistrationv1.MutatingAdmissionPolicy) field.ErrorList {
	spec, path := &policy.Spec, field.NewPath("spec")
	stored := storedExpressions{}
	if old != nil {
		stored = storedInMutatingPolicy(old)
		stored.sameConditions = samePolicyConditions(spec.ParamKind, old.Spec.ParamKind, spec.MatchConditions, old.Spec.MatchConditions)
	}
	errs := validateMetadata(&policy.ObjectMeta)
	errs = append(errs, validatePolicyHead(spec.FailurePolicy, spec.ParamKind, spec.MatchConstraints, path)...)
	if spec.MatchConstraints != nil {
		errs = append(errs, validateMutatingOperations(spec.MatchConstraints.ResourceRules, path.Child("matchConstraints"))...)
	}
	params := spec.ParamKind != nil
	if !stored.sameConditions {
		errs = append(errs, validateMatchConditions(spec.MatchConditions, params, stored.conditions, path.Child("matchConditions"))...)
	}
	scope := cel.NewScope(params)
	errs = append(errs, validateVariables(spec.Variables, scope, nil, path.Child("variables"))...)
	if len(spec.Mutations) == 0 {
		errs = append(errs, field.Required(path.Child("mutations"), "mutations must contain at least one item"))
	}
	for i := range spec.Mutations {
		errs = append(errs, validateMutation(&spec.Mutations[i], scope, stored.applyConfigurations, path.Child("mutations").Index(i))...)
	}
	if spec.ReinvocationPolicy == "" {
		return append(errs, field.Required(path.Child("reinvocationPolicy"), ""))
	}
	return append(errs, validateOneOf(spec.ReinvocationPolicy, reinvocationPolicies, path.Child("reinvocationPolicy"))...)
}

func storedInMutatingPolicy(policy *admissionregistrationv1.MutatingAdmissionPolicy) storedExpressions {
	stored := storedExpressions{
		conditions:          storedConditions(policy.Spec.MatchConditions),
		applyConfigurations: sets.New[string](),
	}
	for _, m := range policy.Spec.Mutations {
		if m.ApplyConfiguration != nil {
			stored.applyConfigurations.Insert(m.ApplyConfiguration.Expression)
		}
	}
	return stored
}

func validateMutation(m *admissionregistrationv1.Mutation, scope *cel.Scope, stored sets.Set[string], path *field.Path) field.ErrorList {
	apply, patch := path.Child("applyConfiguration"), path.Child("jsonPatch")
	var errs field.ErrorList
	switch m.PatchType {
	case "":
		return field.ErrorList{field.Required(path.Child("patchType"), "")}
	case admissionregistrationv1.PatchTypeApplyConfiguration:
		if m.ApplyConfiguration == nil {
			errs = append(errs, field.Required(apply, "must be specified when patchType is ApplyConfiguration"))
		} else {
			errs = append(errs, validateMutationExpression(m.ApplyConfiguration.Expression, cel.ApplyConfiguration, scope, stored, apply.Child("expression"))...)
		}
		if m.JSONPatch != nil {
			errs = append(errs, field.Invalid(patch, "{jsonPatch}", "must not be specified when patchType is ApplyConfiguration"))
		}
		return errs
	case admissionregistrationv1.PatchTypeJSONPatch:
		if m.JSONPatch == nil {
			errs = append(errs, field.Required(patch, "must be specified when patchType is JSONPatch"))
		} else {
			// The API looks stored patches up among the stored apply configurations, so that they count as new.
			errs = append(errs, validateMutationExpression(m.JSONPatch.Expression, cel.JSONPatch, scope, stored, patch.Child("expression"))...)
		}
		if m.ApplyConfiguration != nil {
			errs = append(errs, field.Invalid(apply, "{applyConfiguration}", "must not be specified when patchType is JSONPatch"))
		}
		return errs
	default:
		return validateOneOf(m.PatchType, patchTypes, path.Child("patchType"))
	}
}

func validateMutationExpression(expression string, purpose cel.Purpose, scope *cel.Scope, stored sets.Set[string], path *field.Path) field.ErrorList {
	trimmed := strings.TrimSpace(expression)
	if trimmed == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return expressionErrors(scope.Compile(trimmed, purpose, mode(stored, expression)), path)
}
