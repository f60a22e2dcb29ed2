package config

import (
	"reflect"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/cel"
)

const maxMatchConditions = 64

// validateMatchConditions validates the match conditions of a webhook or policy; params says whether they may use
// params. Expressions in stored are compiled by the rules for stored expressions.
func validateMatchConditions(conditions []admissionregistrationv1.MatchCondition, params bool, stored sets.Set[string], path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(conditions) > maxMatchConditions {
		errs = append(errs, field.TooMany(path, len(conditions), maxMatchConditions))
	}
	for i, condition := range conditions {
		at := path.Index(i)
		if expression := strings.TrimSpace(condition.Expression); expression == "" {
			errs = append(errs, field.Required(at.Child("expression"), ""))
		} else {
			errs = append(errs, expressionErrors(cel.Compile(expression, cel.MatchCondition, params, mode(stored, expression)), at.Child("expression"))...)
		}
		if condition.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
			continue
		}
		errs = append(errs, validateQualifiedName(condition.Name, at.Child("name"))...)
		if slices.ContainsFunc(conditions[:i], func(c admissionregistrationv1.MatchCondition) bool { return c.Name == condition.Name }) {
			errs = append(errs, field.Duplicate(at.Child("name"), condition.Name))
		}
	}
	return errs
}

func sameConditions(a, b []admissionregistrationv1.MatchCondition) bool {
	return reflect.DeepEqual(a, b)
}

func mode(stored sets.Set[string], expression string) cel.Mode {
	if stored.Has(expression) {
		return cel.Stored
	}
	return cel.New
}

// expressionErrors reports an expression that does not compile.
func expressionErrors(expression *cel.Expression, path *field.Path) field.ErrorList {
	switch err := expression.Err; {
	case err == nil:
		return nil
	case err.Type == apiservercel.ErrorTypeInvalid:
		return field.ErrorList{field.Invalid(path, expression.Source, err.Detail)}
	default:
		return field.ErrorList{field.InternalError(path, err)}
	}
}
