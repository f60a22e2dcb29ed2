package admission

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Namespaces looks up namespaces as they are stored now.
type Namespaces interface {
	// Namespace returns the namespace, or an apierrors.IsNotFound error. The caller must not change it.
	Namespace(ctx context.Context, name string) (*corev1.Namespace, error)
}

// Configurations lists the stored webhook configurations and policies as they are now, each list in byte-wise order of
// metadata.name. An object whose stored version did not change is the same pointer from call to call, so that what was
// compiled from it can be kept by it; callers must not change the objects.
type Configurations interface {
	MutatingWebhooks() []*admissionregistrationv1.MutatingWebhookConfiguration
	ValidatingWebhooks() []*admissionregistrationv1.ValidatingWebhookConfiguration
	ValidatingPolicies() []*admissionregistrationv1.ValidatingAdmissionPolicy
	ValidatingPolicyBindings() []*admissionregistrationv1.ValidatingAdmissionPolicyBinding
	MutatingPolicies() []*admissionregistrationv1.MutatingAdmissionPolicy
	MutatingPolicyBindings() []*admissionregistrationv1.MutatingAdmissionPolicyBinding
}

// Params looks up stored objects of any kind, in the version asked for: the parameters of policies, the services of
// webhooks, and what built-in plugins go by.
type Params interface {
	// Scope tells whether the kind is served and, if so, whether it is namespaced.
	Scope(kind schema.GroupVersionKind) (namespaced, served bool)
	// Param returns one object, or an apierrors.IsNotFound error.
	Param(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (runtime.Object, error)
	// ListParams returns the objects that the selector selects, in the namespace or, when it is empty, in all, in
	// order of namespace and name.
	ListParams(ctx context.Context, kind schema.GroupVersionKind, namespace string, selector labels.Selector) ([]runtime.Object, error)
}

// storedServices are the stored services, as the calls of webhooks look them up.
type storedServices struct{ Params }

func (s storedServices) lookUp(ctx context.Context, namespace, name string) (*corev1.Service, error) {
	object, err := s.Param(ctx, corev1.SchemeGroupVersion.WithKind("Service"), namespace, name)
	if err != nil {
		return nil, err
	}
	service, ok := object.(*corev1.Service)
	if !ok {
		return nil, fmt.Errorf("service %s/%s is stored as a %T", namespace, name, object)
	}
	return service, nil
}
