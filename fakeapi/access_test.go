package fakeapi_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

// access lets ann read config maps in the namespace default and impersonate bob and his group, and nobody else anything.
var access = []runtime.Object{
	&rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"configmaps"}}},
	},
	&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "ann"}, {Kind: "Group", APIGroup: rbacv1.GroupName, Name: "readers"}},
	},
	&rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "impersonate-bob"},
		Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"impersonate"}, APIGroups: []string{""}, Resources: []string{"users"}, ResourceNames: []string{"bob"}},
			{Verbs: []string{"impersonate"}, APIGroups: []string{""}, Resources: []string{"groups"}, ResourceNames: []string{"readers"}},
			{Verbs: []string{"impersonate"}, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"uids", "userextras/scopes"}},
		},
	},
	&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "impersonate-bob"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "impersonate-bob"},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "ann"}},
	},
}

func accessServer(t *testing.T) *fakeapi.Server {
	return start(t, fakeapi.Options{
		Objects: access,
		Users: []fakeapi.User{
			{Token: "anns", Name: "ann", UID: "1", Groups: []string{"staff"}, Extra: map[string][]string{"scopes": {"all"}}},
			{Token: "bobs", Name: "bob"},
		},
	})
}

func withToken(config *rest.Config, token string) *rest.Config {
	config.BearerToken = token
	return config
}

func withoutCredentials(config *rest.Config) *rest.Config { return rest.AnonymousClientConfig(config) }

func TestAccess(t *testing.T) {
	server := accessServer(t)
	other := start(t, fakeapi.Options{})
	certified, err := server.UserConfig("carl", "readers")
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := other.UserConfig("carl", "readers")
	if err != nil {
		t.Fatal(err)
	}
	foreign.Host, foreign.CAData = certified.Host, certified.CAData

	tests := map[string]struct {
		config    *rest.Config
		namespace string
		code      int // 0 when allowed
		message   string
	}{
		"administrator":       {server.RESTConfig(), "", 0, ""},
		"token":               {withToken(server.RESTConfig(), "anns"), "default", 0, ""},
		"token elsewhere":     {withToken(server.RESTConfig(), "anns"), "kube-system", 403, `configmaps is forbidden: User "ann" cannot list resource "configmaps" in API group "" in the namespace "kube-system"`},
		"everywhere":          {withToken(server.RESTConfig(), "anns"), "", 403, `configmaps is forbidden: User "ann" cannot list resource "configmaps" in API group "" at the cluster scope`},
		"user without rights": {withToken(server.RESTConfig(), "bobs"), "default", 403, `configmaps is forbidden: User "bob" cannot list resource "configmaps" in API group "" in the namespace "default"`},
		"unknown token":       {withToken(server.RESTConfig(), "nobodys"), "default", 401, "Unauthorized"},
		"no credentials":      {withoutCredentials(server.RESTConfig()), "default", 403, `configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" in the namespace "default"`},
		"certificate":         {certified, "default", 0, ""},
		"foreign certificate": {foreign, "default", 401, "Unauthorized"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := clientFor(t, test.config).CoreV1().ConfigMaps(test.namespace).List(t.Context(), metav1.ListOptions{})
			if test.code == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var status apierrors.APIStatus
			if !errors.As(err, &status) {
				t.Fatalf("error %v, want a Status", err)
			}
			if got := status.Status(); int(got.Code) != test.code || got.Message != test.message {
				t.Errorf("got %d %q\nwant %d %q", got.Code, got.Message, test.code, test.message)
			}
		})
	}
}

func whoami(t *testing.T, config *rest.Config) (authenticationv1.UserInfo, error) {
	t.Helper()
	review, err := clientFor(t, config).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return authenticationv1.UserInfo{}, err
	}
	return review.Status.UserInfo, nil
}

