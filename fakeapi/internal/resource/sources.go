package resource

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/storage"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/openapi"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource/fieldschema"
)

// Sources is what admission looks up, read from the store at the moment of the call, so that every write has taken
// effect when it is answered. It implements admission.Namespaces, admission.Configurations and admission.Params.
type Sources struct {
	catalogue *Catalogue
}

// Sources returns what admission looks up.
func (c *Catalogue) Sources() *Sources { return &Sources{c} }

// Namespace returns a namespace as it is stored, or an apierrors.IsNotFound error. It must not be changed.
func (s *Sources) Namespace(_ context.Context, name string) (*corev1.Namespace, error) {
	object, err := s.catalogue.store.Get(namespaceKey(name))
	if storage.IsNotFound(err) {
		return nil, apierrors.NewNotFound(corev1.Resource("namespaces"), name)
	}
	if err != nil {
		return nil, err
	}
	return object.(*corev1.Namespace), nil
}

// MutatingWebhooks returns the stored configurations in order of name. They must not be changed.
func (s *Sources) MutatingWebhooks() []*admissionregistrationv1.MutatingWebhookConfiguration {
	return storedAs[*admissionregistrationv1.MutatingWebhookConfiguration](s.catalogue, "mutatingwebhookconfigurations")
}

// ValidatingWebhooks returns the stored configurations in order of name. They must not be changed.
func (s *Sources) ValidatingWebhooks() []*admissionregistrationv1.ValidatingWebhookConfiguration {
	return storedAs[*admissionregistrationv1.ValidatingWebhookConfiguration](s.catalogue, "validatingwebhookconfigurations")
}

// ValidatingPolicies returns the stored policies in order of name. They must not be changed.
func (s *Sources) ValidatingPolicies() []*admissionregistrationv1.ValidatingAdmissionPolicy {
	return storedAs[*admissionregistrationv1.ValidatingAdmissionPolicy](s.catalogue, "validatingadmissionpolicies")
}

// ValidatingPolicyBindings returns the stored bindings in order of name. They must not be changed.
func (s *Sources) ValidatingPolicyBindings() []*admissionregistrationv1.ValidatingAdmissionPolicyBinding {
	return storedAs[*admissionregistrationv1.ValidatingAdmissionPolicyBinding](s.catalogue, "validatingadmissionpolicybindings")
}

// MutatingPolicies returns the stored policies in order of name. They must not be changed.
func (s *Sources) MutatingPolicies() []*admissionregistrationv1.MutatingAdmissionPolicy {
	return storedAs[*admissionregistrationv1.MutatingAdmissionPolicy](s.catalogue, "mutatingadmissionpolicies")
}

// MutatingPolicyBindings returns the stored bindings in order of name. They must not be changed.
func (s *Sources) MutatingPolicyBindings() []*admissionregistrationv1.MutatingAdmissionPolicyBinding {
	return storedAs[*admissionregistrationv1.MutatingAdmissionPolicyBinding](s.catalogue, "mutatingadmissionpolicybindings")
}

func storedAs[T runtime.Object](c *Catalogue, resource string) []T {
	objects, _ := c.store.List(schema.GroupResource{Group: admissionregistrationv1.GroupName, Resource: resource}, "")
	list := make([]T, len(objects))
	for i, object := range objects {
		list[i] = object.(T)
	}
	return list
}

// Scope tells whether a kind is served and, if so, whether it is namespaced.
func (s *Sources) Scope(kind schema.GroupVersionKind) (namespaced, served bool) {
	resource, ok := s.catalogue.ForKind(kind)
	return ok && resource.Namespaced, ok
}

// Param returns an object in the version of the kind, or an apierrors.IsNotFound error.
func (s *Sources) Param(_ context.Context, kind schema.GroupVersionKind, namespace, name string) (runtime.Object, error) {
	key, v, err := s.catalogue.keyOf(kind, namespace, name)
	if err != nil {
		return nil, err
	}
	stored, err := s.catalogue.store.Get(key)
	if storage.IsNotFound(err) {
		return nil, apierrors.NewNotFound(v.resource.GroupResource(), name)
	}
	if err != nil {
		return nil, err
	}
	return v.inKind(stored)
}

// ListParams returns the selected objects in the version of the kind, of one namespace or, when it is empty, of all, in
// order of namespace and name.
func (s *Sources) ListParams(_ context.Context, kind schema.GroupVersionKind, namespace string, selector labels.Selector) ([]runtime.Object, error) {
	key, v, err := s.catalogue.keyOf(kind, namespace, "")
	if err != nil {
		return nil, err
	}
	var params []runtime.Object
	for _, stored := range s.catalogue.Stored(key.Resource, key.Namespace) {
		accessor, err := meta.Accessor(stored)
		if err != nil {
			return nil, err
		}
		if !selector.Matches(labels.Set(accessor.GetLabels())) {
			continue
		}
		param, err := v.inKind(stored)
		if err != nil {
			return nil, err
		}
		params = append(params, param)
	}
	return params, nil
}

// TypeConverter returns the schema by which a mutating policy's applyConfiguration is merged into objects of a kind, or nil
// where there is none. As in the API it is that of the OpenAPI document of the kind's own group version, which kinds that
// only subresources have are not in: what is converted by it fails for them.
func (s *Sources) TypeConverter(kind schema.GroupVersionKind) managedfields.TypeConverter {
	c := s.catalogue
	if !c.scheme.Recognizes(kind) {
		if _, v, err := c.keyOf(kind, "", ""); err == nil && v.custom != nil {
			return lazyTypes{v.custom.Kind}
		}
		return nil
	}
	// For most kinds it says what the field schema does, which is faster to have.
	if _, ok := c.ForKind(kind); ok && fieldschema.Has(c.scheme, kind) {
		return fieldschema.Converter{Scheme: c.scheme}
	}
	converter, err := openapi.TypeConverter(kind.GroupVersion())
	if err != nil {
		return nil
	}
	return converter
}

// inKind returns a stored object, itself where no conversion is needed, so that what was derived from it can be kept by
// it.
func (v *view) inKind(stored runtime.Object) (runtime.Object, error) {
	if v.kind == v.storedKind && v.custom == nil {
		return stored, nil
	}
	return v.read(stored)
}
