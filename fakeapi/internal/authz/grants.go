package authz

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Grants keeps users from giving, to themselves or to others, what they do not hold. Who writes a role must hold its rules
// or be allowed to "escalate" the role; who writes a binding must hold the rules of its role or be allowed to "bind" it.
// What a user holds is what the stored roles say, whatever the authorizer goes by.
type Grants struct {
	held       *RBAC
	authorizer authorizer.UnconditionalAuthorizer
}

// NewGrants returns a check that goes by the roles and asks the authorizer about the verbs escalate and bind.
func NewGrants(roles Roles, auth authorizer.UnconditionalAuthorizer) *Grants {
	return &Grants{held: New(registered{roles}), authorizer: auth}
}

// Check refuses, with an API status, that the user of a request writes a Role, ClusterRole, RoleBinding or
// ClusterRoleBinding; old is nil on create. Other objects are free.
func (g *Grants) Check(ctx context.Context, object, old runtime.Object) error {
	who, ok := request.UserFrom(ctx)
	if ok && slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup) {
		return nil
	}
	if old != nil && sameButForCollector(object, old) {
		return nil
	}
	namespace := request.NamespaceValue(ctx)
	switch object := object.(type) {
	case *rbacv1.Role:
		return g.checkRole(ctx, who, "roles", object.Name, object.Rules)
	case *rbacv1.ClusterRole:
		selects := selectsRoles(object)
		if old, ok := old.(*rbacv1.ClusterRole); ok {
			selects = selects || selectsRoles(old)
		}
		err := g.checkRole(ctx, who, "clusterroles", object.Name, object.Rules)
		if err == nil && selects && g.checkRole(ctx, who, "clusterroles", object.Name, everything()) != nil {
			err = apierrors.NewForbidden(rbacv1.Resource("clusterroles"), object.Name, errors.New("must have cluster-admin privileges to use the aggregationRule"))
		}
		return err
	case *rbacv1.RoleBinding:
		return g.checkBinding(ctx, who, "rolebindings", object.Name, object.RoleRef, namespace)
	case *rbacv1.ClusterRoleBinding:
		return g.checkBinding(ctx, who, "clusterrolebindings", object.Name, object.RoleRef, "")
	}
	return nil
}

// everything are the rules that whoever chooses roles by their labels must hold: any rule may come to be among them.
func everything() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{resourceRule([]string{"*"}, []string{"*"}, "*"), urlRule("*", "*")}
}

func selectsRoles(role *rbacv1.ClusterRole) bool {
	return role.AggregationRule != nil && len(role.AggregationRule.ClusterRoleSelectors) > 0
}

// sameButForCollector tells whether an update changes no more than what a garbage collector must.
func sameButForCollector(object, old runtime.Object) bool {
	object = object.DeepCopyObject()
	accessor, err := meta.Accessor(object)
	if err != nil {
		return false
	}
	oldAccessor, err := meta.Accessor(old)
	if err != nil {
		return false
	}
	accessor.SetOwnerReferences(oldAccessor.GetOwnerReferences())
	accessor.SetFinalizers(oldAccessor.GetFinalizers())
	accessor.SetSelfLink(oldAccessor.GetSelfLink())
	accessor.SetManagedFields(oldAccessor.GetManagedFields())
	return equality.Semantic.DeepEqual(object, old)
}

// checkRole checks the write of a role. The verb escalate is asked of the name in the request, which a request that
// creates does not have.
func (g *Grants) checkRole(ctx context.Context, who user.Info, resource, name string, rules []rbacv1.PolicyRule) error {
	if asked, ok := request.RequestInfoFrom(ctx); ok && asked.APIGroup == rbacv1.GroupName && asked.Resource == resource &&
		g.allowed(ctx, who, "escalate", rbacv1.Resource(resource), asked.Namespace, asked.Name) {
		return nil
	}
	return g.checkHeld(ctx, who, resource, name, rules)
}

// checkBinding checks the write of a binding in a namespace (none for a cluster role binding).
func (g *Grants) checkBinding(ctx context.Context, who user.Info, resource, name string, ref rbacv1.RoleRef, namespace string) error {
	kinds := map[string]string{"Role": "roles", "ClusterRole": "clusterroles"}
	bound, ok := kinds[ref.Kind]
	if ok && g.allowed(ctx, who, "bind", schema.GroupResource{Group: ref.APIGroup, Resource: bound}, namespace, ref.Name) {
		return nil
	}
	rules, err := g.held.rules(ctx, ref, namespace)
	if err != nil {
		return err
	}
	return g.checkHeld(ctx, who, resource, name, rules)
}

// allowed asks whether the user may do with roles what no request is about.
func (g *Grants) allowed(ctx context.Context, who user.Info, verb string, resource schema.GroupResource, namespace, name string) bool {
	if who == nil {
		return false
	}
	decision, _, _ := g.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: who, Verb: verb, APIGroup: resource.Group, APIVersion: "*", Resource: resource.Resource,
		Namespace: namespace, Name: name, ResourceRequest: true,
	})
	return decision == authorizer.DecisionAllow // with an error it is none
}

