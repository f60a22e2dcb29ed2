package webhook

import (
	"net/http"
	"slices"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/exchange"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
)

// The load is of one review: another may be slow by itself. The largest objects may take their time.
func TestHalfTimeout(t *testing.T) {
	rules := timeRules()
	rule := rules[slices.IndexFunc(rules, func(r Rule) bool { return r.ID == "contract.time.half-timeout" })]
	timeout := int32(4)
	hook := &manifests.Hook{MutatingWebhook: admissionregistrationv1.MutatingWebhook{TimeoutSeconds: &timeout}}
	for name, tc := range map[string]struct {
		variant variant
		took    time.Duration
		p99     time.Duration
		found   int
	}{
		"quick":              {update, 2 * time.Second, 2 * time.Second, 0},
		"a slow review":      {update, 3 * time.Second, time.Second, 1},
		"a slow large one":   {large, 3 * time.Second, time.Second, 0},
		"slow under load":    {update, time.Second, 3 * time.Second, 1},
		"slow in both cases": {update, 3 * time.Second, 3 * time.Second, 2},
	} {
		t.Run(name, func(t *testing.T) {
			a := &attempt{hook: hook, variant: tc.variant, Exchange: &exchange.Exchange{
				Code: http.StatusOK, Took: tc.took, Answer: &exchange.Answer{Response: &admissionv1.AdmissionResponse{Allowed: true}},
			}}
			j := rule.judge(&record{attempts: []*attempt{a}, loads: []load{{hook: hook, concurrent: 8, reviews: 100, p99: tc.p99}}})
			if len(j.findings) != tc.found {
				t.Errorf("%d findings, want %d", len(j.findings), tc.found)
			}
		})
	}
}
