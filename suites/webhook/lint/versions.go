package lint

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
)

// matchPolicy looks at webhooks that say they match exactly: what their rules do not name passes them by. Of the custom resources of
// the manifests one knows which versions there are; of others, that there may be more one day.
func (c *checker) matchPolicy() {
	if policy := c.hook.MatchPolicy; policy == nil || *policy != admissionregistrationv1.Exact {
		return
	}
	for i, rule := range c.hook.Rules {
		if has(rule.APIVersions, "*") {
			continue
		}
		definitions, all := c.named(rule)
		for _, definition := range definitions {
			if missed := missed(c.hook, definition); len(missed) > 0 {
				c.find("match-policy-equivalent", "matchPolicy", "matchPolicy is Exact, and no rule names the version %s in which %s are served too: requests in it pass the webhook by", strings.Join(missed, ", "), definition.Name)
				return
			}
		}
		if !all {
			c.find("match-policy-equivalent", "matchPolicy", "matchPolicy is Exact and rules[%d] names the versions %s: requests in other versions pass the webhook by", i, strings.Join(rule.APIVersions, ", "))
			return
		}
	}
}

// versions looks at rules that name versions of a custom resource of the manifests none of which is there: neither does a
// request come in them, nor can one in another version be converted to them. API servers convert to versions that are no
// longer served too, unless matchPolicy is Exact.
func (c *checker) versions() {
	for i, rule := range c.hook.Rules {
		definitions, _ := c.named(rule)
		for _, definition := range definitions {
			versions, what := versionsOf(definition, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Served }), "served"
			if c.hook.Equivalent() {
				versions, what = versionsOf(definition, func(apiextensionsv1.CustomResourceDefinitionVersion) bool { return true }), "defined"
			}
			if !slices.ContainsFunc(versions, func(version string) bool { return has(rule.APIVersions, version) }) {
				c.find("versions-there", fmt.Sprintf("rules[%d].apiVersions", i), "rules[%d] names the versions %s, and %s are %s in %s alone: the webhook is never called for them", i, strings.Join(rule.APIVersions, ", "), definition.Name, what, strings.Join(versions, ", "))
			}
		}
	}
}

// named are the custom resources of the manifests that a rule names; all tells that it names nothing else.
func (c *checker) named(rule admissionregistrationv1.RuleWithOperations) (definitions []*apiextensionsv1.CustomResourceDefinition, all bool) {
	all = true
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			parent, _, _ := strings.Cut(resource, "/")
			i := slices.IndexFunc(c.set.Definitions, func(d *apiextensionsv1.CustomResourceDefinition) bool {
				return d.Spec.Group == group && d.Spec.Names.Plural == parent
			})
			switch {
			case i < 0:
				all = false
			case !slices.Contains(definitions, c.set.Definitions[i]):
				definitions = append(definitions, c.set.Definitions[i])
			}
		}
	}
	return definitions, all
}

// missed are the served versions of a custom resource that no rule of a webhook names.
func missed(hook *manifests.Hook, definition *apiextensionsv1.CustomResourceDefinition) []string {
	served := versionsOf(definition, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Served })
	return slices.DeleteFunc(served, func(version string) bool {
		return slices.ContainsFunc(hook.Rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
			return has(rule.APIGroups, definition.Spec.Group) && has(rule.APIVersions, version) &&
				slices.ContainsFunc(rule.Resources, func(r string) bool {
					parent, _, _ := strings.Cut(r, "/")
					return parent == "*" || parent == definition.Spec.Names.Plural
				})
		})
	})
}

// versionsOf are the names of those versions of a custom resource that of selects.
func versionsOf(definition *apiextensionsv1.CustomResourceDefinition, of func(apiextensionsv1.CustomResourceDefinitionVersion) bool) []string {
	var versions []string
	for _, version := range definition.Spec.Versions {
		if of(version) {
			versions = append(versions, version.Name)
		}
	}
	return versions
}
