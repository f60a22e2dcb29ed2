// Package config holds what the API server does to the objects of admissionregistration.k8s.io/v1 when they are written:
// defaults, validation and warnings. Field paths, causes and messages are those of the API.
package config

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate validates a new object, after defaulting. The errors are in the order in which the API reports them.
func Validate(obj runtime.Object) field.ErrorList {
	var errs, late field.ErrorList
	switch obj := obj.(type) {
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		errs = validateWebhooks(&obj.ObjectMeta, mutatingHooks(obj.Webhooks), nothingStored)
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		errs = validateWebhooks(&obj.ObjectMeta, validatingHooks(obj.Webhooks), nothingStored)
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		errs = validateValidatingPolicy(obj, nil)
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		errs = validateMutatingPolicy(obj, nil)
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		errs, late = validateValidatingBinding(obj, nil)
	case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
		errs = validateMutatingBinding(obj)
	default:
		return unknownKind(obj)
	}
	errs = append(errs, validateReservedName(obj.(metav1.Object).GetName())...)
	return append(once(errs), late...)
}

// once drops errors that say what an earlier one says.
func once(errs field.ErrorList) field.ErrorList { return errs.Filter() }

// ValidateUpdate validates the new state of an object against the stored one, which must be of the same kind. Faults that
// the stored object already has are accepted again where the API says so.
func ValidateUpdate(obj, old runtime.Object) field.ErrorList {
	var errs, late field.ErrorList
	switch obj := obj.(type) {
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		old := old.(*admissionregistrationv1.MutatingWebhookConfiguration)
		errs = updateWebhooks(&obj.ObjectMeta, mutatingHooks(obj.Webhooks), mutatingHooks(old.Webhooks))
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		old := old.(*admissionregistrationv1.ValidatingWebhookConfiguration)
		errs = updateWebhooks(&obj.ObjectMeta, validatingHooks(obj.Webhooks), validatingHooks(old.Webhooks))
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		errs = validateValidatingPolicy(obj, old.(*admissionregistrationv1.ValidatingAdmissionPolicy))
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		errs = validateMutatingPolicy(obj, old.(*admissionregistrationv1.MutatingAdmissionPolicy))
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		errs, late = validateValidatingBinding(obj, old.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding))
	case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
		errs = validateMutatingBinding(obj)
	default:
		return unknownKind(obj)
	}
	return append(once(errs), late...)
}

func unknownKind(obj runtime.Object) field.ErrorList {
	return field.ErrorList{field.InternalError(nil, fmt.Errorf("%T is not a kind of %s", obj, admissionregistrationv1.SchemeGroupVersion))}
}

func validateMetadata(meta *metav1.ObjectMeta) field.ErrorList {
	return apivalidation.ValidateObjectMeta(meta, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
}

// reservedSuffix ends the names of configurations that a server reads from files at its start.
const reservedSuffix = ".static.k8s.io"

var reservedName = fmt.Sprintf("names ending with %q are reserved for static manifest-based configurations and cannot be managed via the API", reservedSuffix)

func validateReservedName(name string) field.ErrorList {
	if !strings.HasSuffix(name, reservedSuffix) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), name, reservedName)}
}

func validateQualifiedName(name string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, message := range validation.IsQualifiedName(name) {
		errs = append(errs, field.Invalid(path, name, message))
	}
	return errs
}

// validateOneOf validates a field that holds one of a few words. The words are in the order in which messages list them.
func validateOneOf[T ~string](value T, words []T, path *field.Path) field.ErrorList {
	if slices.Contains(words, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, words)}
}

// validateOptionalOneOf is validateOneOf for a field that may be absent.
func validateOptionalOneOf[T ~string](value *T, words []T, path *field.Path) field.ErrorList {
	if value == nil {
		return nil
	}
	return validateOneOf(*value, words, path)
}

// validateRequiredOneOf is validateOneOf for a field that may not be absent.
func validateRequiredOneOf[T ~string](value *T, words []T, path *field.Path) field.ErrorList {
	if value == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	return validateOneOf(*value, words, path)
}

var (
	failurePolicies = []admissionregistrationv1.FailurePolicyType{
		admissionregistrationv1.Fail, admissionregistrationv1.Ignore,
	}
	matchPolicies = []admissionregistrationv1.MatchPolicyType{
		admissionregistrationv1.Equivalent, admissionregistrationv1.Exact,
	}
	reinvocationPolicies = []admissionregistrationv1.ReinvocationPolicyType{
		admissionregistrationv1.IfNeededReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy,
	}
	scopes = []admissionregistrationv1.ScopeType{
		admissionregistrationv1.AllScopes, admissionregistrationv1.ClusterScope, admissionregistrationv1.NamespacedScope,
	}
)
