package runner

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/fixtures/expr"
	"github.com/gatehouse-dev/gatehouse/reports"
)

// answer is what came back of a request, in the form that expectations and ${steps.ID.PATH} read.
type answer struct {
	code     int
	body     []byte
	object   any // the decoded body; nil when there is none or it is no JSON
	headers  map[string]any
	warnings []string
	auditID  string
	duration time.Duration
}

// variables are the CEL variables and the references that an answer gives.
func (a *answer) variables() map[string]any {
	warnings := make([]any, len(a.warnings))
	for i, w := range a.warnings {
		warnings[i] = w
	}
	return map[string]any{"object": a.object, "code": int64(a.code), "headers": a.headers, "warnings": warnings}
}

func (a *answer) succeeded() bool { return a.code < http.StatusBadRequest }

// field returns a string field of the answer's object; "" when there is none.
func (a *answer) field(path ...string) string {
	v := a.object
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	s, _ := v.(string)
	return s
}

// checkAnswer compares a response with what a step expects, calls, stored objects and audit events aside. An error says
// that the expectation itself is broken: a pattern or condition that cannot be compiled.
func checkAnswer(expect fixtures.Expect, a *answer) ([]reports.Failure, error) {
	var found findings
	found.add(checkOutcome(expect, a))
	if expect.Object != nil {
		expected, err := normalize(expect.Object)
		found.add(subset("expect.object", expected, a.object), err)
	}
	found.add(checkAsserts("expect.assert", expr.Step, expect.Assert, a.variables(), a.object))
	found.add(checkWarnings(expect.Warnings, a.warnings))
	return found.failures, found.err
}

// findings collects what several checks found, and the first error.
type findings struct {
	failures []reports.Failure
	err      error
}

func (f *findings) add(failures []reports.Failure, err error) {
	f.failures = append(f.failures, failures...)
	if f.err == nil {
		f.err = err
	}
}

func checkOutcome(expect fixtures.Expect, a *answer) ([]reports.Failure, error) {
	if expect.Error != nil {
		if a.succeeded() {
			return []reports.Failure{{
				Path: "expect.error", Message: fmt.Sprintf("the request should have failed and succeeded with code %d", a.code),
				Expected: toYAML(expect.Error),
			}}, nil
		}
		return checkError(expect.Error, a)
	}
	if !a.succeeded() {
		return []reports.Failure{{
			Path: "expect", Message: fmt.Sprintf("the request failed with code %d: %s", a.code, a.problem()), Actual: a.text(),
		}}, nil
	}
	if expect.Code != 0 && expect.Code != a.code {
		return []reports.Failure{differs("expect.code", fmt.Sprintf("the code is %d", a.code), expect.Code, a.code)}, nil
	}
	return nil, nil
}

// problem is what a failed request's answer says in one line.
func (a *answer) problem() string {
	if message := a.field("message"); message != "" {
		return message
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(a.body)), "\n")
	return line
}

// text is the answer's body as YAML, or as it came when it is no JSON.
func (a *answer) text() string {
	if a.object == nil {
		return string(a.body)
	}
	return toYAML(a.object)
}

func checkError(want *fixtures.ExpectError, a *answer) ([]reports.Failure, error) {
	var failures []reports.Failure
	if want.Code != 0 && want.Code != a.code {
		failures = append(failures, reports.Failure{
			Path: "expect.error.code", Message: fmt.Sprintf("the code is %d: %s", a.code, a.problem()), Expected: toYAML(want.Code), Actual: toYAML(a.code),
		})
	}
	status, err := decodeStatus(a)
	if err != nil {
		if want.Reason == "" && want.Message == "" && want.Details == nil && len(want.Causes) == 0 && !want.OnlyCauses {
			return failures, nil
		}
		return append(failures, reports.Failure{
			Path: "expect.error", Message: "the answer is no Status: " + err.Error(), Expected: toYAML(want), Actual: a.text(),
		}), nil
	}
	if want.Reason != "" && want.Reason != string(status.Reason) {
		failures = append(failures, differs("expect.error.reason", "the reason is "+string(status.Reason), want.Reason, status.Reason))
	}
	if want.Message != "" {
		pattern, err := regexp.Compile(want.Message)
		if err != nil {
			return nil, fmt.Errorf("expect.error.message: %w", err)
		}
		if !pattern.MatchString(status.Message) {
			failures = append(failures, differs("expect.error.message", "the message is "+status.Message, want.Message, status.Message))
		}
	}
	details, err := checkDetails(want, status.Details)
	return append(failures, details...), err
}