// checkHeld refuses the write of a role or binding that grants rules which the user does not hold.
func (g *Grants) checkHeld(ctx context.Context, who user.Info, resource, name string, rules []rbacv1.PolicyRule) error {
	if who == nil {
		return apierrors.NewForbidden(rbacv1.Resource(resource), name, errors.New("no user on context"))
	}
	held, errs := g.held.heldRules(ctx, who, request.NamespaceValue(ctx))
	missing := uncovered(rules, held)
	if len(missing) == 0 {
		return nil
	}
	message := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s",
		who.GetName(), who.GetGroups(), strings.Join(describe(missing), "\n"))
	if errs != nil {
		message += fmt.Sprintf("; resolution errors: %v", []error{errs})
	}
	return apierrors.NewForbidden(rbacv1.Resource(resource), name, errors.New(message))
}

// uncovered returns what the rules allow and none of the held ones does, as rules with one verb, group, resource and name,
// or one verb and path, each.
func uncovered(rules, held []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var missing []rbacv1.PolicyRule
	for _, rule := range rules {
		for _, single := range singles(rule) {
			asked := requestOf(single)
			if !slices.ContainsFunc(held, func(rule rbacv1.PolicyRule) bool { return ruleAllows(&rule, asked) }) {
				missing = append(missing, single)
			}
		}
	}
	return missing
}

// singles takes a rule apart.
func singles(rule rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var parts []rbacv1.PolicyRule
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				part := rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}}
				if len(rule.ResourceNames) == 0 {
					parts = append(parts, part)
				}
				for _, name := range rule.ResourceNames {
					part.ResourceNames = []string{name}
					parts = append(parts, part)
				}
			}
		}
	}
	for _, url := range rule.NonResourceURLs {
		for _, verb := range rule.Verbs {
			parts = append(parts, rbacv1.PolicyRule{NonResourceURLs: []string{url}, Verbs: []string{verb}})
		}
	}
	return parts
}

// requestOf returns the request that a single rule allows. Wildcards stand in it as they are: only a rule with the same
// wildcard allows it.
func requestOf(single rbacv1.PolicyRule) authorizer.Attributes {
	if len(single.NonResourceURLs) > 0 {
		return authorizer.AttributesRecord{Verb: single.Verbs[0], Path: single.NonResourceURLs[0]}
	}
	resource, subresource, _ := strings.Cut(single.Resources[0], "/")
	asked := authorizer.AttributesRecord{
		Verb: single.Verbs[0], APIGroup: single.APIGroups[0], Resource: resource, Subresource: subresource, ResourceRequest: true,
	}
	if len(single.ResourceNames) > 0 {
		asked.Name = single.ResourceNames[0]
	}
	return asked
}

// describe words single rules, those that differ in the verb alone as one, but for paths, in order.
func describe(rules []rbacv1.PolicyRule) []string {
	var merged []rbacv1.PolicyRule
	for _, rule := range rules {
		same := slices.IndexFunc(merged, func(other rbacv1.PolicyRule) bool {
			return len(rule.NonResourceURLs)+len(other.NonResourceURLs) == 0 && slices.Equal(rule.APIGroups, other.APIGroups) &&
				slices.Equal(rule.Resources, other.Resources) && slices.Equal(rule.ResourceNames, other.ResourceNames)
		})
		if same < 0 {
			merged = append(merged, rule)
			continue
		}
		merged[same].Verbs = append(merged[same].Verbs, rule.Verbs...)
	}
	described := make([]string, len(merged))
	for i, rule := range merged {
		described[i] = describeRule(rule)
	}
	slices.Sort(described)
	return slices.Compact(described)
}

func describeRule(rule rbacv1.PolicyRule) string {
	var parts []string
	for _, part := range []struct {
		name   string
		values []string
	}{
		{"APIGroups", rule.APIGroups}, {"Resources", rule.Resources}, {"NonResourceURLs", rule.NonResourceURLs},
		{"ResourceNames", rule.ResourceNames}, {"Verbs", rule.Verbs},
	} {
		if len(part.values) > 0 {
			parts = append(parts, fmt.Sprintf("%s:%q", part.name, part.values))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// registered looks up roles as the API does that serves them, which words its errors otherwise than the authorizer, and
// names the resource of the request where a role is not there.
type registered struct{ Roles }

func (r registered) Role(ctx context.Context, namespace, name string) (*rbacv1.Role, error) {
	if namespace == "" {
		return nil, apierrors.NewBadRequest("Namespace parameter required.")
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	role, err := r.Roles.Role(ctx, namespace, name)
	return role, ofRequest(ctx, err, name)
}

func (r registered) ClusterRole(ctx context.Context, name string) (*rbacv1.ClusterRole, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	role, err := r.Roles.ClusterRole(ctx, name)
	return role, ofRequest(ctx, err, name)
}

func ofRequest(ctx context.Context, err error, name string) error {
	if asked, ok := request.RequestInfoFrom(ctx); ok && apierrors.IsNotFound(err) {
		return apierrors.NewNotFound(schema.GroupResource{Group: asked.APIGroup, Resource: asked.Resource}, name)
	}
	return err
}

// checkName refuses names that the path of no request can hold.
func checkName(name string) error {
	if name == "" {
		return apierrors.NewBadRequest("Name parameter required.")
	}
	if msgs := content.IsPathSegmentName(name); len(msgs) > 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", name, strings.Join(msgs, ";")))
	}
	return nil
}
