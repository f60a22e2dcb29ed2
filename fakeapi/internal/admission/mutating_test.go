package admission_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
)

func TestMutatingWebhooks(t *testing.T) {
	type hooks = []*admissionregistrationv1.MutatingWebhookConfiguration
	tests := []struct {
		name    string
		answers map[string]answer
		hooks   func(s *hookServer) hooks
		request request
		calls   []string
		labels  map[string]string
		err     string // part of the message; empty for none
		code    int32
		steps   []string // outcome, round and name of the steps
	}{
		{
			name:    "each sees what the ones before it changed, and all changes stay",
			answers: map[string]answer{"a": label("a", "1"), "b": when("a", "1", label("b", "1"))},
			hooks:   func(s *hookServer) hooks { return hooks{s.mutating("a"), s.mutating("b")} },
			calls:   []string{"a", "b"},
			labels:  map[string]string{"a": "1", "b": "1"},
		},
		{
			name:    "the first refusal ends it",
			answers: map[string]answer{"a": deny("no"), "b": allow},
			hooks:   func(s *hookServer) hooks { return hooks{s.mutating("a"), s.mutating("b")} },
			calls:   []string{"a"},
			err:     `admission webhook "a.example.com" denied the request: no`, code: 403,
			steps: []string{"denied 0 a.example.com"},
		},
		{
			name:    "the object selector sees earlier changes",
			answers: map[string]answer{"a": label("color", "red"), "b": allow, "c": allow},
			hooks: func(s *hookServer) hooks {
				return hooks{s.mutating("a"), s.mutating("b", selecting("color", "red")), s.mutating("c", selecting("color", "blue"))}
			},
			calls: []string{"a", "b"},
			steps: []string{"allowed 0 a.example.com", "allowed 0 b.example.com", "skipped 0 c.example.com",
				"skipped 1 a.example.com", "skipped 1 b.example.com"},
		},
		{
			name:    "match conditions see earlier changes",
			answers: map[string]answer{"a": label("color", "red"), "b": allow, "c": allow},
			hooks: func(s *hookServer) hooks {
				return hooks{s.mutating("a"),
					s.mutating("b", condition("red", "object.metadata.labels.color == 'red'")),
					s.mutating("c", condition("any", "true"), condition("blue", "object.metadata.labels.color == 'blue'"))}
			},
			calls: []string{"a", "b"},
		},
		{
			name:    "a failing match condition refuses",
			answers: map[string]answer{"a": allow},
			hooks: func(s *hookServer) hooks {
				return hooks{s.mutating("a", condition("broken", "object.metadata.labels.missing == 'x'"))}
			},
			err: `configmaps "probe" is forbidden: expression 'object.metadata.labels.missing == 'x'' resulted in error: no such key: missing`, code: 403,
			steps: []string{"failed 0 a.example.com"},
		},
		{
			name:    "a failing match condition is skipped with Ignore",
			answers: map[string]answer{"a": allow},
			hooks: func(s *hookServer) hooks {
				return hooks{s.mutating("a", ignoring, condition("broken", "object.metadata.labels.missing == 'x'"))}
			},
			steps: []string{"skipped 0 a.example.com"},
		},
		{
			name:    "a failure refuses with Fail",
			answers: map[string]answer{"a": func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse { return nil }, "b": allow},
			hooks:   func(s *hookServer) hooks { return hooks{s.mutating("a"), s.mutating("b")} },
			calls:   []string{"a"},
			err:     `Internal error occurred: failed calling webhook "a.example.com": failed to call webhook: an error on the server`, code: 500,
			steps: []string{"failed 0 a.example.com"},
		},
		{
			name:    "a failure is passed over with Ignore",
			answers: map[string]answer{"a": func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse { return nil }, "b": label("b", "1")},
			hooks:   func(s *hookServer) hooks { return hooks{s.mutating("a", ignoring), s.mutating("b")} },
			calls:   []string{"a", "b"},
			labels:  map[string]string{"b": "1"},
			steps: []string{"failed-open 0 a.example.com", "allowed 0 b.example.com",
				"skipped 1 a.example.com", "skipped 1 b.example.com"},
		},
		{
			name:    "Ignore does not cover a denial",
			answers: map[string]answer{"a": deny("no")},
			hooks:   func(s *hookServer) hooks { return hooks{s.mutating("a", ignoring)} },
			calls:   []string{"a"},
			err:     "denied the request: no", code: 403,
		},
		{
			name:    "Ignore does not cover a patch that does not apply",
			answers: map[string]answer{"a": patch(`[{"op":"remove","path":"/data/missing"}]`)},
			hooks:   func(s *hookServer) hooks { return hooks{s.mutating("a", ignoring)} },
			calls:   []string{"a"},
			err:     "Internal error occurred: ", code: 500,
			steps: []string{"failed 0 a.example.com"},
		},
		{
			name:    "Ignore covers a patch that cannot be decoded",
			answers: map[string]answer{"a": patch(`{}`)},
			hooks:   func(s *hookServer) hooks { return hooks{s.mutating("a", ignoring)} },
			calls:   []string{"a"},
			steps:   []string{"failed-open 0 a.example.com"},
		},
		{
			name:    "a patch of a deletion refuses",
			answers: map[string]answer{"a": patch(`[{"op":"test","path":"/x","value":1}]`)},
			hooks:   func(s *hookServer) hooks { return hooks{s.mutating("a", ignoring)} },
			request: request{operation: admission.Delete, old: configMap()},
			calls:   []string{"a"},
			err:     `admission webhook "a.example.com" attempted to modify the object, which is not supported for this operation`, code: 500,
		},
		{
			name:    "an empty patch of a deletion is fine",
			answers: map[string]answer{"a": patch(`[]`)},
			hooks:   func(s *hookServer) hooks { return hooks{s.mutating("a")} },
			request: request{operation: admission.Delete, old: configMap()},
			calls:   []string{"a"},
		},
		{
			name:    "a dry run is refused by side effects, whatever the failure policy",
			answers: map[string]answer{"a": allow},
			hooks: func(s *hookServer) hooks {
				return hooks{s.mutating("a", ignoring, sideEffects(admissionregistrationv1.SideEffectClassSome))}
			},
			request: request{object: configMap(), dryRun: true},
			err:     `admission webhook "a.example.com" does not support dry run`, code: 400,
		},
		{
			name:    "a dry run passes side effects that do not match",
			answers: map[string]answer{"a": allow},
			hooks: func(s *hookServer) hooks {
				return hooks{s.mutating("a", sideEffects(admissionregistrationv1.SideEffectClassUnknown), condition("no", "false"))}
			},
			request: request{object: configMap(), dryRun: true},
		},
		{
			name:    "a dry run calls NoneOnDryRun",
			answers: map[string]answer{"a": allow},
			hooks: func(s *hookServer) hooks {
				return hooks{s.mutating("a", sideEffects(admissionregistrationv1.SideEffectClassNoneOnDryRun))}
			},
			request: request{object: configMap(), dryRun: true},
			calls:   []string{"a"},
		},

		// The second round.
		{
			name:    "IfNeeded is called again after a later change",
			answers: map[string]answer{"a": allow, "b": label("b", "1")},
			hooks:   func(s *hookServer) hooks { return hooks{s.mutating("a", ifNeeded), s.mutating("b")} },
			calls:   []string{"a", "b", "a"},
			labels:  map[string]string{"b": "1"},
			steps:   []string{"allowed 0 a.example.com", "allowed 0 b.example.com", "allowed 1 a.example.com", "skipped 1 b.example.com"},
		},
		{
			name:    "Never is not",
			answers: map[string]answer{"a": allow, "b": label("b", "1")},
			hooks:   func(s *hookServer) hooks { return hooks{s.mutating("a"), s.mutating("b")} },
			calls:   []string{"a", "b"},
		},
		{
			name:    "its own change does not count",
			answers: map[string]answer{"a": label("a", "1")},
			hooks:   func(s *hookServer) hooks { return hooks{s.mutating("a", ifNeeded)} },
			calls:   []string{"a"},
		},
		{
			name:    "an earlier change does not count",
			answers: map[string]answer{"a": label("a", "1"), "b": allow},
			hooks:   func(s *hookServer) hooks { return hooks{s.mutating("a"), s.mutating("b", ifNeeded)} },
			calls:   []string{"a", "b"},
		},
		{
			name:    "a patch that changes nothing does not count",
			answers: map[string]answer{"a": allow, "b": patch(`[{"op":"add","path":"/metadata/name","value":"probe"}]`)},
			hooks:   func(s *hookServer) hooks { return hooks{s.mutating("a", ifNeeded), s.mutating("b")} },
			calls:   []string{"a", "b"},
		},
		{
			name:    "a change in the second round is passed on, but there is no third",
			answers: map[string]answer{"a": label("x", "a"), "b": label("x", "b")},
			hooks:   func(s *hookServer) hooks { return hooks{s.mutating("a", ifNeeded), s.mutating("b", ifNeeded)} },
			calls:   []string{"a", "b", "a", "b"},
			labels:  map[string]string{"x": "b"},
		},
		{
			name:    "the last one is not called again when the second round changed nothing",
			answers: map[string]answer{"a": label("a", "1"), "b": label("b", "1")},
			hooks:   func(s *hookServer) hooks { return hooks{s.mutating("a", ifNeeded), s.mutating("b", ifNeeded)} },
			calls:   []string{"a", "b", "a"},
		},
		{
			name:    "one skipped at first stays skipped",
			answers: map[string]answer{"a": allow, "b": label("color", "red")},
			hooks: func(s *hookServer) hooks {
				return hooks{s.mutating("a", ifNeeded, selecting("color", "red")), s.mutating("b")}
			},
			calls: []string{"b"},
			steps: []string{"skipped 0 a.example.com", "allowed 0 b.example.com", "skipped 1 a.example.com", "skipped 1 b.example.com"},
		},
		{
			name:    "one that no longer matches is not called again",
			answers: map[string]answer{"a": allow, "b": label("color", "blue")},
			hooks: func(s *hookServer) hooks {
				return hooks{s.mutating("a", ifNeeded, selecting("color", "red")), s.mutating("b")}
			},
			request: request{object: configMap("color", "red")},
			calls:   []string{"a", "b"},
			steps:   []string{"allowed 0 a.example.com", "allowed 0 b.example.com", "skipped 1 a.example.com", "skipped 1 b.example.com"},
		},
		{
			name:    "the second call may deny",
			answers: map[string]answer{"a": when("b", "1", deny("b is not allowed")), "b": label("b", "1")},
			hooks:   func(s *hookServer) hooks { return hooks{s.mutating("a", ifNeeded), s.mutating("b")} },
			calls:   []string{"a", "b", "a"},
			err:     "denied the request: b is not allowed", code: 403,
		},
		{
			name:    "one that failed open is called again",
			answers: map[string]answer{"a": func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse { return nil }, "b": label("b", "1")},
			hooks:   func(s *hookServer) hooks { return hooks{s.mutating("a", ifNeeded, ignoring), s.mutating("b")} },
			calls:   []string{"a", "b", "a"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := newHookServer(t, tt.answers)
			if tt.request.object == nil && tt.request.old == nil {
				tt.request.object = configMap()
			}
			got := run(t, newChain(t, &sources{mutating: tt.hooks(server)}), tt.request)
			if (got.err != nil) != (tt.err != "") || !strings.Contains(errorText(got.err), tt.err) || codeOf(got.err) != tt.code {
				t.Errorf("error %d %v, want %d %q", codeOf(got.err), got.err, tt.code, tt.err)
			}
			if calls := server.called(); !slices.Equal(calls, tt.calls) {
				t.Errorf("called %v, want %v", calls, tt.calls)
			}
			if tt.labels != nil {
				tt.labels["kept"] = "1"
				if diff := cmp.Diff(tt.labels, labelsOf(got.object)); diff != "" {
					t.Errorf("labels (-want +got):\n%s", diff)
				}
			}
			if steps := stepsOf(got.record); tt.steps != nil && !slices.Equal(steps, tt.steps) {
				t.Errorf("steps %q\nwant %q\n%s", steps, tt.steps, decision.Explain(got.record))
			}
			if got.record.Allowed != (tt.err == "") || got.record.AuditID != "audit-1" {
				t.Errorf("record %+v", got.record)
			}
		})
	}
}