func TestSelfSubjectReview(t *testing.T) {
	server := accessServer(t)
	certified, err := server.UserConfig("carl", "readers")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		config *rest.Config
		want   string
	}{
		"token":         {withToken(server.RESTConfig(), "anns"), "ann 1 [staff system:authenticated] [all]"},
		"administrator": {server.RESTConfig(), "admin  [system:masters system:authenticated] []"},
		"certificate":   {certified, "carl  [readers system:authenticated] []"},
	} {
		t.Run(name, func(t *testing.T) {
			who, err := whoami(t, test.config)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(who.Username, " ", who.UID, " ", who.Groups, " ", who.Extra["scopes"]); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestImpersonation(t *testing.T) {
	server := accessServer(t)
	// Which of the ways to allow it a refusal names depends on which way was taken before.
	tests := map[string]struct {
		as   rest.ImpersonationConfig
		want string
		err  string
	}{
		"user":             {rest.ImpersonationConfig{UserName: "bob"}, "bob  [system:authenticated] []", ""},
		"groups":           {rest.ImpersonationConfig{UserName: "bob", Groups: []string{"readers"}}, "bob  [readers system:authenticated] []", ""},
		"uid and extra":    {rest.ImpersonationConfig{UserName: "bob", UID: "7", Extra: map[string][]string{"scopes": {"few"}}}, "bob 7 [system:authenticated] [few]", ""},
		"another user":     {rest.ImpersonationConfig{UserName: "carl"}, "", `is forbidden: User "ann" cannot impersonate`},
		"another group":    {rest.ImpersonationConfig{UserName: "bob", Groups: []string{"system:masters"}}, "", `is forbidden: User "ann" cannot impersonate`},
		"another extra":    {rest.ImpersonationConfig{UserName: "bob", Extra: map[string][]string{"power": {"all"}}}, "", `is forbidden: User "ann" cannot impersonate`},
		"groups of nobody": {rest.ImpersonationConfig{Groups: []string{"readers"}}, "", "without impersonating a user"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config := withToken(server.RESTConfig(), "anns")
			config.Impersonate = test.as
			who, err := whoami(t, config)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want one with %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(who.Username, " ", who.UID, " ", who.Groups, " ", who.Extra["scopes"]); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}

	// The rights are those of the impersonated user.
	config := server.RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: "somebody", Groups: []string{"readers"}}
	configMaps := clientFor(t, config).CoreV1().ConfigMaps("default")
	if _, err := configMaps.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("what the group may do: %v", err)
	}
	if _, err := configMaps.Create(t.Context(), configMap("probe"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("what the group may not do: %v", err)
	}
}

func TestAccessReviews(t *testing.T) {
	server := accessServer(t)
	asAdmin, asAnn := clientFor(t, server.RESTConfig()), clientFor(t, withToken(server.RESTConfig(), "anns"))
	list := &authorizationv1.ResourceAttributes{Verb: "list", Resource: "configmaps", Namespace: "default"}

	subject := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "ann", ResourceAttributes: list}}
	if answer, err := asAdmin.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), subject, metav1.CreateOptions{}); err != nil || !answer.Status.Allowed {
		t.Errorf("SubjectAccessReview: %+v, %v", answer, err)
	}
	if _, err := asAnn.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), subject, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("SubjectAccessReview by a user without rights: %v", err)
	}
	local := &authorizationv1.LocalSubjectAccessReview{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}, Spec: authorizationv1.SubjectAccessReviewSpec{User: "bob", ResourceAttributes: list}}
	if answer, err := asAdmin.AuthorizationV1().LocalSubjectAccessReviews("default").Create(t.Context(), local, metav1.CreateOptions{}); err != nil || answer.Status.Allowed {
		t.Errorf("LocalSubjectAccessReview: %+v, %v", answer, err)
	}
	self := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: list}}
	if answer, err := asAnn.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), self, metav1.CreateOptions{}); err != nil || !answer.Status.Allowed {
		t.Errorf("SelfSubjectAccessReview: %+v, %v", answer, err)
	}
	rules := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"}}
	answer, err := asAnn.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), rules, metav1.CreateOptions{})
	if err != nil || len(answer.Status.ResourceRules) == 0 || len(answer.Status.NonResourceRules) == 0 {
		t.Errorf("SelfSubjectRulesReview: %+v, %v", answer, err)
	}
}

// A change of roles holds from the next request on.
func TestRolesTakeEffectAtOnce(t *testing.T) {
	server := accessServer(t)
	admin, ann := clientFor(t, server.RESTConfig()), clientFor(t, withToken(server.RESTConfig(), "anns")).CoreV1().ConfigMaps("default")
	if _, err := ann.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := admin.RbacV1().RoleBindings("default").Delete(t.Context(), "reader", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := ann.List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("after the binding is gone: %v", err)
	}
}

func TestServiceAccountToken(t *testing.T) {
	server := start(t, fakeapi.Options{Objects: []runtime.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "robot"}},
	}})
	admin := clientFor(t, server.RESTConfig())
	request, err := admin.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "robot", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	who, err := whoami(t, withToken(server.RESTConfig(), request.Status.Token))
	if err != nil {
		t.Fatal(err)
	}
	want := "system:serviceaccount:default:robot [system:serviceaccounts system:serviceaccounts:default system:authenticated]"
	if got := fmt.Sprint(who.Username, " ", who.Groups); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for token, authenticated := range map[string]bool{request.Status.Token: true, "nobodys": false} {
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
		answer, err := admin.AuthenticationV1().TokenReviews().Create(t.Context(), review, metav1.CreateOptions{})
		if err != nil || answer.Status.Authenticated != authenticated {
			t.Errorf("TokenReview of %q: %+v, %v; want authenticated %v", token, answer, err, authenticated)
		}
	}
}
