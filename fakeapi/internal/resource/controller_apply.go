package resource

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// applyAs merges an apply configuration, of the kind and version that the object is stored in, into a stored object, as
// server-side apply by a cluster's controller does, which takes over the fields of others.
func (c *Catalogue) applyAs(manager, subresource string, current runtime.Object, configuration any) (runtime.Object, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(configuration)
	if err != nil {
		return nil, err
	}
	applied := &unstructured.Unstructured{Object: content}
	kind := applied.GroupVersionKind()
	main, served := c.ForKind(kind)
	if !served {
		return nil, fmt.Errorf("%s is not served", kind)
	}
	resource, served := c.Lookup(main.GVR, subresource)
	if !served {
		return nil, fmt.Errorf("%s/%s is not served", main.GVR, subresource)
	}
	updated, err := resource.Scope().FieldManager.Apply(current.DeepCopyObject(), applied, manager, true)
	if err != nil {
		return nil, err
	}
	accessor, err := meta.Accessor(updated)
	if err != nil {
		return nil, err
	}
	restampManagedFields(accessor, current, c.clock.Now())
	updated.GetObjectKind().SetGroupVersionKind(kind)
	return updated, nil
}
