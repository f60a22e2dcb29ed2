package resource

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The rules that are checked of built-in kinds, besides those of metadata, are in the files validate_*.go: the ones that
// tests of controllers and of admission are likely to meet, with the causes of the real API server. Everything else is
// accepted. This file holds what they have in common.

const immutableMessage = apivalidation.FieldImmutableErrorMsg

// immutable refuses a change of a field.
func immutable(value, old any, path ...string) errorList {
	if equality.Semantic.DeepEqual(value, old) {
		return nil
	}
	return errorList{field.Invalid(field.NewPath(path[0], path[1:]...), value, immutableMessage)}
}

// immutableUnnamed is immutable for the fields of which the real API server does not tell the value.
func immutableUnnamed(value, old any, path ...string) errorList {
	if equality.Semantic.DeepEqual(value, old) {
		return nil
	}
	return errorList{field.Invalid(field.NewPath(path[0], path[1:]...), nil, immutableMessage)}
}

// invalid refuses a value for each of the messages.
func invalid(path *field.Path, value any, messages []string) errorList {
	var errs errorList
	for _, message := range messages {
		errs = append(errs, field.Invalid(path, value, message))
	}
	return errs
}

// required refuses an empty text.
func required(path *field.Path, value string) errorList {
	if value == "" {
		return errorList{field.Required(path, "")}
	}
	return nil
}

// validateOneOf refuses a value that is not in the list.
func validateOneOf[T ~string](path *field.Path, value T, supported ...T) errorList {
	if slices.Contains(supported, value) {
		return nil
	}
	return errorList{field.NotSupported(path, value, supported)}
}

// validateOptionalOneOf is validateOneOf for a value that may be absent.
func validateOptionalOneOf[T ~string](path *field.Path, value *T, supported ...T) errorList {
	if value == nil {
		return nil
	}
	return validateOneOf(path, *value, supported...)
}

// nonNegative refuses numbers below 0.
func nonNegative[T ~int32 | ~int64](path *field.Path, value T) errorList {
	if value >= 0 {
		return nil
	}
	return errorList{field.Invalid(path, value, apivalidation.IsNegativeErrorMsg)}
}

// optionalNonNegative is nonNegative for a number that may be absent.
func optionalNonNegative[T ~int32 | ~int64](path *field.Path, value *T) errorList {
	if value == nil {
		return nil
	}
	return nonNegative(path, *value)
}

// validatePort refuses numbers that are none of a port.
func validatePort(path *field.Path, port int32) errorList {
	return invalid(path, port, validation.IsValidPortNum(int(port)))
}

func validatePortOrName(port intstr.IntOrString, path *field.Path) errorList {
	if port.Type == intstr.String {
		return invalid(path, port.StrVal, validation.IsValidPortName(port.StrVal))
	}
	return invalid(path, port.IntValue(), validation.IsValidPortNum(port.IntValue()))
}

// countOrPercent refuses what is neither a number of things, 0 or more, nor a percentage of them.
func countOrPercent(path *field.Path, value intstr.IntOrString) errorList {
	if value.Type == intstr.String {
		return invalid(path, value, validation.IsValidPercent(value.StrVal))
	}
	return nonNegative(path, value.IntVal)
}

// atMostAll refuses more than 100%.
func atMostAll(path *field.Path, value intstr.IntOrString) errorList {
	if percent, ok := percentOf(value); ok && percent > 100 {
		return errorList{field.Invalid(path, value, "must not be greater than 100%")}
	}
	return nil
}

// percentOf is the number before the percent sign.
func percentOf(value intstr.IntOrString) (int, bool) {
	if value.Type != intstr.String || len(validation.IsValidPercent(value.StrVal)) > 0 {
		return 0, false
	}
	percent, err := intstr.GetScaledValueFromIntOrPercent(&value, 100, false)
	return percent, err == nil
}

// nothing tells whether a number or percentage is 0.
func nothing(value intstr.IntOrString) bool {
	if percent, ok := percentOf(value); ok {
		return percent == 0
	}
	return value.IntValue() == 0
}

// dnsLabel and dnsSubdomain refuse names that are none in the DNS.
func dnsLabel(path *field.Path, value string) errorList {
	return invalid(path, value, validation.IsDNS1123Label(value))
}

func dnsSubdomain(path *field.Path, value string) errorList {
	return invalid(path, value, validation.IsDNS1123Subdomain(value))
}

func qualifiedName(path *field.Path, value string) errorList {
	return invalid(path, value, validation.IsQualifiedName(value))
}

func validateLabelSelector(selector *metav1.LabelSelector, path *field.Path) errorList {
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path)
}

// sortedKeys makes the order of errors the same each time.
func sortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
