package lint

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
)

// wildcards looks at rules that match more than anybody means.
func (c *checker) wildcards() {
	for i, rule := range c.hook.Rules {
		field := fmt.Sprintf("rules[%d]", i)
		resources := slices.ContainsFunc(rule.Resources, func(r string) bool { return r == "*" || r == "*/*" })
		if slices.Contains(rule.APIGroups, "*") || resources {
			c.find("narrow-rules", field, "%s matches apiGroups %q and resources %q: name those that the webhook is for", field, rule.APIGroups, rule.Resources)
		}
		if slices.Contains(rule.Operations, admissionregistrationv1.OperationAll) {
			c.find("narrow-operations", field+".operations", "operations are *, which is CONNECT and whatever is added later too: name those that the webhook is for")
		}
	}
}

// hot are resources that are written all the time, or by what keeps a cluster alive.
var hot = []struct{ group, resource, why string }{
	{"coordination.k8s.io", "leases", "every node and every leader renews a lease every few seconds"},
	{"", "nodes", "kubelets that cannot write to their nodes are taken for dead"},
	{"", "events", "events are written all the time"},
	{"events.k8s.io", "events", "events are written all the time"},
}

func (c *checker) hotResources() {
	for i, rule := range c.hook.Rules {
		for _, h := range hot {
			if slices.Contains(rule.APIGroups, h.group) && slices.Contains(rule.Resources, h.resource) {
				c.find("hot-resources", fmt.Sprintf("rules[%d].resources", i), "%s are matched: %s", h.resource, h.why)
			}
		}
	}
}

// ownConfiguration looks at rules that name what webhooks are never called for.
func (c *checker) ownConfiguration() {
	never := []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}
	for i, rule := range c.hook.Rules {
		if !slices.Contains(rule.APIGroups, "admissionregistration.k8s.io") {
			continue
		}
		for _, resource := range never {
			if slices.Contains(rule.Resources, resource) {
				c.find("not-own-configuration", fmt.Sprintf("rules[%d].resources", i), "%s are named, for which webhooks are never called", resource)
			}
		}
	}
}

// connected are the subresources that are connected to.
var connected = []string{"pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "services/proxy", "nodes/proxy"}

func (c *checker) connect() {
	for i, rule := range c.hook.Rules {
		if slices.Contains(rule.Operations, admissionregistrationv1.Connect) || slices.Contains(rule.Operations, admissionregistrationv1.OperationAll) {
			continue
		}
		for _, resource := range rule.Resources {
			if slices.Contains(connected, resource) {
				c.find("connect-operation", fmt.Sprintf("rules[%d].operations", i), "%s is named, the only operation of which is CONNECT; the rule has %v, so the webhook is never called for it", resource, rule.Operations)
			}
		}
	}
}

// systemNamespace is where the parts of the cluster are that must start without the webhook.
const systemNamespace = "kube-system"

// builtin are the groups of kinds that a cluster and a webhook's server are made of.
var builtin = []string{"", "apps", "batch", "coordination.k8s.io", "discovery.k8s.io", "rbac.authorization.k8s.io"}

// starting are the resources that a webhook's own server cannot start without.
var starting = []struct{ group, resource string }{
	{"", "pods"}, {"", "secrets"}, {"", "configmaps"}, {"", "serviceaccounts"}, {"", "services"}, {"", "endpoints"},
	{"apps", "deployments"}, {"apps", "replicasets"}, {"discovery.k8s.io", "endpointslices"}, {"coordination.k8s.io", "leases"},
}

// namespaces looks at webhooks that fail closed and see the namespaces without which nothing starts again.
func (c *checker) namespaces() {
	if !c.hook.FailsClosed() {
		return
	}
	if own := c.ownNamespace(); own != "" && c.sees(own) {
		for _, s := range starting {
			if c.catches(s.group, s.resource) {
				c.find("does-not-block-itself", "namespaceSelector", "while the webhook is down, %s of its own namespace %s are refused: it may never start again", s.resource, own)
				break
			}
		}
	}
	if !c.sees(systemNamespace) {
		return
	}
	for i, rule := range c.hook.Rules {
		if writes(rule) && slices.ContainsFunc(builtin, func(group string) bool { return has(rule.APIGroups, group) }) && !clusterScoped(rule) {
			c.find("namespace-exclusion", "namespaceSelector", "while the webhook is down, requests in %s are refused that rules[%d] matches", systemNamespace, i)
			return
		}
	}
}

// ownNamespace is the namespace of the webhook's server; "" when it is not in the cluster.
func (c *checker) ownNamespace() string {
	if ref := c.hook.ClientConfig.Service; ref != nil {
		return ref.Namespace
	}
	return ""
}

// sees tells that neither selectors nor match conditions keep a namespace from the webhook, as far as one can tell.
func (c *checker) sees(namespace string) bool {
	for _, condition := range c.hook.MatchConditions {
		if strings.Contains(condition.Expression, namespace) || strings.Contains(condition.Expression, "request.namespace") {
			return false
		}
	}
	if selector := c.hook.ObjectSelector; selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) > 0 {
		return false // a webhook that objects opt into, or out of
	}
	selector, err := metav1.LabelSelectorAsSelector(c.hook.NamespaceSelector)
	if c.hook.NamespaceSelector == nil || err != nil {
		return true
	}
	return selector.Matches(c.labelsOf(namespace))
}

