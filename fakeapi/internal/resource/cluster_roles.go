package resource

import (
	"context"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	applyrbacv1 "k8s.io/client-go/applyconfigurations/rbac/v1"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

// aggregationManager is the field manager of a cluster's controller that aggregates roles.
const aggregationManager = "clusterrole-aggregation-controller"

// clusterRoleStorage is the storage of ClusterRoles. A write is followed by those of the roles that are made of its rules,
// before the client gets its answer. Who has such a role from before is not out of date.
func clusterRoleStorage(v *view) rest.Storage {
	v.written = func(ctx context.Context) { v.catalogue.aggregateRoles(ctx) }
	v.follower = func(before, after runtime.Object) string {
		from, to := *before.(*rbacv1.ClusterRole), *after.(*rbacv1.ClusterRole)
		if slices.EqualFunc(from.Rules, to.Rules, sameRule) {
			return ""
		}
		from.Rules, from.ResourceVersion, from.ManagedFields = to.Rules, to.ResourceVersion, to.ManagedFields
		if to.AggregationRule != nil && equality.Semantic.DeepEqual(from, to) {
			return aggregationManager
		}
		return ""
	}
	return &REST{v}
}

// aggregateRoles gives the roles that are made of others their rules. A role may be made of those that are so themselves,
// which takes another turn; roles that are made of each other have the same rules after as many turns as there are.
func (c *Catalogue) aggregateRoles(ctx context.Context) {
	for range len(c.clusterRoles()) {
		if !c.aggregateOnce(ctx) {
			return
		}
	}
}

// aggregateOnce tells whether a role changed.
func (c *Catalogue) aggregateOnce(ctx context.Context) bool {
	changed := false
	roles := c.clusterRoles()
	for _, role := range roles {
		if role.AggregationRule == nil {
			continue
		}
		rules, err := aggregate(role, roles)
		if err != nil || slices.EqualFunc(rules, role.Rules, sameRule) {
			continue
		}
		key := store.Key{Resource: rbacv1.Resource("clusterroles"), Name: role.Name}
		// It may be gone again, which is no fault; who changed it comes here too.
		updated, err := c.store.Update(ctx, key, func(current runtime.Object) (runtime.Object, error) {
			if current == nil {
				return nil, storage.NewKeyNotFoundError(key.String(), 0)
			}
			return c.applyAs(aggregationManager, "", current, applyrbacv1.ClusterRole(role.Name).WithRules(applied(rules)...))
		})
		// Rules that others manage stay where the role has none of its own.
		changed = changed || err == nil && !slices.EqualFunc(updated.(*rbacv1.ClusterRole).Rules, role.Rules, sameRule)
	}
	return changed
}

// aggregate returns the rules that a role with an aggregationRule is to have: those of the roles, given in order of name,
// that its selectors select, selector by selector and each once. An error says that a selector is none.
func aggregate(role *rbacv1.ClusterRole, roles []*rbacv1.ClusterRole) ([]rbacv1.PolicyRule, error) {
	var rules []rbacv1.PolicyRule
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return nil, err
		}
		for _, from := range roles {
			if from.Name == role.Name || !selector.Matches(labels.Set(from.Labels)) {
				continue
			}
			for _, rule := range from.Rules {
				if !slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool { return sameRule(r, rule) }) {
					rules = append(rules, rule)
				}
			}
		}
	}
	return rules, nil
}

func sameRule(a, b rbacv1.PolicyRule) bool {
	return slices.Equal(a.Verbs, b.Verbs) && slices.Equal(a.APIGroups, b.APIGroups) && slices.Equal(a.Resources, b.Resources) &&
		slices.Equal(a.ResourceNames, b.ResourceNames) && slices.Equal(a.NonResourceURLs, b.NonResourceURLs)
}

func (c *Catalogue) clusterRoles() []*rbacv1.ClusterRole {
	var roles []*rbacv1.ClusterRole
	for _, object := range c.Stored(rbacv1.Resource("clusterroles"), "") {
		roles = append(roles, object.(*rbacv1.ClusterRole))
	}
	return roles
}

func applied(rules []rbacv1.PolicyRule) []*applyrbacv1.PolicyRuleApplyConfiguration {
	var list []*applyrbacv1.PolicyRuleApplyConfiguration
	for _, rule := range rules {
		list = append(list, &applyrbacv1.PolicyRuleApplyConfiguration{
			Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources,
			ResourceNames: rule.ResourceNames, NonResourceURLs: rule.NonResourceURLs,
		})
	}
	return list
}
