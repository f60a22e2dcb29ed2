package config

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Default fills in the fields that a client left out and that have a default. Objects of other API groups stay as they
// are.
func Default(obj runtime.Object) {
	switch obj := obj.(type) {
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range obj.Webhooks {
			webhook := &obj.Webhooks[i]
			setDefault(&webhook.FailurePolicy, admissionregistrationv1.Fail)
			setDefault(&webhook.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
			setDefault(&webhook.TimeoutSeconds, defaultTimeoutSeconds)
			defaultClientConfig(&webhook.ClientConfig)
			defaultMatching(&webhook.MatchPolicy, &webhook.NamespaceSelector, &webhook.ObjectSelector)
			defaultRules(webhook.Rules)
		}
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range obj.Webhooks {
			webhook := &obj.Webhooks[i]
			setDefault(&webhook.FailurePolicy, admissionregistrationv1.Fail)
			setDefault(&webhook.TimeoutSeconds, defaultTimeoutSeconds)
			defaultClientConfig(&webhook.ClientConfig)
			defaultMatching(&webhook.MatchPolicy, &webhook.NamespaceSelector, &webhook.ObjectSelector)
			defaultRules(webhook.Rules)
		}
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		setDefault(&obj.Spec.FailurePolicy, admissionregistrationv1.Fail)
		defaultMatchResources(obj.Spec.MatchConstraints)
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		setDefault(&obj.Spec.FailurePolicy, admissionregistrationv1.Fail)
		defaultMatchResources(obj.Spec.MatchConstraints)
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		defaultMatchResources(obj.Spec.MatchResources)
	case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
		defaultMatchResources(obj.Spec.MatchResources)
	}
}

const (
	defaultTimeoutSeconds int32 = 10
	defaultServicePort    int32 = 443
)

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func defaultClientConfig(config *admissionregistrationv1.WebhookClientConfig) {
	if config.Service != nil {
		setDefault(&config.Service.Port, defaultServicePort)
	}
}

func defaultMatchResources(resources *admissionregistrationv1.MatchResources) {
	if resources == nil {
		return
	}
	defaultMatching(&resources.MatchPolicy, &resources.NamespaceSelector, &resources.ObjectSelector)
	for _, rules := range [][]admissionregistrationv1.NamedRuleWithOperations{resources.ResourceRules, resources.ExcludeResourceRules} {
		for i := range rules {
			setDefault(&rules[i].Scope, admissionregistrationv1.AllScopes)
		}
	}
}

func defaultMatching(policy **admissionregistrationv1.MatchPolicyType, namespaces, objects **metav1.LabelSelector) {
	setDefault(policy, admissionregistrationv1.Equivalent)
	setDefault(namespaces, metav1.LabelSelector{})
	setDefault(objects, metav1.LabelSelector{})
}

func defaultRules(rules []admissionregistrationv1.RuleWithOperations) {
	for i := range rules {
		setDefault(&rules[i].Scope, admissionregistrationv1.AllScopes)
	}
}
