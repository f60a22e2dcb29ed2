package policy_test

import (
	"context"
	"sync"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"

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
	return policy.Options{Namespaces: w, Policies: w, Params: w, Authorizer: mayRead, TypeConverter: typeConverter}
}

var schemas = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(scheme.Scheme) })

func typeConverter(schema.GroupVersionKind) managedfields.TypeConverter { return schemas() }

func TestValidating(t *testing.T) {
	for _, c := range validatingCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			stage := policy.NewValidating(options(validatingWorld(&c)))
			c.check(t, c.run(t, func(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
				return stage.Validate(ctx, a, o, func(...decision.Step) {})
			}))
		})
	}
}

// TestConcurrentRequests has many requests compile and evaluate the same policies.
func TestConcurrentRequests(t *testing.T) {
	for _, c := range validatingCases(t) {
		if c.Name != "message expression" && c.Name != "params by selector, all must pass" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			stage := policy.NewValidating(options(validatingWorld(&c)))
			var running sync.WaitGroup
			for range 8 {
				running.Go(func() {
					c.check(t, c.run(t, func(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
						return stage.Validate(ctx, a, o, func(...decision.Step) {})
					}))
				})
			}
			running.Wait()
		})
	}
}
