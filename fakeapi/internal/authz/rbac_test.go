package authz_test

import (
	"context"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/authz"
)

// stored is a fixed set of roles and bindings.
type stored struct {
	roles           []*rbacv1.Role
	clusterRoles    []*rbacv1.ClusterRole
	bindings        []*rbacv1.RoleBinding
	clusterBindings []*rbacv1.ClusterRoleBinding
}

func (s stored) Role(_ context.Context, namespace, name string) (*rbacv1.Role, error) {
	for _, role := range s.roles {
		if role.Namespace == namespace && role.Name == name {
			return role, nil
		}
	}
	return nil, apierrors.NewNotFound(rbacv1.Resource("role"), name)
}

func (s stored) ClusterRole(_ context.Context, name string) (*rbacv1.ClusterRole, error) {
	for _, role := range s.clusterRoles {
		if role.Name == name {
			return role, nil
		}
	}
	return nil, apierrors.NewNotFound(rbacv1.Resource("clusterrole"), name)
}

func (s stored) RoleBindings(_ context.Context, namespace string) ([]*rbacv1.RoleBinding, error) {
	return slices.DeleteFunc(slices.Clone(s.bindings), func(b *rbacv1.RoleBinding) bool { return b.Namespace != namespace }), nil
}

func (s stored) ClusterRoleBindings(context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	return s.clusterBindings, nil
}

// fixture grants one thing to each user, named after what it is for.
var fixture = stored{
	roles: []*rbacv1.Role{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"configmaps"}}},
	}},
	clusterRoles: []*rbacv1.ClusterRole{
		{ObjectMeta: metav1.ObjectMeta{Name: "scaler"}, Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"update"}, APIGroups: []string{"apps"}, Resources: []string{"*/scale"}},
		}},
		{ObjectMeta: metav1.ObjectMeta{Name: "one-secret"}, Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"secrets"}, ResourceNames: []string{"mine"}},
		}},
		{ObjectMeta: metav1.ObjectMeta{Name: "prober"}, Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"get"}, NonResourceURLs: []string{"/livez/*", "/version"}},
		}},
		{ObjectMeta: metav1.ObjectMeta{Name: "everything"}, Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
		}},
	},
	bindings: []*rbacv1.RoleBinding{
		bind("dev", "readers", "Role", "reader", rbacv1.Subject{Kind: "User", Name: "reader"}),
		bind("dev", "local-account", "Role", "reader", rbacv1.Subject{Kind: "ServiceAccount", Name: "robot"}),
		bind("dev", "all-here", "ClusterRole", "everything", rbacv1.Subject{Kind: "User", Name: "owner"}),
		bind("dev", "broken", "Role", "gone", rbacv1.Subject{Kind: "User", Name: "unlucky"}),
	},
	clusterBindings: []*rbacv1.ClusterRoleBinding{
		bindCluster("scalers", "scaler", rbacv1.Subject{Kind: "Group", Name: "scalers"}),
		bindCluster("one-secret", "one-secret", rbacv1.Subject{Kind: "User", Name: "keeper"}),
		bindCluster("probers", "prober", rbacv1.Subject{Kind: "ServiceAccount", Namespace: "ops", Name: "probe"}),
		bindCluster("broken", "gone", rbacv1.Subject{Kind: "User", Name: "unlucky"}),
	},
}

func bind(namespace, name, kind, role string, subject rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		RoleRef:    rbacv1.RoleRef{Kind: kind, Name: role},
		Subjects:   []rbacv1.Subject{subject},
	}
}

func bindCluster(name, role string, subject rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{subject},
	}
}

// resource is a request for a resource: verb, group, resource[/subresource], namespace, name.
func resource(verb, group, resource, subresource, namespace, name string) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{
		Verb: verb, APIGroup: group, Resource: resource, Subresource: subresource, Namespace: namespace, Name: name, ResourceRequest: true,
	}
}

func path(verb, path string) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{Verb: verb, Path: path}
}

