package fakeapi_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/client-go/kubernetes"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

// readers lets everybody read, and says why not where somebody writes.
func readers(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.IsReadOnly() || a.GetResource() == "selfsubjectaccessreviews" || a.GetResource() == "selfsubjectrulesreviews" {
		return authorizer.DecisionAllow, "everybody reads", nil
	}
	return authorizer.DecisionDeny, "nobody writes", nil
}

func TestAuthorizer(t *testing.T) {
	for _, tt := range []struct {
		name       string
		authorizer authorizer.Authorizer
		mayWrite   bool
		reason     string // of the access review
		rules      int    // that a SelfSubjectRulesReview lists
	}{
		{"roles", nil, false, "", 2},
		{"always allow", authorizerfactory.NewAlwaysAllowAuthorizer(), true, "", 1},
		{"custom", authorizer.AuthorizerFunc(readers), false, "nobody writes", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server, err := fakeapi.Start(t.Context(), fakeapi.Options{Authorizer: tt.authorizer})
			if err != nil {
				t.Fatal(err)
			}
			defer server.Stop()
			config, err := server.UserConfig("somebody")
			if err != nil {
				t.Fatal(err)
			}
			client := kubernetes.NewForConfigOrDie(config)

			_, err = client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
			if tt.mayWrite && err != nil || !tt.mayWrite && !apierrors.IsForbidden(err) {
				t.Errorf("a creation: %v", err)
			}
			review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "create", Resource: "secrets", Namespace: "default"}},
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if review.Status.Allowed != tt.mayWrite || review.Status.Reason != tt.reason {
				t.Errorf("the review says %+v, want %v and reason %q", review.Status, tt.mayWrite, tt.reason)
			}
			rules, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), &authorizationv1.SelfSubjectRulesReview{
				Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"},
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(rules.Status.ResourceRules) != tt.rules || rules.Status.Incomplete != (tt.rules == 0) {
				t.Errorf("the rules are %+v, want %d", rules.Status, tt.rules)
			}
		})
	}
}

// What users may grant goes by the stored roles whatever the authorizer is, unless that lets them escalate or bind.
func TestGrantsUnderAnAuthorizer(t *testing.T) {
	const notHeld = `user "somebody" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:`
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "pods"}, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "pods"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
	}
	for _, tt := range []struct {
		name        string
		verbs       []string // that the authorizer allows
		role, binds string   // how the creations are refused
	}{
		{"create", []string{"create"}, notHeld, notHeld},
		{"escalate", []string{"create", "escalate"}, "", notHeld},
		{"bind", []string{"create", "bind"}, notHeld, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := start(t, fakeapi.Options{Authorizer: authorizer.AuthorizerFunc(
				func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
					if slices.Contains(tt.verbs, a.GetVerb()) {
						return authorizer.DecisionAllow, "", nil
					}
					return authorizer.DecisionNoOpinion, "", nil
				},
			)})
			config, err := server.UserConfig("somebody")
			if err != nil {
				t.Fatal(err)
			}
			client := clientFor(t, config).RbacV1()
			_, err = client.ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
			if !refused(err, tt.role) {
				t.Errorf("a role: %v, want %q", err, tt.role)
			}
			_, err = client.ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
			if !refused(err, tt.binds) {
				t.Errorf("a binding: %v, want %q", err, tt.binds)
			}
		})
	}
}

// refused tells whether the error is a 403 with that in its message, or none where there is to be none.
func refused(err error, message string) bool {
	if message == "" {
		return err == nil
	}
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), message)
}
