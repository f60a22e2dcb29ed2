package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

func TestCheckAuditAnnotations(t *testing.T) {
	events := []auditv1.Event{
		{Stage: auditv1.StageRequestReceived, Annotations: map[string]string{"early": "1"}},
		{Stage: auditv1.StageResponseComplete, Annotations: map[string]string{
			"example.com/a": "1", "b": "two words", "round_0_index_9": "i", "round_0_index_10": "j", "round_1_index_3": "k",
		}},
	}
	type values = map[string]fixtures.AuditValues
	for name, test := range map[string]struct {
		expected values
		want     []string
	}{
		"there":             {values{"example.com/a": {"1"}, "b": {"two .*"}, "early": {"1"}}, nil},
		"another value":     {values{"b": {"two"}}, []string{"expect.auditAnnotations.b"}},
		"missing":           {values{"c": {".*"}}, []string{"expect.auditAnnotations.c"}},
		"absent":            {values{"c": nil}, nil},
		"should be missing": {values{"example.com/a": nil}, []string{`expect.auditAnnotations["example.com/a"]`}},
		"numbers in order":  {values{"round_*_index_*": {"i", "j", "k"}, "round_1_index_*": {"k"}}, nil},
		"another order":     {values{"round_0_index_*": {"j", "i"}}, []string{`expect.auditAnnotations["round_0_index_*"]`, `expect.auditAnnotations["round_0_index_*"]`}},
		"too few":           {values{"round_0_index_*": {"i"}}, []string{`expect.auditAnnotations["round_0_index_*"]`}},
		"no number":         {values{"b*": nil, "example.com/*": nil}, nil},
		"should be none":    {values{"round_1_index_*": nil}, []string{`expect.auditAnnotations["round_1_index_*"]`}},
	} {
		t.Run(name, func(t *testing.T) {
			failures, err := checkAuditAnnotations(test.expected, events)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, paths(failures)); diff != "" {
				t.Errorf("places that differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckAuditEvent(t *testing.T) {
	events := []auditv1.Event{
		{Stage: auditv1.StageRequestReceived},
		{Stage: auditv1.StageResponseComplete, Verb: "create", ResponseStatus: &metav1.Status{Code: 403, Message: "no"}},
	}
	for name, test := range map[string]struct {
		expected fixtures.Object
		events   []auditv1.Event
		want     []string
	}{
		"nothing expected": {nil, nil, nil},
		"the last":         {fixtures.Object{"stage": "ResponseComplete", "verb": "create", "requestObject": nil}, events, nil},
		"differs":          {fixtures.Object{"responseStatus": map[string]any{"code": 400, "message": "no"}}, events, []string{"expect.auditEvent.responseStatus.code"}},
		"none":             {fixtures.Object{"verb": "create"}, nil, []string{"expect.auditEvent"}},
	} {
		t.Run(name, func(t *testing.T) {
			failures, err := checkAuditEvent(test.expected, test.events)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, paths(failures)); diff != "" {
				t.Errorf("places that differ (-want +got):\n%s", diff)
			}
		})
	}
}