func TestAuthorize(t *testing.T) {
	const (
		allow     = authorizer.DecisionAllow
		noOpinion = authorizer.DecisionNoOpinion
	)
	tests := map[string]struct {
		user    string
		groups  []string
		request authorizer.AttributesRecord
		want    authorizer.Decision
		reason  string
	}{
		"role binding": {"reader", nil, resource("get", "", "configmaps", "", "dev", "x"), allow,
			`RBAC: allowed by RoleBinding "readers/dev" of Role "reader" to User "reader"`},
		"another verb":                       {"reader", nil, resource("delete", "", "configmaps", "", "dev", "x"), noOpinion, ""},
		"another group":                      {"reader", nil, resource("get", "apps", "configmaps", "", "dev", "x"), noOpinion, ""},
		"another resource":                   {"reader", nil, resource("get", "", "secrets", "", "dev", "x"), noOpinion, ""},
		"subresource of the resource":        {"reader", nil, resource("get", "", "configmaps", "status", "dev", "x"), noOpinion, ""},
		"another namespace":                  {"reader", nil, resource("get", "", "configmaps", "", "prod", "x"), noOpinion, ""},
		"role binding for all of them":       {"reader", nil, resource("list", "", "configmaps", "", "", ""), noOpinion, ""},
		"cluster role in a namespace":        {"owner", nil, resource("delete", "apps", "deployments", "scale", "dev", "x"), allow, `RBAC: allowed by RoleBinding "all-here/dev" of ClusterRole "everything" to User "owner"`},
		"cluster role in another":            {"owner", nil, resource("delete", "apps", "deployments", "", "prod", "x"), noOpinion, ""},
		"service account of the binding":     {"system:serviceaccount:dev:robot", nil, resource("list", "", "configmaps", "", "dev", ""), allow, `RBAC: allowed by RoleBinding "local-account/dev" of Role "reader" to ServiceAccount "robot/dev"`},
		"service account of elsewhere":       {"system:serviceaccount:prod:robot", nil, resource("list", "", "configmaps", "", "dev", ""), noOpinion, ""},
		"group and any resource's scale":     {"ann", []string{"scalers"}, resource("update", "apps", "deployments", "scale", "dev", "x"), allow, `RBAC: allowed by ClusterRoleBinding "scalers" of ClusterRole "scaler" to Group "scalers"`},
		"the resource of the scale":          {"ann", []string{"scalers"}, resource("update", "apps", "deployments", "", "dev", "x"), noOpinion, ""},
		"resource name":                      {"keeper", nil, resource("patch", "", "secrets", "", "prod", "mine"), allow, `RBAC: allowed by ClusterRoleBinding "one-secret" of ClusterRole "one-secret" to User "keeper"`},
		"another name":                       {"keeper", nil, resource("patch", "", "secrets", "", "prod", "yours"), noOpinion, ""},
		"resource name on a list":            {"keeper", nil, resource("list", "", "secrets", "", "prod", ""), noOpinion, ""},
		"path":                               {"system:serviceaccount:ops:probe", nil, path("get", "/version"), allow, `RBAC: allowed by ClusterRoleBinding "probers" of ClusterRole "prober" to ServiceAccount "probe/ops"`},
		"path below":                         {"system:serviceaccount:ops:probe", nil, path("get", "/livez/ping"), allow, `RBAC: allowed by ClusterRoleBinding "probers" of ClusterRole "prober" to ServiceAccount "probe/ops"`},
		"path beside":                        {"system:serviceaccount:ops:probe", nil, path("get", "/readyz"), noOpinion, ""},
		"path with another verb":             {"system:serviceaccount:ops:probe", nil, path("post", "/version"), noOpinion, ""},
		"a role for resources gives no path": {"owner", nil, path("get", "/version"), noOpinion, ""},
		"missing roles are told of": {"unlucky", nil, resource("get", "", "pods", "", "dev", "x"), noOpinion,
			`rbac: RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, role.rbac.authorization.k8s.io "gone" not found]`},
		"nobody":         {"stranger", nil, resource("get", "", "pods", "", "dev", "x"), noOpinion, ""},
		"system:masters": {"root", []string{"system:masters"}, path("delete", "/everything"), allow, ""},
	}
	auth := authz.New(fixture)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.request.User = &user.DefaultInfo{Name: test.user, Groups: test.groups}
			decision, reason, err := auth.Authorize(t.Context(), test.request)
			if err != nil {
				t.Fatal(err)
			}
			if decision != test.want || reason != test.reason {
				t.Errorf("got %v, %q\nwant %v, %q", decision, reason, test.want, test.reason)
			}
		})
	}
}

