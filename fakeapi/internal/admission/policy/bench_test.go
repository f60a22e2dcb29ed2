package policy_test

import (
	"context"
	"fmt"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/policy"
)

// BenchmarkValidate measures one request under policies that all match, here and in the API server's own plugin.
func BenchmarkValidate(b *testing.B) {
	for _, matching := range []int{1, 50} {
		c := validatingCase{}
		for i := range matching {
			c.Policies = append(c.Policies, named[admissionregistrationv1.ValidatingAdmissionPolicySpec]{
				Name: fmt.Sprintf("p%d", i),
				Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{Validations: []admissionregistrationv1.Validation{
					{Expression: "object.metadata.?name.orValue('') != 'sentinel'"},
					{Expression: "has(object.data) && object.data.all(key, key.matches('^[a-z]+$') && object.data[key].size() < 1000)"},
				}},
			})
			c.Bindings = append(c.Bindings, named[admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec]{
				Name: fmt.Sprintf("b%d", i),
				Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: fmt.Sprintf("p%d", i)},
			})
		}
		w := validatingWorld(&c)
		stage := policy.NewValidating(options(w))
		plugin, err := validating.NewPlugin(nil)
		if err != nil {
			b.Fatal(err)
		}
		start(b, plugin.Plugin, w)
		for _, s := range []struct {
			name     string
			validate func(context.Context, admission.Attributes, admission.ObjectInterfaces) error
		}{
			{"ours", func(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
				return stage.Validate(ctx, a, o, func(...decision.Step) {})
			}},
			{"upstream", plugin.Validate},
		} {
			b.Run(fmt.Sprintf("%s,matching=%d", s.name, matching), func(b *testing.B) {
				b.ReportAllocs()
				interfaces := admission.NewObjectInterfacesFromScheme(scheme.Scheme)
				request := func() {
					if err := s.validate(b.Context(), c.attributes(b), interfaces); err != nil {
						b.Fatal(err)
					}
				}
				request() // compiles the policies
				for b.Loop() {
					request()
				}
			})
		}
	}
}
