package config

import (
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/jsonpath"
)

// ValidateStatusUpdate validates a write to the status subresource of a ValidatingAdmissionPolicy, the one kind that has
// it.
func ValidateStatusUpdate(obj runtime.Object) field.ErrorList {
	policy, ok := obj.(*admissionregistrationv1.ValidatingAdmissionPolicy)
	if !ok {
		return unknownKind(obj)
	}
	var errs field.ErrorList
	path := field.NewPath("status")
	if checking := policy.Status.TypeChecking; checking != nil {
		for i, warning := range checking.ExpressionWarnings {
			at := path.Child("typeChecking", "expressionWarnings").Index(i)
			if warning.Warning == "" {
				errs = append(errs, field.Required(at.Child("warning"), ""))
			}
			errs = append(errs, validateFieldRef(warning.FieldRef, at.Child("fieldRef"))...)
		}
	}
	return append(errs, metav1validation.ValidateConditions(policy.Status.Conditions, path.Child("conditions"))...)
}

func validateFieldRef(ref string, path *field.Path) field.ErrorList {
	ref = strings.TrimSpace(ref)
	if ref == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if err := jsonpath.New("spec").Parse(fmt.Sprintf("{%s}", ref)); err != nil {
		return field.ErrorList{field.Invalid(path, ref, fmt.Sprintf("invalid JSONPath: %v", err))}
	}
	return nil
}
