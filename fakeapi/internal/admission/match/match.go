// Package match decides whether a webhook or a policy concerns a request, and says why.
//
// What the API promises (admissionregistration.k8s.io/v1, the fields rules, matchPolicy, namespaceSelector and
// objectSelector of webhooks, and MatchResources of policies and bindings):
//
//   - A request concerns a webhook when one of its rules matches and both selectors select. Rules are alternatives;
//     the parts of one rule (operation, group, version, resource, scope, and resourceNames for policies) must all hold.
//   - matchPolicy Equivalent also accepts a rule that names another group or version through which the server serves
//     the same objects; the objects are then sent in that version. A rule that matches the request as it was made
//     comes before any equivalent one.
//   - namespaceSelector selects the labels of the request's namespace; those of the Namespace object itself, as
//     submitted, when one is created or updated. It never keeps a cluster-scoped object back.
//   - objectSelector selects the labels of the new object or of the old one; either is enough.
//   - Webhooks are never called for webhook configurations and policies, so that a broken one can be removed, nor for
//     the authentication and authorization reviews that the server itself depends on.
//
// Match conditions come after all this and belong to the callers.
package match

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

// Namespaces looks up namespaces as they are stored now.
type Namespaces interface {
	// Namespace returns the namespace, or an apierrors.IsNotFound error. The caller must not change it.
	Namespace(ctx context.Context, name string) (*corev1.Namespace, error)
}

// Criteria are the compiled rules and selectors of a webhook, a policy or a binding. They do not change and may be
// used by many requests at once; whoever owns them keeps them with the stored object that they were compiled from.
type Criteria struct {
	rules, excludes   []rule
	equivalent        bool
	namespaceSelector selector
	objectSelector    selector
}

// ForWebhook compiles the criteria of one webhook. A webhook without rules matches nothing.
func ForWebhook(rules []admissionregistrationv1.RuleWithOperations, policy *admissionregistrationv1.MatchPolicyType,
	namespaceSelector, objectSelector *metav1.LabelSelector) *Criteria {
	named := make([]admissionregistrationv1.NamedRuleWithOperations, len(rules))
	for i := range rules {
		named[i].RuleWithOperations = rules[i]
	}
	return &Criteria{
		rules:             compileRules("rules", named),
		equivalent:        policy != nil && *policy == admissionregistrationv1.Equivalent,
		namespaceSelector: compileSelector("namespaceSelector", namespaceSelector),
		objectSelector:    compileSelector("objectSelector", objectSelector),
	}
}

// ForPolicy compiles spec.matchConstraints of a policy or spec.matchResources of a binding. Without resourceRules
// every request matches that the selectors select and excludeResourceRules do not exclude; with nil resources, as in
// a binding that does not narrow its policy, every request matches.
func ForPolicy(resources *admissionregistrationv1.MatchResources) *Criteria {
	if resources == nil {
		resources = &admissionregistrationv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{},
			ObjectSelector:    &metav1.LabelSelector{},
		}
	}
	rules := compileRules("resourceRules", resources.ResourceRules)
	if len(rules) == 0 {
		rules = []rule{everything}
	}
	return &Criteria{
		rules:             rules,
		excludes:          compileRules("excludeResourceRules", resources.ExcludeResourceRules),
		equivalent:        resources.MatchPolicy != nil && *resources.MatchPolicy != admissionregistrationv1.Exact,
		namespaceSelector: compileSelector("namespaceSelector", resources.NamespaceSelector),
		objectSelector:    compileSelector("objectSelector", resources.ObjectSelector),
	}
}

// Outcome is what matching found out.
type Outcome struct {
	// Matched is whether the request concerns the webhook, policy or binding.
	Matched bool
	// Rule is the path of the rule that matched, such as rules[0]; empty where no rule was needed.
	Rule string
	// Resource and Kind are the version that the rule asks for: those of the request, or an equivalent one.
	Resource schema.GroupVersionResource
	Kind     schema.GroupVersionKind
	// Reason says in plain words what decided.
	Reason string
}

