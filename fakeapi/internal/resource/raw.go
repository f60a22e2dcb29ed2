package resource

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

// Put writes an object under its kind and name, in place of what may be there, past strategies and admission. Defaults,
// uid and creation time are filled in where they are missing.
func (c *Catalogue) Put(ctx context.Context, object runtime.Object) error {
	gvk := object.GetObjectKind().GroupVersionKind()
	if gvk.Empty() {
		kinds, _, err := c.scheme.ObjectKinds(object)
		if err != nil {
			return err
		}
		gvk = kinds[0]
	}
	v, err := c.storedKind(gvk)
	if err != nil {
		return err
	}
	stored, err := v.asStored(object, gvk)
	if err != nil {
		return err
	}
	accessor, err := meta.Accessor(stored)
	if err != nil {
		return err
	}
	switch {
	case accessor.GetName() == "":
		return fmt.Errorf("%s without metadata.name", gvk.Kind)
	case v.namespaced && accessor.GetNamespace() == "":
		return fmt.Errorf("%s %s without metadata.namespace", gvk.Kind, accessor.GetName())
	case !v.namespaced:
		accessor.SetNamespace("")
	}
	if accessor.GetUID() == "" {
		accessor.SetUID(c.newUID())
	}
	if at := accessor.GetCreationTimestamp(); at.IsZero() {
		accessor.SetCreationTimestamp(c.now())
	}
	if err := c.store.Put(v.key(accessor.GetNamespace(), accessor.GetName()), stored); err != nil {
		return err
	}
	v.wrote(ctx)
	return nil
}

// StoreRaw is Put of a JSON object, which may be of a version that is not served any more. Fields that the API does not
// know are dropped, as they are when the real API server reads its store.
func (c *Catalogue) StoreRaw(ctx context.Context, data []byte) error {
	var object unstructured.Unstructured
	if err := object.UnmarshalJSON(data); err != nil {
		return fmt.Errorf("raw object: %w", err)
	}
	return c.Put(ctx, &object)
}

// Stored returns the objects of a resource in a namespace, or in all when it is empty, in byte-wise order of namespace
// and name and in the version that they are stored in. They are shared and must not be changed; an object that did not
// change is the same pointer from call to call.
func (c *Catalogue) Stored(resource schema.GroupResource, namespace string) []runtime.Object {
	objects, _ := c.store.List(resource, namespace)
	return objects
}

// storedKind finds how objects of a kind are stored, by a version that is served or by another one of the same kind.
func (c *Catalogue) storedKind(gvk schema.GroupVersionKind) (*view, error) {
	var other *view
	for _, resource := range c.Resources() {
		v, ok := viewOf(resource)
		if !ok {
			continue
		}
		if resource.GVK == gvk {
			return v, nil
		}
		if resource.GVK.GroupKind() == gvk.GroupKind() {
			other = v
		}
	}
	if other == nil {
		return nil, fmt.Errorf("no resource for kind %s in %s", gvk.Kind, gvk.GroupVersion())
	}
	return other, nil
}

// viewOf returns the view behind a resource whose objects are stored.
func viewOf(r *Resource) (*view, bool) {
	stored, ok := storeOf(r)
	if !ok {
		return nil, false
	}
	return stored.view, true
}

// storeOf returns the ordinary storage behind a resource whose objects are stored.
func storeOf(r *Resource) (*REST, bool) {
	stored, ok := r.storage.(interface{ base() *REST })
	if !ok || r.Subresource != "" {
		return nil, false
	}
	return stored.base(), true
}

// mustStore is storeOf for resources that are known to be stored.
func mustStore(r *Resource) *REST { return r.storage.(interface{ base() *REST }).base() }

// asStored returns an object in the stored version, defaulted in both versions. The object itself is left alone.
func (v *view) asStored(object runtime.Object, gvk schema.GroupVersionKind) (runtime.Object, error) {
	if v.custom != nil {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(gvk)
		return v.custom.Kind.Write(u)
	}
	scheme := v.catalogue.scheme
	typed := object.DeepCopyObject()
	if u, ok := object.(*unstructured.Unstructured); ok {
		var err error
		if typed, err = scheme.New(gvk); err != nil {
			return nil, err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, typed); err != nil {
			return nil, fmt.Errorf("%s %s: %w", gvk.Kind, u.GetName(), err)
		}
	}
	typed.GetObjectKind().SetGroupVersionKind(gvk)
	scheme.Default(typed)
	if gvk == v.storedKind {
		return typed, nil
	}
	stored, err := v.convert(typed, v.newStored(), v.storedKind)
	if err != nil {
		return nil, err
	}
	scheme.Default(stored)
	return stored, nil
}

var errNotStored = errors.New("objects of this kind are not stored")

// keyOf returns where an object of a served kind is stored.
func (c *Catalogue) keyOf(gvk schema.GroupVersionKind, namespace, name string) (store.Key, *view, error) {
	resource, ok := c.ForKind(gvk)
	if !ok {
		return store.Key{}, nil, fmt.Errorf("no resource for kind %s in %s", gvk.Kind, gvk.GroupVersion())
	}
	v, ok := viewOf(resource)
	if !ok {
		return store.Key{}, nil, errNotStored
	}
	if !v.namespaced {
		namespace = ""
	}
	return v.key(namespace, name), v, nil
}
