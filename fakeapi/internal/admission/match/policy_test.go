package match

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

func TestForPolicy(t *testing.T) {
	all := &metav1.LabelSelector{}
	exact := admissionregistrationv1.Exact
	named := func(r admissionregistrationv1.RuleWithOperations, names ...string) admissionregistrationv1.NamedRuleWithOperations {
		return admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: r, ResourceNames: names}
	}
	tests := []struct {
		name      string
		resources *admissionregistrationv1.MatchResources
		ask       ask
		want      bool
		reason    string
	}{
		{"nil matches everything", nil, ask{resource: "v1/pods", namespace: "missing"}, true, "no resourceRules"},
		{"no rules match everything", &admissionregistrationv1.MatchResources{NamespaceSelector: all, ObjectSelector: all},
			ask{resource: "v1/pods/exec", operation: admission.Connect}, true, "no resourceRules"},
		{"no rules, but an exclusion", &admissionregistrationv1.MatchResources{NamespaceSelector: all, ObjectSelector: all,
			ExcludeResourceRules: []admissionregistrationv1.NamedRuleWithOperations{named(rulesOn("*", "", "v1", "pods"))}},
			ask{resource: "v1/pods"}, false, "excludeResourceRules[0] excludes the request"},
		{"the exclusion wins", &admissionregistrationv1.MatchResources{NamespaceSelector: all, ObjectSelector: all,
			ResourceRules:        []admissionregistrationv1.NamedRuleWithOperations{named(rulesOn("*", "", "v1", "pods"))},
			ExcludeResourceRules: []admissionregistrationv1.NamedRuleWithOperations{named(rulesOn("*", "", "v1", "pods"))}},
			ask{resource: "v1/pods"}, false, "excludeResourceRules[0]"},
		{"the exclusion names others", &admissionregistrationv1.MatchResources{NamespaceSelector: all, ObjectSelector: all,
			ExcludeResourceRules: []admissionregistrationv1.NamedRuleWithOperations{named(rulesOn("*", "", "v1", "pods"), "b")}},
			ask{resource: "v1/pods", name: "a"}, true, ""},
		{"name", &admissionregistrationv1.MatchResources{NamespaceSelector: all, ObjectSelector: all,
			ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{named(rulesOn("*", "", "v1", "pods"), "a", "b")}},
			ask{resource: "v1/pods", name: "b"}, true, "resourceRules[0] matches"},
		{"other name", &admissionregistrationv1.MatchResources{NamespaceSelector: all, ObjectSelector: all,
			ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{named(rulesOn("*", "", "v1", "pods"), "a", "b")}},
			ask{resource: "v1/pods", name: "c"}, false, "resourceRules[0] wants resourceNames a or b, the request is for c"},
		{"no name yet", &admissionregistrationv1.MatchResources{NamespaceSelector: all, ObjectSelector: all,
			ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{named(rulesOn("*", "", "v1", "pods"), "a")}},
			ask{resource: "v1/pods"}, false, "the request is without a name"},
		{"exclusion by an equivalent", &admissionregistrationv1.MatchResources{NamespaceSelector: all, ObjectSelector: all, MatchPolicy: ptr(admissionregistrationv1.Equivalent),
			ExcludeResourceRules: []admissionregistrationv1.NamedRuleWithOperations{named(rulesOn("*", "extensions", "v1beta1", "deployments"))}},
			ask{resource: "apps/v1/deployments"}, false, "excludeResourceRules[0]"},
		{"exclusion by an equivalent, but Exact", &admissionregistrationv1.MatchResources{NamespaceSelector: all, ObjectSelector: all, MatchPolicy: &exact,
			ExcludeResourceRules: []admissionregistrationv1.NamedRuleWithOperations{named(rulesOn("*", "extensions", "v1beta1", "deployments"))}},
			ask{resource: "apps/v1/deployments"}, true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			outcome, err := ForPolicy(tt.resources).Match(t.Context(), tt.ask.attributes(), served(), namespaces{})
			if err != nil {
				t.Fatal(err)
			}
			if outcome.Matched != tt.want || !strings.Contains(outcome.Reason, tt.reason) {
				t.Errorf("matched %v, want %v; reason: %q, want part %q", outcome.Matched, tt.want, outcome.Reason, tt.reason)
			}
		})
	}
}

func ptr[T any](value T) *T { return &value }

func TestExclusions(t *testing.T) {
	const admissionV1 = "admissionregistration.k8s.io/v1"
	tests := []struct {
		apiVersion, kind, resource string
		webhooks, policies         bool // excluded from
	}{
		{admissionV1, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", true, false},
		{admissionV1, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", true, false},
		{admissionV1, "MutatingAdmissionPolicy", "mutatingadmissionpolicies", true, true},
		{admissionV1, "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", true, true},
		{admissionV1, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", true, true},
		{"admissionregistration.k8s.io/v1beta1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", true, true},
		{"authentication.k8s.io/v1", "TokenReview", "tokenreviews", true, true},
		{"authentication.k8s.io/v1", "SelfSubjectReview", "selfsubjectreviews", true, true},
		{"authentication.k8s.io/v1", "TokenRequest", "serviceaccounts", false, false},
		{"authorization.k8s.io/v1", "SubjectAccessReview", "subjectaccessreviews", true, true},
		{"authorization.k8s.io/v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", true, true},
		{"authorization.k8s.io/v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", true, true},
		{"authorization.k8s.io/v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", true, true},
		{"rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false, false},
		{"example.com/v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", false, false},
		{"v1", "Pod", "pods", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.apiVersion+" "+tt.kind, func(t *testing.T) {
			gv, err := schema.ParseGroupVersion(tt.apiVersion)
			if err != nil {
				t.Fatal(err)
			}
			a := admission.NewAttributesRecord(nil, nil, gv.WithKind(tt.kind), "", "x", gv.WithResource(tt.resource), "", admission.Delete, nil, false, nil)
			if reason, excluded := ExcludedFromWebhooks(a); excluded != tt.webhooks || excluded != (reason != "") {
				t.Errorf("excluded from webhooks: %v (%q), want %v", excluded, reason, tt.webhooks)
			}
			if reason, excluded := ExcludedFromPolicies(a); excluded != tt.policies || excluded != (reason != "") {
				t.Errorf("excluded from policies: %v (%q), want %v", excluded, reason, tt.policies)
			}
		})
	}
}
