package runner

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
)

// checkAudit compares the audit events of a request with what a step expects of them.
func (r *run) checkAudit(ctx context.Context, expect fixtures.Expect, auditID string) ([]reports.Failure, error) {
	if len(expect.AuditAnnotations) == 0 && expect.AuditEvent == nil {
		return nil, nil
	}
	if auditID == "" {
		return []reports.Failure{{Path: "expect", Message: "the answer has no Audit-ID header, by which its audit events could be found"}}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, auditTimeout)
	defer cancel()
	events, err := r.server.target.AuditEvents(ctx, auditID)
	if err != nil {
		return nil, fmt.Errorf("reading the request's audit events: %w", err)
	}
	var found findings
	found.add(checkAuditAnnotations(expect.AuditAnnotations, events))
	found.add(checkAuditEvent(expect.AuditEvent, events))
	return found.failures, found.err
}

// checkAuditAnnotations compares the annotations of a request's audit events, all stages together, with the expected.
func checkAuditAnnotations(expected map[string]fixtures.AuditValues, events []auditv1.Event) ([]reports.Failure, error) {
	annotations := map[string]string{}
	for _, e := range events {
		maps.Copy(annotations, e.Annotations)
	}
	var found findings
	for _, key := range slices.Sorted(maps.Keys(expected)) {
		found.add(checkAuditValues(child("expect.auditAnnotations", key), expected[key], annotations, numbered(annotations, key)))
	}
	return found.failures, found.err
}

// checkAuditValues compares the values of the annotations that have the keys, in order.
func checkAuditValues(at string, expected fixtures.AuditValues, annotations map[string]string, keys []string) ([]reports.Failure, error) {
	switch {
	case len(expected) == 0 && len(keys) > 0:
		return []reports.Failure{{Path: at, Message: "should be absent", Actual: toYAML(annotations)}}, nil
	case len(expected) > 0 && len(keys) == 0:
		return []reports.Failure{differs(at, "is absent", expected, annotations)}, nil
	case len(expected) != len(keys):
		return []reports.Failure{differs(at, fmt.Sprintf("there should be %d and there are %d", len(expected), len(keys)), expected, annotations)}, nil
	}
	var failures []reports.Failure
	for i, text := range expected {
		pattern, err := whole(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		if got := annotations[keys[i]]; !pattern.MatchString(got) {
			failures = append(failures, differs(at, keys[i]+" is "+got, text, got))
		}
	}
	return failures, nil
}

// numbered returns the keys that a key with numbers left open (*) stands for, in the order of the numbers.
func numbered(annotations map[string]string, key string) []string {
	pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(key), `\*`, `([0-9]+)`) + "$")
	numbers := map[string][]int{}
	for name := range annotations {
		parts := pattern.FindStringSubmatch(name)
		if parts == nil {
			continue
		}
		numbers[name] = nil
		for _, part := range parts[1:] {
			number, err := strconv.Atoi(part)
			if err != nil {
				break // beyond all numbers that count something
			}
			numbers[name] = append(numbers[name], number)
		}
	}
	return slices.SortedFunc(maps.Keys(numbers), func(a, b string) int {
		return cmp.Or(slices.Compare(numbers[a], numbers[b]), strings.Compare(a, b))
	})
}

// checkAuditEvent compares the last audit event of a request with the expected subset.
func checkAuditEvent(expected fixtures.Object, events []auditv1.Event) ([]reports.Failure, error) {
	if expected == nil {
		return nil, nil
	}
	const at = "expect.auditEvent"
	if len(events) == 0 {
		return []reports.Failure{{Path: at, Message: "the request has no audit event"}}, nil
	}
	want, err := normalize(expected)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	got, err := normalize(events[len(events)-1])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return subset(at, want, got), nil
}
