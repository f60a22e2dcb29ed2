package fakeapi

import (
	"context"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/authz"
)

// audience is that of the API server itself.
const audience = "https://kubernetes.default.svc"

// reviewer answers the reviews of package authentication itself and leaves those of authorization to authz.
func (s *Server) reviewer(auth authz.Authorizer) func(context.Context, runtime.Object) error {
	return func(ctx context.Context, obj runtime.Object) error {
		switch review := obj.(type) {
		case *authenticationv1.TokenReview:
			return s.reviewToken(ctx, review)
		case *authenticationv1.SelfSubjectReview:
			who, ok := request.UserFrom(ctx)
			if !ok {
				return apierrors.NewBadRequest("no user present on request")
			}
			review.ObjectMeta = metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(s.now())}
			review.Status.UserInfo = userInfo(who)
			return nil
		default:
			return authz.Review(ctx, auth, obj)
		}
	}
}

// reviewToken tells whose token it is. Every token is good for the API server and for no other audience.
func (s *Server) reviewToken(ctx context.Context, review *authenticationv1.TokenReview) error {
	if review.Spec.Token == "" {
		return apierrors.NewBadRequest("token is required for TokenReview in authentication")
	}
	response, ok, err := s.tokens.AuthenticateToken(ctx, review.Spec.Token)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	review.Status = authenticationv1.TokenReviewStatus{}
	if !ok {
		review.Status.Error = "invalid bearer token"
		return nil
	}
	who := &user.DefaultInfo{
		Name: response.User.GetName(), UID: response.User.GetUID(), Extra: response.User.GetExtra(),
		Groups: append(append([]string(nil), response.User.GetGroups()...), user.AllAuthenticated),
	}
	review.Status.Authenticated = true
	review.Status.User = userInfo(who)
	review.Status.Audiences = []string{audience}
	return nil
}

func userInfo(who user.Info) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups()}
	for key, values := range who.GetExtra() {
		if info.Extra == nil {
			info.Extra = map[string]authenticationv1.ExtraValue{}
		}
		info.Extra[key] = values
	}
	return info
}

// issueToken makes a token for a service account. It does not expire before the server ends.
func (s *Server) issueToken(_ context.Context, account *corev1.ServiceAccount, request *authenticationv1.TokenRequest) error {
	seconds := int64(3600)
	if request.Spec.ExpirationSeconds != nil {
		seconds = *request.Spec.ExpirationSeconds
	}
	request.Status.Token = s.tokens.Issue(serviceaccount.UserInfo(account.Namespace, account.Name, string(account.UID)))
	request.Status.ExpirationTimestamp = metav1.NewTime(s.now().Add(time.Duration(seconds) * time.Second))
	return nil
}

// now is the time by the server's clock.
func (s *Server) now() time.Time {
	if s.options.Clock != nil {
		return s.options.Clock.Now()
	}
	return time.Now()
}
