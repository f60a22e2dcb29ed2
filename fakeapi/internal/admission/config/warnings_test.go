package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/config"
)

func TestWarnings(t *testing.T) {
	rule := func(groups, resources []string) admissionregistrationv1.RuleWithOperations {
		return admissionregistrationv1.RuleWithOperations{Rule: admissionregistrationv1.Rule{APIGroups: groups, Resources: resources}}
	}
	rules := func(rules ...admissionregistrationv1.RuleWithOperations) runtime.Object {
		return &admissionregistrationv1.MutatingWebhookConfiguration{Webhooks: []admissionregistrationv1.MutatingWebhook{{}, {Rules: rules}}}
	}
	authentication, authorization := "authentication.k8s.io", "authorization.k8s.io"
	for _, tt := range []struct {
		name   string
		object runtime.Object
		want   []string
	}{
		{name: "none", object: rules(rule([]string{""}, []string{"pods"}))},
		{
			name:   "a review",
			object: rules(rule([]string{""}, []string{"pods"}), rule([]string{authentication}, []string{"tokenreviews"})),
			want:   []string{"webhooks[1].rules[1]: tokenreviews.authentication.k8s.io is excluded from admission webhooks; this rule will have no effect"},
		},
		{
			name: "reviews of two groups, one named twice",
			object: rules(rule([]string{authorization, authentication, authorization},
				[]string{"subjectaccessreviews", "pods", "selfsubjectreviews"})),
			want: []string{
				"webhooks[1].rules[0]: subjectaccessreviews.authorization.k8s.io is excluded from admission webhooks; this rule will have no effect",
				"webhooks[1].rules[0]: selfsubjectreviews.authentication.k8s.io is excluded from admission webhooks; this rule will have no effect",
			},
		},
		{name: "a review beside a wildcard", object: rules(rule([]string{authentication}, []string{"tokenreviews", "*"}), rule([]string{"*"}, []string{"tokenreviews"}))},
		{
			name: "validating webhooks",
			object: &admissionregistrationv1.ValidatingWebhookConfiguration{Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Rules: []admissionregistrationv1.RuleWithOperations{rule([]string{authorization}, []string{"selfsubjectrulesreviews"})},
			}}},
			want: []string{"webhooks[0].rules[0]: selfsubjectrulesreviews.authorization.k8s.io is excluded from admission webhooks; this rule will have no effect"},
		},
		{
			name:   "reserved name",
			object: &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "a.static.k8s.io"}},
			want:   []string{`metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, config.Warnings(tt.object)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