// Match decides about one request. The attributes' objects are those to look at: for mutating webhooks the object as
// earlier ones left it.
//
// An error means that it cannot be known whether the request concerns the webhook: its namespace does not exist
// (an apierrors.IsNotFound error), a selector is broken (an apierrors.IsInternalError error), or the server knows no
// kind for an equivalent resource. Where something else already tells that it does not, there is no error.
func (c *Criteria) Match(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces, namespaces Namespaces) (Outcome, error) {
	outcome, ruleErr := c.matchRules(a, o)
	if ruleErr == nil && !outcome.Matched {
		return outcome, nil
	}
	selected, reason, namespaceErr := c.namespaceSelector.selectsNamespace(ctx, a, namespaces)
	if namespaceErr == nil && !selected {
		return Outcome{Rule: outcome.Rule, Reason: reason}, nil
	}
	selected, reason, objectErr := c.objectSelector.selectsObject(a)
	if objectErr == nil && !selected {
		return Outcome{Rule: outcome.Rule, Reason: reason}, nil
	}
	for _, err := range []error{ruleErr, namespaceErr, objectErr} {
		if err != nil {
			return Outcome{Rule: outcome.Rule, Reason: err.Error()}, err
		}
	}
	return outcome, nil
}

// matchRules decides by the rules alone.
func (c *Criteria) matchRules(a admission.Attributes, o admission.ObjectInterfaces) (Outcome, error) {
	r := describe(a)
	equivalents := &equivalents{attributes: a, interfaces: o}
	if excluded, err := c.firstMatch(c.excludes, r, equivalents); err != nil || excluded.Matched {
		if err != nil {
			return Outcome{}, err
		}
		return Outcome{Rule: excluded.Rule, Reason: excluded.Rule + " excludes the request"}, nil
	}
	outcome, err := c.firstMatch(c.rules, r, equivalents)
	if err != nil || outcome.Matched {
		return outcome, err
	}
	outcome.Reason = c.mismatch(r, equivalents)
	return outcome, nil
}

// firstMatch looks for a rule that matches the request as it was made, then for one that matches an equivalent.
func (c *Criteria) firstMatch(rules []rule, r request, equivalents *equivalents) (Outcome, error) {
	for i := range rules {
		if rules[i].matches(r) {
			return Outcome{Matched: true, Rule: rules[i].path, Resource: r.resource, Kind: r.kind, Reason: rules[i].matchReason()}, nil
		}
	}
	if !c.equivalent || len(rules) == 0 {
		return Outcome{}, nil
	}
	for i := range rules {
		for _, resource := range equivalents.resources() {
			if resource == r.resource || !rules[i].matchesBut(r, resource) {
				continue
			}
			kind := equivalents.kind(resource)
			if kind.Empty() {
				return Outcome{Rule: rules[i].path}, fmt.Errorf("unable to convert to %v: unknown kind", resource)
			}
			if !rules[i].matchesName(r) {
				continue
			}
			return Outcome{
				Matched: true, Rule: rules[i].path, Resource: resource, Kind: kind,
				Reason: rules[i].path + " matches " + quoteResource(resource, r.subresource) + ", which is equivalent to " +
					quoteResource(r.resource, r.subresource) + " of the request (matchPolicy Equivalent)",
			}, nil
		}
	}
	return Outcome{}, nil
}

// equivalents asks once for the resources through which the server serves the request's objects.
type equivalents struct {
	attributes admission.Attributes
	interfaces admission.ObjectInterfaces
	asked      bool
	found      []schema.GroupVersionResource
}

func (e *equivalents) resources() []schema.GroupVersionResource {
	if !e.asked {
		e.asked = true
		if mapper := e.interfaces.GetEquivalentResourceMapper(); mapper != nil {
			e.found = mapper.EquivalentResourcesFor(e.attributes.GetResource(), e.attributes.GetSubresource())
		}
	}
	return e.found
}

func (e *equivalents) kind(resource schema.GroupVersionResource) schema.GroupVersionKind {
	return e.interfaces.GetEquivalentResourceMapper().KindFor(resource, e.attributes.GetSubresource())
}
