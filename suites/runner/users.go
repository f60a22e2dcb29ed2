package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// users gives the users of a case their rights.
type users struct {
	server   *Server
	caseName string
	left     *leftovers
	known    []fixtures.User
}

// ensure binds the user to what it is allowed, unless that was done before, and waits until the server knows.
func (u *users) ensure(ctx context.Context, who *fixtures.User) error {
	if who == nil || slices.Contains(who.Groups, user.SystemPrivilegedGroup) {
		return nil
	}
	if slices.ContainsFunc(u.known, func(k fixtures.User) bool { return k.Name == who.Name && reflect.DeepEqual(k.Allow, who.Allow) }) {
		return nil
	}
	rules, err := policyRules(who.Allow)
	if err == nil && len(rules) > 0 {
		err = u.bind(ctx, who.Name, rules)
	}
	if err != nil {
		return fmt.Errorf("user %s: %w", who.Name, err)
	}
	u.known = append(u.known, *who)
	return nil
}

// policyRules reads the rules of a user; a user without any is allowed everything.
func policyRules(allow []fixtures.Object) ([]rbacv1.PolicyRule, error) {
	if allow == nil {
		return []rbacv1.PolicyRule{
			{Verbs: []string{rbacv1.VerbAll}, APIGroups: []string{rbacv1.APIGroupAll}, Resources: []string{rbacv1.ResourceAll}},
			{Verbs: []string{rbacv1.VerbAll}, NonResourceURLs: []string{rbacv1.NonResourceAll}},
		}, nil
	}
	rules := make([]rbacv1.PolicyRule, len(allow))
	for i, rule := range allow {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(rule, &rules[i], true); err != nil {
			return nil, fmt.Errorf("allow[%d]: %w", i, err)
		}
	}
	return rules, nil
}

// bind gives a user a cluster role of its own.
func (u *users) bind(ctx context.Context, name string, rules []rbacv1.PolicyRule) error {
	meta := metav1.ObjectMeta{Name: fmt.Sprintf("%s-user-%d", u.caseName, len(u.known)+1)}
	version := rbacv1.SchemeGroupVersion
	role := rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{APIVersion: version.String(), Kind: "ClusterRole"}, ObjectMeta: meta, Rules: rules}
	binding := rbacv1.ClusterRoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: version.String(), Kind: "ClusterRoleBinding"}, ObjectMeta: meta,
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
	}
	roles := resource{GroupVersionResource: version.WithResource("clusterroles")}
	bindings := resource{GroupVersionResource: version.WithResource("clusterrolebindings")}
	for _, made := range []struct {
		resource
		object any
	}{{roles, role}, {bindings, binding}} {
		u.left.expect(made.path("", meta.Name, ""))
		if _, err := u.server.client.post(ctx, made.path("", "", ""), made.object); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	if err := u.server.target.Settle(ctx, roles.GroupResource(), bindings.GroupResource()); err != nil {
		return fmt.Errorf("waiting until its rights take effect: %w", err)
	}
	return nil
}

// post creates an object of the suite's own as the administrator.
func (c *client) post(ctx context.Context, path string, object any) (*answer, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	a, err := c.do(ctx, &request{method: http.MethodPost, path: path, contentType: runtime.ContentTypeJSON, body: body})
	if err != nil {
		return nil, err
	}
	if !a.succeeded() {
		return nil, fmt.Errorf("POST %s: code %d: %s", path, a.code, a.problem())
	}
	return a, nil
}