// The bootstrap roles let every user find out about the server and about themselves, and nothing else.
func TestBootstrapRoles(t *testing.T) {
	auth := authz.New(stored{clusterRoles: authz.BootstrapRoles(), clusterBindings: authz.BootstrapBindings()})
	authenticated, anonymous := []string{user.AllAuthenticated}, []string{user.AllUnauthenticated}
	tests := map[string]struct {
		groups  []string
		request authorizer.AttributesRecord
		want    authorizer.Decision
	}{
		"discovery":             {authenticated, path("get", "/apis/apps/v1"), authorizer.DecisionAllow},
		"openapi":               {authenticated, path("get", "/openapi/v3/api/v1"), authorizer.DecisionAllow},
		"anonymous discovery":   {anonymous, path("get", "/apis/apps/v1"), authorizer.DecisionNoOpinion},
		"anonymous version":     {anonymous, path("get", "/version"), authorizer.DecisionAllow},
		"access to oneself":     {authenticated, resource("create", "authorization.k8s.io", "selfsubjectaccessreviews", "", "", ""), authorizer.DecisionAllow},
		"access to others":      {authenticated, resource("create", "authorization.k8s.io", "subjectaccessreviews", "", "", ""), authorizer.DecisionNoOpinion},
		"who am I":              {authenticated, resource("create", "authentication.k8s.io", "selfsubjectreviews", "", "", ""), authorizer.DecisionAllow},
		"anything else":         {authenticated, resource("list", "", "configmaps", "", "default", ""), authorizer.DecisionNoOpinion},
		"monitoring":            {[]string{user.MonitoringGroup}, path("get", "/livez/ping"), authorizer.DecisionAllow},
		"anonymous self access": {anonymous, resource("create", "authorization.k8s.io", "selfsubjectaccessreviews", "", "", ""), authorizer.DecisionNoOpinion},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.request.User = &user.DefaultInfo{Name: "somebody", Groups: test.groups}
			if decision, reason, err := auth.Authorize(t.Context(), test.request); err != nil || decision != test.want {
				t.Errorf("got %v, %q, %v; want %v", decision, reason, err, test.want)
			}
		})
	}
}

func TestRulesFor(t *testing.T) {
	resources, nonResources, incomplete, err := authz.New(fixture).RulesFor(t.Context(), &user.DefaultInfo{Name: "keeper"}, "dev")
	if err != nil || incomplete {
		t.Fatalf("incomplete %v, err %v", incomplete, err)
	}
	if len(resources) != 1 || !slices.Equal(resources[0].GetResourceNames(), []string{"mine"}) || len(nonResources) != 0 {
		t.Errorf("got %d resource rules and %d others, want the one of the secret", len(resources), len(nonResources))
	}
	_, nonResources, _, _ = authz.New(fixture).RulesFor(t.Context(), &user.DefaultInfo{Name: "system:serviceaccount:ops:probe"}, "dev")
	if len(nonResources) != 1 || nonResources[0].GetNonResourceURLs()[0] != "/livez/*" {
		t.Errorf("got %d rules for paths, want the one of the prober", len(nonResources))
	}
	if _, _, _, err := authz.New(fixture).RulesFor(t.Context(), &user.DefaultInfo{Name: "unlucky"}, "dev"); err == nil {
		t.Error("no error for bindings whose roles are gone")
	}
}
