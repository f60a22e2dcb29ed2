package resource

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"
)

// reviewREST is the storage of kinds that are created to be answered and that are not kept, such as a
// SubjectAccessReview.
type reviewREST struct {
	*view
}

var (
	_ rest.Creater              = &reviewREST{}
	_ rest.Scoper               = &reviewREST{}
	_ rest.SingularNameProvider = &reviewREST{}
)

func reviews(v *view) rest.Storage { return &reviewREST{v} }

// New implements rest.Storage.
func (r *reviewREST) New() runtime.Object { return r.newObject() }

// Destroy implements rest.Storage; there is nothing to release.
func (r *reviewREST) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (r *reviewREST) NamespaceScoped() bool { return r.namespaced }

// GetSingularName implements rest.SingularNameProvider.
func (r *reviewREST) GetSingularName() string { return r.singular }

// Create implements rest.Creater.
func (r *reviewREST) Create(ctx context.Context, object runtime.Object, validation rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	if r.strategy.validate != nil {
		if errs := r.strategy.validate(object); len(errs) > 0 {
			return nil, apierrors.NewInvalid(r.kind.GroupKind(), "", errs)
		}
	}
	if validation != nil {
		if err := validation(ctx, object.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	review := r.catalogue.hooks.Review
	if review == nil {
		return nil, apierrors.NewMethodNotSupported(r.resource.GroupResource(), "create")
	}
	if err := review(ctx, object); err != nil {
		return nil, err
	}
	return object, nil
}

// tokenREST is the storage of serviceaccounts/token.
type tokenREST struct {
	parent *REST
}

var _ rest.NamedCreater = &tokenREST{}

// New implements rest.Storage.
func (t *tokenREST) New() runtime.Object { return &authenticationv1.TokenRequest{} }

// Destroy implements rest.Storage; there is nothing to release.
func (t *tokenREST) Destroy() {}

// Create implements rest.NamedCreater.
func (t *tokenREST) Create(ctx context.Context, name string, object runtime.Object, validation rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	tokenRequest := object.(*authenticationv1.TokenRequest)
	found, err := t.parent.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	account := found.(*corev1.ServiceAccount)
	if tokenRequest.Name == "" {
		tokenRequest.Name = account.Name
	}
	if tokenRequest.Namespace == "" {
		tokenRequest.Namespace = account.Namespace
	}
	if tokenRequest.Name != account.Name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in TokenRequest object")
	}
	if tokenRequest.Namespace != request.NamespaceValue(ctx) {
		return nil, apierrors.NewBadRequest("namespace in URL does not match namespace in TokenRequest object")
	}
	tokenRequest.CreationTimestamp = t.parent.now()
	tokenRequest.Status = authenticationv1.TokenRequestStatus{}
	if validation != nil {
		if err := validation(ctx, tokenRequest.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	if dryrun.IsDryRun(options.DryRun) {
		return tokenRequest, nil
	}
	issue := t.parent.catalogue.hooks.IssueToken
	if issue == nil {
		return nil, apierrors.NewMethodNotSupported(t.parent.resource.GroupResource(), "create")
	}
	if err := issue(ctx, account, tokenRequest); err != nil {
		return nil, err
	}
	return tokenRequest, nil
}
