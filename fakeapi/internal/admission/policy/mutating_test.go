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

type mutatingCase = testCase[admissionregistrationv1.MutatingAdmissionPolicySpec, admissionregistrationv1.MutatingAdmissionPolicyBindingSpec]

func mutatingCases(t *testing.T) []mutatingCase {
	return readTable[admissionregistrationv1.MutatingAdmissionPolicySpec, admissionregistrationv1.MutatingAdmissionPolicyBindingSpec](t, "testdata/mutating.yaml")
}

func mutatingWorld(c *mutatingCase) *world {
	return newWorld(c,
		func(w *world, meta metav1.ObjectMeta, spec admissionregistrationv1.MutatingAdmissionPolicySpec) {
			if spec.MatchConstraints == nil {
				spec.MatchConstraints = everything()
			}
			p := &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: meta, Spec: spec}
			config.Default(p)
			w.mutatingPolicies = append(w.mutatingPolicies, p)
		},
		func(w *world, meta metav1.ObjectMeta, spec admissionregistrationv1.MutatingAdmissionPolicyBindingSpec) {
			spec.PolicyName = or(spec.PolicyName, "p")
			b := &admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: spec}
			config.Default(b)
			w.mutatingBindings = append(w.mutatingBindings, b)
		})
}

// twice runs a mutating stage, and again if it asks for that, as the chain does.
func twice(admit func(context.Context, admission.Attributes, admission.ObjectInterfaces) error) func(context.Context, admission.Attributes, admission.ObjectInterfaces) error {
	return func(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
		if err := admit(ctx, a, o); err != nil {
			return err
		}
		if !a.GetReinvocationContext().ShouldReinvoke() {
			return nil
		}
		a.GetReinvocationContext().SetIsReinvoke()
		return admit(ctx, a, o)
	}
}

func TestMutating(t *testing.T) {
	for _, c := range mutatingCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			stage := policy.NewMutating(options(mutatingWorld(&c)))
			c.check(t, c.run(t, twice(func(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
				return stage.Admit(ctx, a, o, func(...decision.Step) {})
			})))
		})
	}
}
