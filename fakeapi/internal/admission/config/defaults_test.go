package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/config"
)

func TestDefault(t *testing.T) {
	const (
		webhook  = "failurePolicy: Fail, matchPolicy: Equivalent, namespaceSelector: {}, objectSelector: {}, timeoutSeconds: 10"
		matching = "matchPolicy: Equivalent, namespaceSelector: {}, objectSelector: {}"
		explicit = "failurePolicy: Ignore, matchPolicy: Exact, namespaceSelector: {matchLabels: {a: b}}, objectSelector: {matchLabels: {a: b}}, timeoutSeconds: 1"
	)
	for _, tt := range []struct {
		name      string
		kind      runtime.Object
		given     string
		defaulted string
	}{
		{
			"mutating webhook", &admissionregistrationv1.MutatingWebhookConfiguration{},
			"{webhooks: [{name: a}]}",
			"{webhooks: [{name: a, reinvocationPolicy: Never, " + webhook + "}]}",
		},
		{
			"validating webhook", &admissionregistrationv1.ValidatingWebhookConfiguration{},
			"{webhooks: [{name: a}, {name: b, namespaceSelector: null}]}",
			"{webhooks: [{name: a, " + webhook + "}, {name: b, " + webhook + "}]}",
		},
		{
			"rules and service", &admissionregistrationv1.ValidatingWebhookConfiguration{},
			"{webhooks: [{name: a, rules: [{}, {scope: Cluster}], clientConfig: {service: {name: n, namespace: ns}}}]}",
			"{webhooks: [{name: a, rules: [{scope: '*'}, {scope: Cluster}], clientConfig: {service: {name: n, namespace: ns, port: 443}}, " + webhook + "}]}",
		},
		{
			"mutating webhook, explicit", &admissionregistrationv1.MutatingWebhookConfiguration{},
			"{webhooks: [{name: a, reinvocationPolicy: IfNeeded, clientConfig: {service: {name: n, namespace: ns, port: 1, path: /}}, " + explicit + "}]}",
			"{webhooks: [{name: a, reinvocationPolicy: IfNeeded, clientConfig: {service: {name: n, namespace: ns, port: 1, path: /}}, " + explicit + "}]}",
		},
		{
			"validating policy", &admissionregistrationv1.ValidatingAdmissionPolicy{},
			"{spec: {matchConstraints: {resourceRules: [{}], excludeResourceRules: [{}]}}}",
			"{spec: {failurePolicy: Fail, matchConstraints: {resourceRules: [{scope: '*'}], excludeResourceRules: [{scope: '*'}], " + matching + "}}}",
		},
		{
			"validating policy without constraints", &admissionregistrationv1.ValidatingAdmissionPolicy{},
			"{spec: {failurePolicy: Ignore}}", "{spec: {failurePolicy: Ignore}}",
		},
		{
			"mutating policy", &admissionregistrationv1.MutatingAdmissionPolicy{},
			"{spec: {matchConstraints: {resourceRules: [{}]}}}",
			"{spec: {failurePolicy: Fail, matchConstraints: {resourceRules: [{scope: '*'}], " + matching + "}}}",
		},
		{
			"validating binding", &admissionregistrationv1.ValidatingAdmissionPolicyBinding{},
			"{spec: {matchResources: {excludeResourceRules: [{}]}}}",
			"{spec: {matchResources: {excludeResourceRules: [{scope: '*'}], " + matching + "}}}",
		},
		{
			"mutating binding", &admissionregistrationv1.MutatingAdmissionPolicyBinding{},
			"{spec: {paramRef: {name: a}}}", "{spec: {paramRef: {name: a}}}",
		},
		{"another kind", &metav1.Status{}, "{}", "{}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, want := tt.kind, tt.kind.DeepCopyObject()
			if err := yaml.UnmarshalStrict([]byte(tt.given), got); err != nil {
				t.Fatal(err)
			}
			if err := yaml.UnmarshalStrict([]byte(tt.defaulted), want); err != nil {
				t.Fatal(err)
			}
			config.Default(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("defaults (-want +got):\n%s", diff)
			}
		})
	}
}
