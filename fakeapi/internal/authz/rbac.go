// Package authz decides what users may do: role-based access control over the stored roles and bindings, what users may
// grant by them, the access reviews that ask about it, and the roles that a new server starts with.
package authz

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Roles looks up the stored roles and bindings as they are now. Callers do not change what it returns.
type Roles interface {
	// Role returns a role, or an apierrors.IsNotFound error.
	Role(ctx context.Context, namespace, name string) (*rbacv1.Role, error)
	// ClusterRole returns a cluster role, or an apierrors.IsNotFound error.
	ClusterRole(ctx context.Context, name string) (*rbacv1.ClusterRole, error)
	// RoleBindings returns the role bindings of a namespace.
	RoleBindings(ctx context.Context, namespace string) ([]*rbacv1.RoleBinding, error)
	// ClusterRoleBindings returns all cluster role bindings.
	ClusterRoleBindings(ctx context.Context) ([]*rbacv1.ClusterRoleBinding, error)
}

// RBAC is an authorizer that lets the group system:masters do everything and others what roles allow them.
type RBAC struct {
	roles Roles
}

// New returns an authorizer over the roles.
func New(roles Roles) *RBAC { return &RBAC{roles: roles} }

var (
	_ authorizer.Authorizer   = &RBAC{}
	_ authorizer.RuleResolver = &RBAC{}
)

// Authorize allows what a rule allows and has no opinion on the rest. The reason names the binding that allowed the
// request or, on a refusal, what stood in the way of evaluating the bindings.
func (r *RBAC) Authorize(ctx context.Context, request authorizer.Attributes) (authorizer.Decision, string, error) {
	if slices.Contains(request.GetUser().GetGroups(), user.SystemPrivilegedGroup) {
		return authorizer.DecisionAllow, "", nil
	}
	var errs []error
	for grant, err := range r.grants(ctx, request.GetUser(), request.GetNamespace()) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if slices.ContainsFunc(grant.rules, func(rule rbacv1.PolicyRule) bool { return ruleAllows(&rule, request) }) {
			return authorizer.DecisionAllow, "RBAC: allowed by " + grant.describe(), nil
		}
	}
	if len(errs) > 0 {
		// The first name is the one that a kube-apiserver has for RBAC among its authorizers.
		return authorizer.DecisionNoOpinion, fmt.Sprintf("rbac: RBAC: %v", utilerrors.NewAggregate(errs)), nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// ConditionsAwareAuthorize is Authorize: no decision of RBAC is conditional.
func (r *RBAC) ConditionsAwareAuthorize(ctx context.Context, request authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(r.Authorize(ctx, request))
}

// EvaluateConditions refuses: no decision of RBAC has conditions.
func (r *RBAC) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", authorizer.ErrorConditionEvaluationNotSupported
}

// RulesFor lists the rules that apply to a user in a namespace. The error tells which bindings could not be evaluated;
// the rules of the others are listed all the same.
func (r *RBAC) RulesFor(ctx context.Context, subject user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	var (
		resources    []authorizer.ResourceRuleInfo
		nonResources []authorizer.NonResourceRuleInfo
	)
	rules, err := r.heldRules(ctx, subject, namespace)
	for _, rule := range rules {
		if len(rule.Resources) > 0 {
			resources = append(resources, &authorizer.DefaultResourceRuleInfo{
				Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames,
			})
		}
		if len(rule.NonResourceURLs) > 0 {
			nonResources = append(nonResources, &authorizer.DefaultNonResourceRuleInfo{
				Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs,
			})
		}
	}
	return resources, nonResources, false, err
}

// heldRules returns the rules of RulesFor as they are stored.
func (r *RBAC) heldRules(ctx context.Context, subject user.Info, namespace string) ([]rbacv1.PolicyRule, error) {
	var (
		rules []rbacv1.PolicyRule
		errs  []error
	)
	for grant, err := range r.grants(ctx, subject, namespace) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		rules = append(rules, grant.rules...)
	}
	return rules, utilerrors.NewAggregate(errs)
}

// grant is what one binding gives to a user.
type grant struct {
	kind    string // ClusterRoleBinding or RoleBinding
	name    string
	role    rbacv1.RoleRef
	subject rbacv1.Subject
	// namespace is that of a role binding.
	namespace string
	rules     []rbacv1.PolicyRule
}

