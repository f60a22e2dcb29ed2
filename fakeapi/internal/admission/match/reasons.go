package match

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// mismatchesTold is how many rules a reason goes through before it only counts the rest.
const mismatchesTold = 3

// mismatch says for each rule which part of it does not fit the request.
func (c *Criteria) mismatch(r request, equivalents *equivalents) string {
	if len(c.rules) == 0 {
		return "it has no rules, so it matches nothing"
	}
	text := c.rules[0].mismatch(r)
	for i := 1; i < len(c.rules); i++ {
		if i == mismatchesTold {
			text += "; " + strconv.Itoa(len(c.rules)-i) + " more rules do not match either"
			break
		}
		text += "; " + c.rules[i].mismatch(r)
	}
	if !c.equivalent && c.anyMatchesEquivalent(r, equivalents) {
		text += "; the server serves these objects through that resource too, but with matchPolicy Exact this does not count"
	}
	return text
}

// anyMatchesEquivalent tells whether matchPolicy Equivalent would have made a difference.
func (c *Criteria) anyMatchesEquivalent(r request, equivalents *equivalents) bool {
	for i := range c.rules {
		for _, resource := range equivalents.resources() {
			if resource != r.resource && c.rules[i].matchesBut(r, resource) && c.rules[i].matchesName(r) {
				return true
			}
		}
	}
	return false
}

// wants are the beginnings of what is said about a rule that does not match, one for each part. They are written when the
// rule is compiled: nearly all rules that a request meets do not match it.
type wants struct {
	resource, group, version, operation, scope, name string
}

func wantsOf(u *rule) wants {
	say := func(part string, alternatives []string) string {
		return u.path + " wants " + part + " " + list(alternatives) + ", the request is "
	}
	return wants{
		resource:  say("resource", u.resourceNames()),
		group:     say("group", quoteCore(u.groups)),
		version:   say("version", u.versions),
		operation: say("operation", u.operations),
		scope:     say("scope", []string{string(u.scope)}),
		name:      say("resourceNames", u.names),
	}
}

// mismatch names the first part of the rule that does not fit, the most telling ones first.
func (u *rule) mismatch(r request) string {
	cluster := r.clusterScoped(r.resource)
	switch {
	case !u.matchesResource(r.resource.Resource, r.subresource):
		return u.wants.resource + "for " + withSubresource(r.resource.Resource, r.subresource)
	case !includes(u.groups, r.resource.Group):
		return u.wants.group + "for " + quoteCore([]string{r.resource.Group})[0]
	case !includes(u.versions, r.resource.Version):
		return u.wants.version + "for " + r.resource.Version
	case !includes(u.operations, r.operation):
		return u.wants.operation + r.operation
	case !u.matchesScope(cluster) && cluster:
		return u.wants.scope + "for a cluster-scoped object"
	case !u.matchesScope(cluster):
		return u.wants.scope + "for a namespaced object"
	case r.name == "":
		return u.wants.name + "without a name"
	default:
		return u.wants.name + "for " + r.name
	}
}

func (u *rule) matchReason() string {
	if u.path == "" {
		return "it has no resourceRules, so it matches every resource"
	}
	return u.path + " matches"
}

func (u *rule) resourceNames() []string {
	names := make([]string, len(u.resources))
	for i, pattern := range u.resources {
		names[i] = withSubresource(pattern.resource, pattern.subresource)
	}
	return names
}

func withSubresource(resource, subresource string) string {
	if subresource == "" {
		return resource
	}
	return resource + "/" + subresource
}

func list(items []string) string {
	if len(items) == 0 {
		return "(none)"
	}
	return strings.Join(items, " or ")
}

// quoteCore makes the empty name of the core group visible.
func quoteCore(groups []string) []string {
	quoted := make([]string, len(groups))
	for i, group := range groups {
		quoted[i] = group
		if group == "" {
			quoted[i] = `"" (core)`
		}
	}
	return quoted
}

// quoteResource writes a resource the way that apiVersion and kubectl name it: apps/v1 deployments/scale.
func quoteResource(resource schema.GroupVersionResource, subresource string) string {
	return resource.GroupVersion().String() + " " + withSubresource(resource.Resource, subresource)
}
