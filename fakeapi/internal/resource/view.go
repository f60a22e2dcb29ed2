package resource

import (
	"context"
	"fmt"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource/crd"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

// view is a kind in one of the versions that it is served in.
type view struct {
	catalogue *Catalogue
	// resource and kind are as served.
	resource   schema.GroupVersionResource
	kind       schema.GroupVersionKind
	namespaced bool
	singular   string
	shortNames []string
	categories []string
	// stored is what the objects are kept under, storedKind what as.
	stored     schema.GroupResource
	storedKind schema.GroupVersionKind
	// strategy takes objects in the served version.
	strategy strategy
	// hasStatus is whether there is a status that only the status subresource changes.
	hasStatus bool
	// resets are the fields that a write to the resource itself does not change.
	resets map[fieldpath.APIVersion]*fieldpath.Set

	// custom is the version of a custom kind, and conversions what lists have of it; nil for built-in kinds.
	custom      *crd.Version
	conversions *conversions
	// written is called after each write; may be nil.
	written func(ctx context.Context)
	// follower tells which field manager of the server's own made a change of a stored object, which followed a write at once
	// and does not make an object out of date that a client has from before; empty for none. May be nil.
	follower func(before, after runtime.Object) (manager string)

	newObject func() runtime.Object
	newList   func() runtime.Object
	typer     runtime.ObjectTyper
	convertor runtime.ObjectConvertor
	table     rest.TableConvertor
}

// read returns a stored object in the served version. What lies below its metadata may be shared and must not be
// changed.
func (v *view) read(stored runtime.Object) (runtime.Object, error) {
	if v.custom != nil {
		return v.readCustom(stored)
	}
	if v.kind == v.storedKind {
		return shallowCopy(stored), nil
	}
	return v.convert(stored, v.newObject(), v.kind)
}

// readListed is read for lists and watches.
func (v *view) readListed(stored runtime.Object) (runtime.Object, error) {
	if v.custom != nil && v.kind != v.storedKind {
		return v.conversions.read(stored.(*unstructured.Unstructured))
	}
	return v.read(stored)
}

// edit returns a copy of a stored object in the served version.
func (v *view) edit(stored runtime.Object) (runtime.Object, error) {
	if v.custom != nil {
		return v.custom.Read(stored.(*unstructured.Unstructured))
	}
	if v.kind == v.storedKind {
		return stored.DeepCopyObject(), nil
	}
	return v.read(stored)
}

// write returns an object of the served version as it is stored. The result may be the object itself.
func (v *view) write(object runtime.Object) (runtime.Object, error) {
	if v.custom != nil {
		return v.custom.Kind.Write(object.(*unstructured.Unstructured))
	}
	if v.kind == v.storedKind {
		object.GetObjectKind().SetGroupVersionKind(v.storedKind)
		return object, nil
	}
	return v.convert(object, v.newStored(), v.storedKind)
}

// newStored returns an empty object of the stored version.
func (v *view) newStored() runtime.Object {
	object, err := v.catalogue.scheme.New(v.storedKind)
	if err != nil {
		panic(fmt.Sprintf("stored version of %s: %v", v.kind, err)) // excluded when the catalogue is made
	}
	return object
}

func (v *view) convert(from, to runtime.Object, kind schema.GroupVersionKind) (runtime.Object, error) {
	if err := v.convertor.Convert(from, to, nil); err != nil {
		return nil, fmt.Errorf("%s as %s: %w", v.resource.GroupResource(), kind.GroupVersion(), err)
	}
	to.GetObjectKind().SetGroupVersionKind(kind)
	return to, nil
}

// key returns where an object is stored.
func (v *view) key(namespace, name string) store.Key {
	return store.Key{Resource: v.stored, Namespace: namespace, Name: name}
}

// attributes returns what selectors see of a stored object.
func (v *view) attributes(stored runtime.Object) (labels.Set, fields.Set, error) {
	accessor, err := meta.Accessor(stored)
	if err != nil {
		return nil, nil, err
	}
	set := fields.Set{}
	if v.strategy.fields != nil {
		object := stored
		if v.kind != v.storedKind || v.custom != nil {
			if object, err = v.readListed(stored); err != nil {
				return nil, nil, err
			}
		}
		set = v.strategy.fields(object)
	}
	set["metadata.name"] = accessor.GetName()
	if v.namespaced {
		set["metadata.namespace"] = accessor.GetNamespace()
	}
	return accessor.GetLabels(), set, nil
}

// inServedVersion adapts a strategy, whose functions take objects of the stored version, to the view's version.
func (v *view) inServedVersion(s strategy) strategy {
	if v.kind == v.storedKind {
		return s
	}
	if f := s.prepareCreate; f != nil {
		s.prepareCreate = func(ctx context.Context, object runtime.Object) {
			_ = v.change(object, func(stored runtime.Object) { f(ctx, stored) }) // the checks, which come after, meet the same error
		}
	}
	if f := s.prepareUpdate; f != nil {
		s.prepareUpdate = func(ctx context.Context, object, old runtime.Object) {
			if storedOld, err := v.write(old.DeepCopyObject()); err == nil {
				_ = v.change(object, func(stored runtime.Object) { f(ctx, stored, storedOld) })
			}
		}
	}
	s.validate, s.validateCreate = v.checkStored(s.validate), v.checkStored(s.validateCreate)
	s.validateUpdate = v.checkStoredUpdate(s.validateUpdate)
	if f := s.mayWrite; f != nil {
		s.mayWrite = func(ctx context.Context, c *Catalogue, object, old runtime.Object) field.ErrorList {
			stored, err := v.write(object.DeepCopyObject())
			if err != nil {
				return field.ErrorList{field.InternalError(nil, err)}
			}
			var storedOld runtime.Object
			if old != nil {
				if storedOld, err = v.write(old.DeepCopyObject()); err != nil {
					return field.ErrorList{field.InternalError(nil, err)}
				}
			}
			return f(ctx, c, stored, storedOld)
		}
	}
	if f := s.warnings; f != nil {
		s.warnings = func(object, old runtime.Object) []string {
			stored, err := v.write(object.DeepCopyObject())
			if err != nil {
				return nil
			}
			var storedOld runtime.Object
			if old != nil {
				if storedOld, err = v.write(old.DeepCopyObject()); err != nil {
					return nil
				}
			}
			return f(stored, storedOld)
		}
	}
	if f := s.fields; f != nil {
		s.fields = func(object runtime.Object) fields.Set {
			stored, err := v.write(object.DeepCopyObject())
			if err != nil {
				return fields.Set{}
			}
			return f(stored)
		}
	}
	return s
}

// checkStored adapts a check of objects of the stored version, which may be nil.
func (v *view) checkStored(check func(runtime.Object) field.ErrorList) func(runtime.Object) field.ErrorList {
	if check == nil || v.kind == v.storedKind {
		return check
	}
	return func(object runtime.Object) field.ErrorList {
		stored, err := v.write(object.DeepCopyObject())
		if err != nil {
			return field.ErrorList{field.InternalError(nil, err)}
		}
		return check(stored)
	}
}

func (v *view) checkStoredUpdate(check func(object, old runtime.Object) field.ErrorList) func(object, old runtime.Object) field.ErrorList {
	if check == nil || v.kind == v.storedKind {
		return check
	}
	return func(object, old runtime.Object) field.ErrorList {
		stored, err := v.write(object.DeepCopyObject())
		if err != nil {
			return field.ErrorList{field.InternalError(nil, err)}
		}
		storedOld, err := v.write(old.DeepCopyObject())
		if err != nil {
			return field.ErrorList{field.InternalError(nil, err)}
		}
		return check(stored, storedOld)
	}
}

// change applies a function on the stored version to an object of the served version, in place.
func (v *view) change(object runtime.Object, f func(stored runtime.Object)) error {
	stored, err := v.write(object.DeepCopyObject())
	if err != nil {
		return err
	}
	f(stored)
	changed, err := v.read(stored)
	if err != nil {
		return err
	}
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(changed).Elem())
	return nil
}

// shallowCopy copies an object down to its metadata, so that its kind and metadata fields may be set.
func shallowCopy(object runtime.Object) runtime.Object {
	if u, ok := object.(*unstructured.Unstructured); ok {
		content := maps.Clone(u.Object)
		if metadata, ok := content["metadata"].(map[string]any); ok {
			content["metadata"] = maps.Clone(metadata)
		}
		return &unstructured.Unstructured{Object: content}
	}
	original := reflect.ValueOf(object).Elem()
	copied := reflect.New(original.Type())
	copied.Elem().Set(original)
	return copied.Interface().(runtime.Object)
}