// describe names the binding, its role and the subject that the user is.
func (g grant) describe() string {
	binding := g.name
	subject := g.subject.Name
	if g.namespace != "" {
		binding += "/" + g.namespace
	}
	if g.subject.Kind == rbacv1.ServiceAccountKind {
		namespace := g.subject.Namespace
		if namespace == "" {
			namespace = g.namespace
		}
		subject += "/" + namespace
	}
	return fmt.Sprintf("%s %q of %s %q to %s %q", g.kind, binding, g.role.Kind, g.role.Name, g.subject.Kind, subject)
}

// grants yields what the cluster role bindings and the role bindings of a namespace give to a user, and an error for
// each binding whose role cannot be found.
func (r *RBAC) grants(ctx context.Context, subject user.Info, namespace string) func(yield func(grant, error) bool) {
	return func(yield func(grant, error) bool) {
		clusterBindings, err := r.roles.ClusterRoleBindings(ctx)
		if err != nil && !yield(grant{}, err) {
			return
		}
		for _, binding := range clusterBindings {
			i := subjectIndex(subject, binding.Subjects, "")
			if i < 0 {
				continue
			}
			rules, err := r.rules(ctx, binding.RoleRef, "")
			g := grant{kind: "ClusterRoleBinding", name: binding.Name, role: binding.RoleRef, subject: binding.Subjects[i], rules: rules}
			if !yield(g, err) {
				return
			}
		}
		if namespace == "" {
			return
		}
		bindings, err := r.roles.RoleBindings(ctx, namespace)
		if err != nil && !yield(grant{}, err) {
			return
		}
		for _, binding := range bindings {
			i := subjectIndex(subject, binding.Subjects, namespace)
			if i < 0 {
				continue
			}
			rules, err := r.rules(ctx, binding.RoleRef, namespace)
			g := grant{kind: "RoleBinding", name: binding.Name, namespace: namespace, role: binding.RoleRef, subject: binding.Subjects[i], rules: rules}
			if !yield(g, err) {
				return
			}
		}
	}
}

// rules returns the rules of the role that a binding in a namespace (none for a cluster role binding) refers to.
func (r *RBAC) rules(ctx context.Context, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	switch ref.Kind {
	case "Role":
		role, err := r.roles.Role(ctx, namespace, ref.Name)
		if err != nil {
			return nil, err
		}
		return role.Rules, nil
	case "ClusterRole":
		role, err := r.roles.ClusterRole(ctx, ref.Name)
		if err != nil {
			return nil, err
		}
		return role.Rules, nil
	default:
		return nil, fmt.Errorf("unsupported role reference kind: %q", ref.Kind)
	}
}

// subjectIndex returns which of the subjects the user is, or -1. Service accounts without a namespace are of the
// binding's.
func subjectIndex(who user.Info, subjects []rbacv1.Subject, namespace string) int {
	return slices.IndexFunc(subjects, func(subject rbacv1.Subject) bool {
		switch subject.Kind {
		case rbacv1.UserKind:
			return who.GetName() == subject.Name
		case rbacv1.GroupKind:
			return slices.Contains(who.GetGroups(), subject.Name)
		case rbacv1.ServiceAccountKind:
			home := subject.Namespace
			if home == "" {
				home = namespace
			}
			return home != "" && serviceaccount.MatchesUsername(home, subject.Name, who.GetName())
		default:
			return false
		}
	})
}

// ruleAllows tells whether the rule covers the request: verb, group, resource or */subresource, and name of a request
// for a resource; verb and path (a trailing * stands for any rest) of another.
func ruleAllows(rule *rbacv1.PolicyRule, request authorizer.Attributes) bool {
	if !hasOr(rule.Verbs, request.GetVerb(), rbacv1.VerbAll) {
		return false
	}
	if !request.IsResourceRequest() {
		return slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool {
			prefix, wildcard := strings.CutSuffix(url, "*")
			return url == request.GetPath() || wildcard && strings.HasPrefix(request.GetPath(), strings.TrimRight(prefix, "*"))
		})
	}
	if !hasOr(rule.APIGroups, request.GetAPIGroup(), rbacv1.APIGroupAll) {
		return false
	}
	resource := request.GetResource()
	anyOfSubresource := ""
	if subresource := request.GetSubresource(); subresource != "" {
		resource += "/" + subresource
		anyOfSubresource = "*/" + subresource
	}
	if !slices.ContainsFunc(rule.Resources, func(named string) bool {
		return named == rbacv1.ResourceAll || named == resource || anyOfSubresource != "" && named == anyOfSubresource
	}) {
		return false
	}
	return len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, request.GetName())
}

func hasOr(values []string, wanted, wildcard string) bool {
	return slices.ContainsFunc(values, func(value string) bool { return value == wanted || value == wildcard })
}
