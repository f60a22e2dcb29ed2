package decision

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestExplain(t *testing.T) {
	configMaps := Request{
		User: "alice", Operation: "CREATE", Namespace: "default", Name: "probe",
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		Kind:     schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
	}
	call := &Call{
		URL: "https://127.0.0.1:8443/?timeout=10s", ReviewVersion: "v1", Status: 200, Duration: 3210 * time.Microsecond,
		Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
	}
	unanswered := &Call{URL: "https://x/", ReviewVersion: "v1beta1", Duration: 1234 * time.Millisecond, Kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}}
	tests := []struct {
		name   string
		record Record
		want   string
	}{
		{"nothing considered", Record{Request: configMaps, Allowed: true, AuditID: "id"}, `
CREATE configmaps default/probe (v1 ConfigMap) by alice: allowed [Audit-ID id]
  there was no webhook and no policy to consider`},
		{"the mutating half", Record{Request: configMaps, Allowed: true, Steps: []Step{
			{Attempt: 1, Phase: Mutating, Plugin: "MutatingAdmissionWebhook", Configuration: "a", Name: "first.example.com", Outcome: Skipped,
				Reason: "rules[0] wants resource pods, the request is for configmaps"},
			{Attempt: 1, Phase: Mutating, Plugin: "MutatingAdmissionWebhook", Configuration: "a", Name: "second.example.com", Outcome: Allowed,
				Matched: "rules[1]", Reason: "rules[1] matches", Call: call, Changes: []string{`add /metadata/labels/a "1"`}, Warnings: []string{"careful"}},
			{Attempt: 1, Phase: Mutating, Round: 1, Plugin: "MutatingAdmissionWebhook", Configuration: "a", Name: "second.example.com", Outcome: Allowed,
				Matched: "rules[1]", Reason: "rules[1] matches", Call: call, Reinvoked: "policy p changed the object"},
			{Attempt: 1, Phase: Mutating, Round: 1, Plugin: "MutatingAdmissionPolicy", Configuration: "p", Name: "b", Outcome: Skipped, Reason: "matchConditions[x] is false"},
		}}, `
CREATE configmaps default/probe (v1 ConfigMap) by alice: allowed
  mutating
    webhook first.example.com (configuration a): not called: rules[0] wants resource pods, the request is for configmaps
    webhook second.example.com (configuration a): called (rules[1] matches): changed the object
      POST https://127.0.0.1:8443/?timeout=10s, a v1 review of v1 ConfigMap: 200 after 3.2ms
      change: add /metadata/labels/a "1"
      warning: careful
  mutating, second round
    webhook second.example.com (configuration a): called again, because policy p changed the object (rules[1] matches): allowed the request
      POST https://127.0.0.1:8443/?timeout=10s, a v1 review of v1 ConfigMap: 200 after 3.2ms
    policy p (binding b): does not apply: matchConditions[x] is false`},
		{"refusals", Record{Error: "no", Request: Request{
			Operation: "UPDATE", Name: "n", Namespace: "n", DryRun: true, Subresource: "status",
			Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
			Kind:     schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		}, Steps: []Step{
			{Attempt: 2, Phase: Mutating, Plugin: "NamespaceLifecycle", Outcome: Denied, Reason: "gone"},
			{Attempt: 2, Phase: Validating, Plugin: "ValidatingAdmissionPolicy", Configuration: "p", Outcome: Failed, Reason: "no binding"},
			{Attempt: 2, Phase: Validating, Plugin: "ValidatingAdmissionPolicy", Configuration: "p", Name: "b", Outcome: Denied, Reason: "bad", Evaluations: []Evaluation{
				{Expression: "spec.matchConditions[0].expression", Result: True},
				{Expression: "spec.validations[0].expression", Param: "ns/p", Result: False, Parts: []Part{
					{Expression: "object.spec.replicas <= params.max", Filled: "7 <= 5", Value: "false"}, {Expression: "has(object.x)", Value: "true"},
				}},
				{Expression: "spec.validations[1].expression", Result: Error, Parts: []Part{{Expression: "object.y == 1", Value: "no such key: y", Failed: true}}},
				{Expression: "spec.validations[1].expression", Result: Error, Parts: []Part{{Expression: "object.y == 1", Value: "no such key: y", Failed: true}}}, // told once
			}},
			{Attempt: 2, Phase: Validating, Plugin: "ValidatingAdmissionWebhook", Configuration: "c", Name: "w", Matched: "rules[0]", Outcome: Denied, Reason: "no", Call: call},
			{Attempt: 2, Phase: Validating, Plugin: "ValidatingAdmissionWebhook", Configuration: "c", Name: "x", Matched: "rules[0]", Outcome: FailedOpen, Reason: "refused", Call: unanswered},
			{Attempt: 2, Phase: Validating, Plugin: "ValidatingAdmissionWebhook", Configuration: "c", Name: "y", Matched: "rules[0]", Outcome: Failed, Reason: "no dry run"},
		}}, `
UPDATE deployments.apps/status n (apps/v1 Deployment), a dry run: refused: no
  mutating, attempt 2
    NamespaceLifecycle: checked: denied the request: gone
  validating, attempt 2
    policy p: applied: failed, and so the request was refused: no binding
    policy p (binding b): applied: denied the request: bad
      param ns/p: validations[0].expression: object.spec.replicas <= params.max: 7 <= 5 is false
      param ns/p: validations[0].expression: has(object.x) is true
      validations[1].expression: object.y == 1 failed: no such key: y
    webhook w (configuration c): called: denied the request: no
      POST https://127.0.0.1:8443/?timeout=10s, a v1 review of v1 ConfigMap: 200 after 3.2ms
      called because rules[0] matches
    webhook x (configuration c): called: failed, and failurePolicy Ignore lets the request pass: refused
      POST https://x/, a v1beta1 review of apps/v1 Deployment: no answer after 1.23s
      called because rules[0] matches
    webhook y (configuration c): not called: failed, and so the request was refused: no dry run`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Explain(tt.record); got != strings.TrimPrefix(tt.want, "\n") {
				t.Errorf("got\n%s\nwant%s", got, tt.want)
			}
		})
	}
}
