package policy_test

import (
	"context"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/config"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/policy"
)

type validatingCase = testCase[admissionregistrationv1.ValidatingAdmissionPolicySpec, admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec]

func validatingCases(t *testing.T) []validatingCase {
	return readTable[admissionregistrationv1.ValidatingAdmissionPolicySpec, admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec](t, "testdata/validating.yaml")
}

func validatingWorld(c *validatingCase) *world {
	return newWorld(c,
		func(w *world, meta metav1.ObjectMeta, spec admissionregistrationv1.ValidatingAdmissionPolicySpec) {
			if spec.MatchConstraints == nil {
				spec.MatchConstraints = everything()
			}
			p := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: spec}
			config.Default(p)
			w.validatingPolicies = append(w.validatingPolicies, p)
		},
		func(w *world, meta metav1.ObjectMeta, spec admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec) {
			spec.PolicyName = or(spec.PolicyName, "p")
			if spec.ValidationActions == nil {
				spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}
			}
			b := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: spec}
			config.Default(b)
			w.validatingBindings = append(w.validatingBindings, b)
		})
}

func options(w *world) policy.Options {
	return policy.Options{Namespaces: w, Policies: w, Params: w, Authorizer: mayRead}
}

func TestValidating(t *testing.T) {
	for _, c := range validatingCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			stage := policy.NewValidating(options(validatingWorld(&c)))
			c.check(t, c.run(t, func(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
				return stage.Validate(ctx, a, o, func(decision.Step) {})
			}))
		})
	}
}