func decodeStatus(a *answer) (*metav1.Status, error) {
	object, ok := a.object.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it is no JSON object")
	}
	// The timeout filter of an API server writes a Status without its kind.
	if _, typed := object["kind"]; object["kind"] != "Status" && (typed || object["status"] != metav1.StatusFailure) {
		return nil, fmt.Errorf("its kind is %v", object["kind"])
	}
	status := &metav1.Status{}
	return status, runtime.DefaultUnstructuredConverter.FromUnstructured(object, status)
}

func checkDetails(want *fixtures.ExpectError, details *metav1.StatusDetails) ([]reports.Failure, error) {
	if details == nil {
		details = &metav1.StatusDetails{}
	}
	var failures []reports.Failure
	if want.Details != nil {
		expected, err := normalize(want.Details)
		if err != nil {
			return nil, fmt.Errorf("expect.error.details: %w", err)
		}
		actual, err := normalize(details)
		if err != nil {
			return nil, fmt.Errorf("the answer's details: %w", err)
		}
		failures = subset("expect.error.details", expected, actual)
	}
	causes, err := checkCauses(want, details.Causes)
	return append(failures, causes...), err
}

// checkCauses gives every expected cause a cause of its own.
func checkCauses(want *fixtures.ExpectError, causes []metav1.StatusCause) ([]reports.Failure, error) {
	patterns := make([]*regexp.Regexp, len(want.Causes))
	for i, cause := range want.Causes {
		pattern, err := regexp.Compile(cause.Message)
		if err != nil {
			return nil, fmt.Errorf("expect.error.causes[%d].message: %w", i, err)
		}
		patterns[i] = pattern
	}
	given := assign(len(want.Causes), len(causes), func(i, j int) bool {
		cause, got := want.Causes[i], causes[j]
		return (cause.Field == "" || cause.Field == got.Field) &&
			(cause.Reason == "" || cause.Reason == string(got.Type)) && patterns[i].MatchString(got.Message)
	})
	var failures []reports.Failure
	for i, j := range given {
		if j < 0 {
			failures = append(failures, differs(fmt.Sprintf("expect.error.causes[%d]", i), "there is no such cause", want.Causes[i], causes))
		}
	}
	if want.OnlyCauses && len(causes) > len(want.Causes) {
		failures = append(failures, differs("expect.error.onlyCauses", "there are other causes", want.Causes, causes))
	}
	return failures, nil
}

// checkWarnings compares the warnings with the expected patterns, in order; nil expects nothing of them.
func checkWarnings(expected, actual []string) ([]reports.Failure, error) {
	if expected == nil {
		return nil, nil
	}
	patterns := make([]*regexp.Regexp, len(expected))
	for i, text := range expected {
		pattern, err := whole(text)
		if err != nil {
			return nil, fmt.Errorf("expect.warnings[%d]: %w", i, err)
		}
		patterns[i] = pattern
	}
	if len(patterns) != len(actual) {
		return []reports.Failure{differs("expect.warnings", fmt.Sprintf("there should be %d warnings and there are %d", len(expected), len(actual)), expected, actual)}, nil
	}
	var failures []reports.Failure
	for i, pattern := range patterns {
		if !pattern.MatchString(actual[i]) {
			failures = append(failures, differs(fmt.Sprintf("expect.warnings[%d]", i), "the warning is "+actual[i], expected[i], actual[i]))
		}
	}
	return failures, nil
}

// whole compiles a pattern that must match a text from end to end.
func whole(pattern string) (*regexp.Regexp, error) { return regexp.Compile(`\A(?s:` + pattern + `)\z`) }

// toYAML writes a value for people to read.
func toYAML(v any) string {
	data, err := yaml.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%v (%v)", v, err)
	}
	return strings.TrimSuffix(string(data), "\n")
}
