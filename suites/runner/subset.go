package runner

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/gatehouse-dev/gatehouse/reports"
)

// subset lists where actual is not what expected asks for: every field of an expected map must be there with that
// value, lists must be equal in length and their elements must match in order, null means that the field must be
// absent, and anything else must be equal. Both are JSON values as normalize returns them; path names the place in the
// failures.
func subset(path string, expected, actual any) []reports.Failure {
	switch want := expected.(type) {
	case map[string]any:
		got, ok := actual.(map[string]any)
		if !ok {
			return []reports.Failure{differs(path, "should be a map", expected, actual)}
		}
		return subsetOfMap(path, want, got)
	case []any:
		got, ok := actual.([]any)
		if !ok {
			return []reports.Failure{differs(path, "should be a list", expected, actual)}
		}
		return subsetOfList(path, want, got)
	default:
		if !equalScalars(expected, actual) {
			return []reports.Failure{differs(path, "has another value", expected, actual)}
		}
		return nil
	}
}

func subsetOfMap(path string, expected, actual map[string]any) []reports.Failure {
	var failures []reports.Failure
	for _, key := range slices.Sorted(maps.Keys(expected)) {
		want, at := expected[key], child(path, key)
		got, there := actual[key]
		switch {
		case want == nil && got == nil: // a field that is null is as good as absent
		case want == nil:
			failures = append(failures, reports.Failure{Path: at, Message: "should be absent", Actual: toYAML(got)})
		case !there:
			failures = append(failures, reports.Failure{Path: at, Message: "is absent", Expected: toYAML(want)})
		default:
			failures = append(failures, subset(at, want, got)...)
		}
	}
	return failures
}

func subsetOfList(path string, expected, actual []any) []reports.Failure {
	if len(expected) != len(actual) {
		return []reports.Failure{differs(path, fmt.Sprintf("should have %d elements and has %d", len(expected), len(actual)), expected, actual)}
	}
	var failures []reports.Failure
	for i := range expected {
		failures = append(failures, subset(fmt.Sprintf("%s[%d]", path, i), expected[i], actual[i])...)
	}
	return failures
}

// equalScalars compares two JSON scalars; numbers are equal by value, whether written as integers or not.
func equalScalars(a, b any) bool {
	switch x := a.(type) {
	case int64:
		if y, ok := b.(float64); ok {
			return float64(x) == y
		}
	case float64:
		if y, ok := b.(int64); ok {
			return x == float64(y)
		}
	}
	return a == b
}

func differs(path, message string, expected, actual any) reports.Failure {
	return reports.Failure{Path: path, Message: message, Expected: toYAML(expected), Actual: toYAML(actual)}
}

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// child is the path of a map's field.
func child(path, key string) string {
	if !plainKey.MatchString(key) {
		return fmt.Sprintf("%s[%q]", path, key)
	}
	return path + "." + key
}

// normalize returns v as the JSON decoder gives it: maps, lists, strings, booleans, nil, int64 and float64.
func normalize(v any) (any, error) {
	data, err := utiljson.Marshal(v)
	if err != nil {
		return nil, err
	}
	return decodeJSON(data)
}

// decodeJSON decodes a JSON value with whole numbers as int64.
func decodeJSON(data []byte) (any, error) {
	var v any
	if err := utiljson.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	return v, nil
}
