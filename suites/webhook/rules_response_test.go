package webhook

import (
	"net/http"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/exchange"
)

// API servers show users the message of a denial, and the reason where there is none.
func TestDenialHasExplanation(t *testing.T) {
	rules := responseRules()
	rule := rules[slices.IndexFunc(rules, func(r Rule) bool { return r.ID == "contract.response.denial-has-explanation" })]
	for name, tc := range map[string]struct {
		result *metav1.Status
		found  int
	}{
		"no status":      {nil, 1},
		"a code alone":   {&metav1.Status{Code: http.StatusForbidden}, 1},
		"white space":    {&metav1.Status{Message: " "}, 1},
		"a message":      {&metav1.Status{Message: "no label"}, 0},
		"a reason alone": {&metav1.Status{Reason: "the label is missing"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			denied := &attempt{variant: create, Exchange: &exchange.Exchange{
				Code: http.StatusOK, Answer: &exchange.Answer{Response: &admissionv1.AdmissionResponse{Result: tc.result}},
			}}
			j := rule.judge(&record{attempts: []*attempt{denied}})
			if j.looked != 1 || len(j.findings) != tc.found {
				t.Errorf("looked at %d, %d findings; want 1, %d", j.looked, len(j.findings), tc.found)
			}
		})
	}
}
