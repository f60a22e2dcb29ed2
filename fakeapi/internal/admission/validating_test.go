package admission_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

func TestValidatingWebhooks(t *testing.T) {
	type hooks = []*admissionregistrationv1.ValidatingWebhookConfiguration
	broken := func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse { return nil }
	failingOpen := func(w *admissionregistrationv1.ValidatingWebhook) {
		w.FailurePolicy = ptr(admissionregistrationv1.Ignore)
	}
	erring := func(w *admissionregistrationv1.ValidatingWebhook) {
		w.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "broken", Expression: "object.metadata.labels.missing == 'x'"}}
	}
	slow := func(then answer) answer {
		return func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			time.Sleep(20 * time.Millisecond)
			return then(r)
		}
	}
	tests := []struct {
		name    string
		answers map[string]answer
		hooks   func(s *hookServer) hooks
		calls   []string // in any order
		err     string
		code    int32
		steps   []string
	}{
		{
			name:    "all allow",
			answers: map[string]answer{"a": allow, "b": allow},
			hooks:   func(s *hookServer) hooks { return hooks{s.validating("a"), s.validating("b")} },
			calls:   []string{"a", "b"},
			steps:   []string{"allowed 0 a.example.com", "allowed 0 b.example.com"},
		},
		{
			name:    "all are called though one denies, and the first denial in order is told",
			answers: map[string]answer{"a": allow, "b": slow(deny("b")), "c": deny("c"), "d": allow},
			hooks: func(s *hookServer) hooks {
				return hooks{s.validating("a"), s.validating("b"), s.validating("c"), s.validating("d")}
			},
			calls: []string{"a", "b", "c", "d"},
			err:   `admission webhook "b.example.com" denied the request: b`, code: 403,
			steps: []string{"allowed 0 a.example.com", "denied 0 b.example.com", "denied 0 c.example.com", "allowed 0 d.example.com"},
		},
		{
			name:    "failing open masks no denial",
			answers: map[string]answer{"a": broken, "b": deny("no")},
			hooks:   func(s *hookServer) hooks { return hooks{s.validating("a", failingOpen), s.validating("b")} },
			calls:   []string{"a", "b"},
			err:     "denied the request: no", code: 403,
			steps: []string{"failed-open 0 a.example.com", "denied 0 b.example.com"},
		},
		{
			name:    "a failure refuses",
			answers: map[string]answer{"a": broken},
			hooks:   func(s *hookServer) hooks { return hooks{s.validating("a")} },
			calls:   []string{"a"},
			err:     `Internal error occurred: failed calling webhook "a.example.com": failed to call webhook:`, code: 500,
		},
		{
			name:    "a failing match condition refuses before any call",
			answers: map[string]answer{"a": allow, "b": allow},
			hooks:   func(s *hookServer) hooks { return hooks{s.validating("a"), s.validating("b", erring)} },
			err:     "is forbidden: expression", code: 403,
			steps: []string{"skipped 0 a.example.com", "failed 0 b.example.com"},
		},
		{
			name:    "a patch is an invalid answer",
			answers: map[string]answer{"a": patch(`[]`)},
			hooks:   func(s *hookServer) hooks { return hooks{s.validating("a")} },
			calls:   []string{"a"},
			err:     "received invalid webhook response: validating webhook may not return response.patch", code: 500,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := newHookServer(t, tt.answers)
			got := run(t, newChain(t, &sources{validating: tt.hooks(server)}), request{object: configMap()})
			if (got.err != nil) != (tt.err != "") || !strings.Contains(errorText(got.err), tt.err) || codeOf(got.err) != tt.code {
				t.Errorf("error %d %v, want %d %q", codeOf(got.err), got.err, tt.code, tt.err)
			}
			if calls := slices.Sorted(slices.Values(server.called())); !slices.Equal(calls, tt.calls) {
				t.Errorf("called %v, want %v", calls, tt.calls)
			}
			if steps := stepsOf(got.record); tt.steps != nil && !slices.Equal(steps, tt.steps) {
				t.Errorf("steps %q\nwant %q", steps, tt.steps)
			}
		})
	}
}
