package config

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/match"
)

// Warnings are the warnings that a client gets for an accepted create or update of the object.
func Warnings(obj runtime.Object) []string {
	var warnings []string
	if meta, ok := obj.(metav1.Object); ok && strings.HasSuffix(meta.GetName(), reservedSuffix) {
		warnings = append(warnings, "metadata.name: "+reservedName)
	}
	webhooks := field.NewPath("webhooks")
	switch obj := obj.(type) {
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i, webhook := range obj.Webhooks {
			warnings = append(warnings, uselessRules(webhook.Rules, webhooks.Index(i).Child("rules"))...)
		}
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i, webhook := range obj.Webhooks {
			warnings = append(warnings, uselessRules(webhook.Rules, webhooks.Index(i).Child("rules"))...)
		}
	}
	return warnings
}

// uselessRules warns of rules that name a resource that no webhook is called for. Rules with a wildcard may mean others.
func uselessRules(rules []admissionregistrationv1.RuleWithOperations, path *field.Path) []string {
	var warnings []string
	for i, rule := range rules {
		if slices.Contains(rule.APIGroups, "*") || slices.Contains(rule.Resources, "*") {
			continue
		}
		var named []schema.GroupResource
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				gr := schema.GroupResource{Group: group, Resource: resource}
				if match.IsReview(gr) && !slices.Contains(named, gr) {
					named = append(named, gr)
					warnings = append(warnings, fmt.Sprintf("%s: %s is excluded from admission webhooks; this rule will have no effect", path.Index(i), gr))
				}
			}
		}
	}
	return warnings
}
