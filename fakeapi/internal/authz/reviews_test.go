package authz_test

import (
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/authz"
)

var (
	readConfig = &authorizationv1.ResourceAttributes{Verb: "get", Resource: "configmaps", Namespace: "dev", Name: "x"}
	probe      = &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/version"}
)

func TestSubjectAccessReview(t *testing.T) {
	tests := map[string]struct {
		review authorizationv1.SubjectAccessReview
		want   authorizationv1.SubjectAccessReviewStatus
		err    string // part of the error
	}{
		"allowed": {
			review: authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "reader", ResourceAttributes: readConfig}},
			want:   authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: `RBAC: allowed by RoleBinding "readers/dev" of Role "reader" to User "reader"`},
		},
		"not allowed is not denied": {
			review: authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "stranger", ResourceAttributes: readConfig}},
		},
		"path": {
			review: authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "system:serviceaccount:ops:probe", NonResourceAttributes: probe}},
			want:   authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: `RBAC: allowed by ClusterRoleBinding "probers" of ClusterRole "prober" to ServiceAccount "probe/ops"`},
		},
		"groups alone": {
			review: authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{Groups: []string{"system:masters"}, ResourceAttributes: readConfig}},
			want:   authorizationv1.SubjectAccessReviewStatus{Allowed: true},
		},
		"selector that cannot be parsed": {
			review: authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "stranger", ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: "list", Resource: "pods", LabelSelector: &authorizationv1.LabelSelectorAttributes{RawSelector: "a in (("},
			}}},
			want: authorizationv1.SubjectAccessReviewStatus{EvaluationError: "spec.resourceAttributes.labelSelector ignored due to parse error"},
		},
		"selector of which a part is known": {
			review: authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "stranger", ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: "list", Resource: "pods", FieldSelector: &authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{
					{Key: "spec.nodeName", Operator: metav1.FieldSelectorOpIn, Values: []string{"a"}},
					{Key: "spec.nodeName", Operator: "Near", Values: []string{"a"}},
				}},
			}}},
			want: authorizationv1.SubjectAccessReviewStatus{EvaluationError: "spec.resourceAttributes.fieldSelector partially ignored due to parse error"},
		},
		"nobody": {
			review: authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: readConfig}},
			err:    `spec.user: Invalid value: "": at least one of user or group must be specified`,
		},
		"nothing": {
			review: authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "reader"}},
			err:    "exactly one of nonResourceAttributes or resourceAttributes must be specified",
		},
		"both": {
			review: authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "reader", ResourceAttributes: readConfig, NonResourceAttributes: probe}},
			err:    "exactly one of nonResourceAttributes or resourceAttributes must be specified",
		},
		"metadata": {
			review: authorizationv1.SubjectAccessReview{
				ObjectMeta: metav1.ObjectMeta{Name: "x"},
				Spec:       authorizationv1.SubjectAccessReviewSpec{User: "reader", ResourceAttributes: readConfig},
			},
			err: "must be empty",
		},
		"selector in two forms": {
			review: authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "stranger", ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: "list", Resource: "pods", LabelSelector: &authorizationv1.LabelSelectorAttributes{
					RawSelector: "a=b", Requirements: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpExists}},
				},
			}}},
			err: "spec.resourceAttributes.labelSelector.rawSelector: Invalid value",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := authz.Review(t.Context(), authz.New(fixture), &test.review)
			if test.err != "" {
				if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want an Invalid one with %q", err, test.err)
				}
				return
			}
			if err != nil || test.review.Status != test.want {
				t.Errorf("got %+v, %v\nwant %+v", test.review.Status, err, test.want)
			}
		})
	}
}

func TestLocalSubjectAccessReview(t *testing.T) {
	spec := authorizationv1.SubjectAccessReviewSpec{User: "reader", ResourceAttributes: readConfig}
	review := &authorizationv1.LocalSubjectAccessReview{ObjectMeta: metav1.ObjectMeta{Namespace: "dev"}, Spec: spec}
	if err := authz.Review(t.Context(), authz.New(fixture), review); err != nil || !review.Status.Allowed {
		t.Errorf("got %+v, %v; want allowed", review.Status, err)
	}
	elsewhere := &authorizationv1.LocalSubjectAccessReview{ObjectMeta: metav1.ObjectMeta{Namespace: "prod"}, Spec: spec}
	if err := authz.Review(t.Context(), authz.New(fixture), elsewhere); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "must match metadata.namespace") {
		t.Errorf("for a resource in another namespace: %v", err)
	}
}

func TestSelfReviews(t *testing.T) {
	auth := authz.New(fixture)
	ctx := request.WithUser(t.Context(), &user.DefaultInfo{Name: "reader"})

	access := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: readConfig}}
	if err := authz.Review(ctx, auth, access); err != nil || !access.Status.Allowed {
		t.Errorf("access: got %+v, %v; want allowed", access.Status, err)
	}
	rules := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "dev"}}
	if err := authz.Review(ctx, auth, rules); err != nil || len(rules.Status.ResourceRules) != 1 || rules.Status.ResourceRules[0].Resources[0] != "configmaps" {
		t.Errorf("rules: got %+v, %v; want those for configmaps", rules.Status, err)
	}
	if err := authz.Review(ctx, auth, &authorizationv1.SelfSubjectRulesReview{}); !apierrors.IsBadRequest(err) {
		t.Errorf("rules without a namespace: %v", err)
	}
	if err := authz.Review(t.Context(), auth, &authorizationv1.SelfSubjectAccessReview{Spec: access.Spec}); !apierrors.IsBadRequest(err) {
		t.Errorf("without a user: %v", err)
	}
}
