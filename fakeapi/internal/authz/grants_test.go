package authz_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/authz"
)

// TestGrants shows whom the check is about. What it goes by, the recorded exchanges of package fakeapi show.
func TestGrants(t *testing.T) {
	role := func(verb, resource string) *rbacv1.Role {
		return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: []rbacv1.PolicyRule{
			{Verbs: []string{verb}, APIGroups: []string{""}, Resources: []string{resource}},
		}}
	}
	finalized := role("delete", "nodes")
	finalized.Finalizers = []string{"example.com/wait"}
	tests := map[string]struct {
		who         user.Info // nil for a request without a user
		object, old runtime.Object
		err         string // part of the error
	}{
		"held":                   {who: &user.DefaultInfo{Name: "reader"}, object: role("get", "configmaps")},
		"not held":               {who: &user.DefaultInfo{Name: "reader"}, object: role("delete", "configmaps"), err: `{APIGroups:[""], Resources:["configmaps"], Verbs:["delete"]}`},
		"held by a cluster role": {who: &user.DefaultInfo{Name: "owner"}, object: role("delete", "nodes")},
		"a master":               {who: &user.DefaultInfo{Name: "root", Groups: []string{user.SystemPrivilegedGroup}}, object: role("delete", "nodes")},
		"nobody":                 {object: role("get", "configmaps"), err: "no user on context"},
		"what grants nothing":    {object: &corev1.ConfigMap{}},
		"a finalizer":            {who: &user.DefaultInfo{Name: "reader"}, object: finalized, old: role("delete", "nodes")},
		"a finalizer and a rule": {who: &user.DefaultInfo{Name: "reader"}, object: finalized, old: role("get", "configmaps"), err: `Resources:["nodes"]`},
	}
	grants := authz.NewGrants(fixture, authz.New(fixture))
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ctx := request.WithNamespace(t.Context(), "dev")
			if test.who != nil {
				ctx = request.WithUser(ctx, test.who)
			}
			err := grants.Check(ctx, test.object, test.old)
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("error %v, want %q", err, test.err)
			}
		})
	}
}