// labelsOf are the labels of a namespace by the manifests, and the one that every namespace has.
func (c *checker) labelsOf(namespace string) labels.Set {
	all := labels.Set{"kubernetes.io/metadata.name": namespace}
	for _, object := range c.set.Installed {
		if object.GetKind() == "Namespace" && object.GetName() == namespace {
			for key, value := range object.GetLabels() {
				all[key] = value
			}
		}
	}
	return all
}

// catches tells that a rule matches the creation or the update of a resource.
func (c *checker) catches(group, resource string) bool {
	return slices.ContainsFunc(c.hook.Rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
		return writes(rule) && has(rule.APIGroups, group) && !clusterScoped(rule) &&
			slices.ContainsFunc(rule.Resources, func(r string) bool { return r == "*" || r == "*/*" || r == resource })
	})
}

func writes(rule admissionregistrationv1.RuleWithOperations) bool {
	return slices.ContainsFunc(rule.Operations, func(o admissionregistrationv1.OperationType) bool {
		return o == admissionregistrationv1.OperationAll || o == admissionregistrationv1.Create || o == admissionregistrationv1.Update
	})
}

// clusterKinds are resources of the built-in groups that have no namespace.
var clusterKinds = []string{"namespaces", "nodes", "persistentvolumes", "clusterroles", "clusterrolebindings"}

// clusterScoped tells that a rule matches nothing in namespaces.
func clusterScoped(rule admissionregistrationv1.RuleWithOperations) bool {
	if rule.Scope != nil && *rule.Scope == admissionregistrationv1.ClusterScope {
		return true
	}
	return !slices.ContainsFunc(rule.Resources, func(r string) bool {
		parent, _, _ := strings.Cut(r, "/")
		return !slices.Contains(clusterKinds, parent)
	})
}

func has(list []string, word string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, word)
}

// shadows looks for another webhook that calls the same server for the same requests. Of two that are alike the later one
// is found.
func (c *checker) shadows() {
	before := true
	for _, other := range c.set.Hooks {
		if other == c.hook {
			before = false
			continue
		}
		if other.Mutating != c.hook.Mutating || other.Name == c.hook.Name || other.Path() != c.hook.Path() || other.ServerName() != c.hook.ServerName() || !wider(other, c.hook) {
			continue
		}
		for i, rule := range c.hook.Rules {
			if slices.ContainsFunc(other.Rules, func(wide admissionregistrationv1.RuleWithOperations) bool {
				return covers(wide, rule) && (before || !covers(rule, wide))
			}) {
				c.find("no-shadows", fmt.Sprintf("rules[%d]", i), "webhook %s calls the same URL for all that rules[%d] matches: the server is asked twice", other.Name, i)
				return
			}
		}
	}
}

// wider tells that a webhook is not narrowed by selectors or conditions, or exactly as another one is.
func wider(other, hook *manifests.Hook) bool {
	same := func(wide, narrow any) bool { return reflect.ValueOf(wide).IsZero() || reflect.DeepEqual(wide, narrow) }
	return same(other.NamespaceSelector, hook.NamespaceSelector) && same(other.ObjectSelector, hook.ObjectSelector) && same(other.MatchConditions, hook.MatchConditions)
}

// covers tells that one rule matches all that another does.
func covers(wide, narrow admissionregistrationv1.RuleWithOperations) bool {
	all := func(wide, narrow []string) bool {
		return !slices.ContainsFunc(narrow, func(word string) bool { return !has(wide, word) })
	}
	operations := func(list []admissionregistrationv1.OperationType) []string {
		var words []string
		for _, o := range list {
			words = append(words, string(o))
		}
		return words
	}
	anywhere := func(scope *admissionregistrationv1.ScopeType) bool {
		return scope == nil || *scope == admissionregistrationv1.AllScopes
	}
	if !anywhere(wide.Scope) && (anywhere(narrow.Scope) || *wide.Scope != *narrow.Scope) {
		return false
	}
	return all(operations(wide.Operations), operations(narrow.Operations)) && all(wide.APIGroups, narrow.APIGroups) &&
		all(wide.APIVersions, narrow.APIVersions) && all(wide.Resources, narrow.Resources)
}
