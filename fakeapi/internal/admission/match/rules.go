package match

import (
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

const wildcard = "*"

// request is what rules look at.
type request struct {
	operation   string
	kind        schema.GroupVersionKind
	resource    schema.GroupVersionResource
	subresource string
	namespace   string
	name        string
}

func describe(a admission.Attributes) request {
	return request{
		operation:   string(a.GetOperation()),
		kind:        a.GetKind(),
		resource:    a.GetResource(),
		subresource: a.GetSubresource(),
		namespace:   a.GetNamespace(),
		name:        a.GetName(),
	}
}

// clusterScoped tells whether a rule of scope Cluster matches. A request for a Namespace carries its name as namespace
// and is cluster-scoped all the same; a subresource has the scope of its parent.
func (r request) clusterScoped(resource schema.GroupVersionResource) bool {
	return r.namespace == "" || resource == corev1.SchemeGroupVersion.WithResource("namespaces")
}

// rule is one compiled entry of rules, resourceRules or excludeResourceRules.
type rule struct {
	path       string
	operations []string
	groups     []string
	versions   []string
	resources  []resourcePattern
	scope      admissionregistrationv1.ScopeType
	names      []string
	wants      wants
}

// everything is the rule of a policy that has none.
var everything = rule{
	operations: []string{wildcard},
	groups:     []string{wildcard},
	versions:   []string{wildcard},
	resources:  []resourcePattern{{resource: wildcard, subresource: wildcard}},
	scope:      admissionregistrationv1.AllScopes,
}

// resourcePattern is one entry of a rule's resources: pods, pods/status, pods/*, */scale, * or */*.
type resourcePattern struct {
	resource, subresource string
}

// matches follows the server, where pods/* means pods itself too, although the documentation speaks of its
// subresources alone.
func (p resourcePattern) matches(resource, subresource string) bool {
	return (p.resource == wildcard || p.resource == resource) &&
		(p.subresource == wildcard || p.subresource == subresource)
}

func compileRules(field string, sources []admissionregistrationv1.NamedRuleWithOperations) []rule {
	rules := make([]rule, 0, len(sources))
	for i, source := range sources {
		compiled := rule{
			path:     field + "[" + strconv.Itoa(i) + "]",
			groups:   source.APIGroups,
			versions: source.APIVersions,
			scope:    admissionregistrationv1.AllScopes,
			names:    source.ResourceNames,
		}
		if source.Scope != nil {
			compiled.scope = *source.Scope
		}
		for _, operation := range source.Operations {
			compiled.operations = append(compiled.operations, string(operation))
		}
		for _, pattern := range source.Resources {
			resource, subresource, _ := strings.Cut(pattern, "/")
			compiled.resources = append(compiled.resources, resourcePattern{resource, subresource})
		}
		compiled.wants = wantsOf(&compiled)
		rules = append(rules, compiled)
	}
	return rules
}

// matches tells whether the rule matches the request as it was made.
func (u *rule) matches(r request) bool {
	return u.matchesBut(r, r.resource) && u.matchesName(r)
}

// matchesBut tells whether the rule would match if the request were for another resource, names aside.
func (u *rule) matchesBut(r request, resource schema.GroupVersionResource) bool {
	return u.matchesResource(resource.Resource, r.subresource) &&
		includes(u.groups, resource.Group) &&
		includes(u.versions, resource.Version) &&
		includes(u.operations, r.operation) &&
		u.matchesScope(r.clusterScoped(resource))
}

func (u *rule) matchesResource(resource, subresource string) bool {
	for _, pattern := range u.resources {
		if pattern.matches(resource, subresource) {
			return true
		}
	}
	return false
}

func (u *rule) matchesScope(cluster bool) bool {
	switch u.scope {
	case admissionregistrationv1.AllScopes:
		return true
	case admissionregistrationv1.ClusterScope:
		return cluster
	case admissionregistrationv1.NamespacedScope:
		return !cluster
	default:
		return false
	}
}

// matchesName holds a policy's resourceNames against the name in the request, which is empty where the server is to
// generate one and for the objects of a deletecollection.
func (u *rule) matchesName(r request) bool {
	return len(u.names) == 0 || slices.Contains(u.names, r.name)
}

func includes(list []string, value string) bool {
	for _, item := range list {
		if item == wildcard || item == value {
			return true
		}
	}
	return false
}
