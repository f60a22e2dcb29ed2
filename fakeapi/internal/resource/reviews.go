package resource

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
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
