package resource

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource/printers"
)

// scaleKind is what scale subresources read and write, but in the versions of a resource that scaleKindIn knows.
func scaleKind() schema.GroupVersionKind { return autoscalingv1.SchemeGroupVersion.WithKind("Scale") }

// scaleKindIn is what the scale subresource of a built-in resource reads and writes in a version: versions older than
// autoscaling/v1 have a Scale of their own.
func scaleKindIn(version groupVersion) schema.GroupVersionKind {
	switch version {
	case extensionsv1beta1.SchemeGroupVersion, appsv1beta1.SchemeGroupVersion, appsv1beta2.SchemeGroupVersion:
		return version.WithKind("Scale")
	}
	return scaleKind()
}

// scaleREST is the storage of a scale subresource.
type scaleREST struct {
	parent *REST
	// kind is what clients and admission see.
	kind schema.GroupVersionKind
	// replicas is where the wanted number of replicas is, by the versions of the parent.
	replicas managedfields.ResourcePathMappings
	// read returns spec and status of the Scale of an object, set sets the wanted number of replicas.
	read func(object runtime.Object) (*autoscalingv1.Scale, error)
	set  func(object runtime.Object, replicas int32) error
	// validate checks a Scale; nil where the parent's own validation does.
	validate func(*autoscalingv1.Scale) field.ErrorList
	// lacks returns an error when the object does not say how many replicas are wanted; nil for kinds that always do.
	lacks func(object runtime.Object) error
}

var (
	_ rest.Patcher        = &scaleREST{}
	_ rest.TableConvertor = &scaleREST{}
)

// scaled makes the scale subresource of a built-in kind.
func scaled[T runtime.Object](read func(T) (spec *int32, status int32, selector *metav1.LabelSelector), set func(T, int32)) subresource {
	return subresource{
		name: "scale", verbs: []string{"get", "patch", "update"}, kindIn: scaleKindIn,
		storage: func(parent *REST) rest.Storage {
			paths := managedfields.ResourcePathMappings{}
			for _, version := range versionsOf(parent.kind) {
				paths[version.String()] = fieldpath.MakePathOrDie("spec", "replicas")
			}
			return &scaleREST{
				parent:   parent,
				kind:     scaleKindIn(parent.kind.GroupVersion()),
				replicas: paths,
				read: func(object runtime.Object) (*autoscalingv1.Scale, error) {
					if parent.kind != parent.storedKind {
						var err error
						if object, err = parent.write(object.DeepCopyObject()); err != nil {
							return nil, err
						}
					}
					spec, status, labels := read(object.(T))
					selector, err := metav1.LabelSelectorAsSelector(labels)
					if err != nil {
						return nil, err
					}
					scale := &autoscalingv1.Scale{Status: autoscalingv1.ScaleStatus{Replicas: status, Selector: selector.String()}}
					if spec != nil {
						scale.Spec.Replicas = *spec
					}
					return scale, nil
				},
				set: func(object runtime.Object, replicas int32) error {
					if parent.kind == parent.storedKind {
						set(object.(T), replicas)
						return nil
					}
					return parent.change(object, func(stored runtime.Object) { set(stored.(T), replicas) })
				},
				validate: validateScale,
			}
		},
	}
}

// New implements rest.Storage.
func (s *scaleREST) New() runtime.Object { return mustNew(s.parent.catalogue.scheme, s.kind) }

// Destroy implements rest.Storage; there is nothing to release.
func (s *scaleREST) Destroy() {}

// Get implements rest.Getter.
func (s *scaleREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	object, err := s.parent.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	if s.lacks != nil {
		if err := s.lacks(object); err != nil {
			return nil, apierrors.NewInternalError(err)
		}
	}
	return s.served(object)
}

// served returns the Scale of an object in the kind that is served.
func (s *scaleREST) served(object runtime.Object) (runtime.Object, error) {
	scale, err := s.scaleOf(object)
	if err != nil {
		return nil, err
	}
	return s.convert(scale, s.kind)
}

// convert returns a Scale in another kind.
func (s *scaleREST) convert(scale runtime.Object, kind schema.GroupVersionKind) (runtime.Object, error) {
	if scale.GetObjectKind().GroupVersionKind() == kind {
		return scale, nil
	}
	scheme := s.parent.catalogue.scheme
	converted, err := scheme.New(kind)
	if err != nil {
		return nil, err
	}
	if err := scheme.Convert(scale, converted, nil); err != nil {
		return nil, err
	}
	converted.GetObjectKind().SetGroupVersionKind(kind)
	return converted, nil
}

// scaleOf returns the Scale of an object.
func (s *scaleREST) scaleOf(object runtime.Object) (*autoscalingv1.Scale, error) {
	scale, err := s.read(object)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("scale of %s: %v", s.parent.resource.GroupResource(), err))
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	scale.SetGroupVersionKind(scaleKind())
	scale.Name, scale.Namespace = accessor.GetName(), accessor.GetNamespace()
	scale.UID, scale.ResourceVersion = accessor.GetUID(), accessor.GetResourceVersion()
	scale.CreationTimestamp = accessor.GetCreationTimestamp()
	return scale, nil
}

// Update implements rest.Updater: an update of the object that changes the number of replicas.
func (s *scaleREST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	validate := func(ctx context.Context, object, old runtime.Object) error {
		scale, err := s.served(object)
		if err != nil {
			return err
		}
		oldScale, err := s.served(old)
		if err != nil {
			return err
		}
		return updateValidation(ctx, scale, oldScale)
	}
	object, _, err := s.parent.Update(ctx, name, &scaleUpdate{s, name, info}, createValidation, validate, false, options)
	if err != nil {
		return nil, false, err
	}
	scale, err := s.served(object)
	return scale, false, err
}

// ConvertToTable implements rest.TableConvertor.
func (s *scaleREST) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	scale, err := s.convert(object, scaleKind())
	if err != nil {
		return nil, err
	}
	return printers.NewScale(s.parent.catalogue.clock.Now).ConvertToTable(ctx, scale, options)
}

// scaleUpdate makes an update of the object of an update of its Scale.
type scaleUpdate struct {
	scale *scaleREST
	name  string
	info  rest.UpdatedObjectInfo
}

// Preconditions implements rest.UpdatedObjectInfo.
func (u *scaleUpdate) Preconditions() *metav1.Preconditions { return u.info.Preconditions() }

// UpdatedObject implements rest.UpdatedObjectInfo.
func (u *scaleUpdate) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	object := old.DeepCopyObject()
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	resource := u.scale.parent.resource.GroupResource()
	if accessor.GetUID() == "" {
		return nil, apierrors.NewNotFound(resource, u.name)
	}
	version := u.scale.parent.kind.GroupVersion()
	managed := managedfields.NewScaleHandler(accessor.GetManagedFields(), version, u.scale.replicas)

	oldScale, err := u.scale.scaleOf(object)
	if err != nil {
		return nil, err
	}
	if oldScale.ManagedFields, err = managed.ToSubresource(); err != nil {
		return nil, err
	}
	given, err := u.scale.convert(oldScale, u.scale.kind)
	if err != nil {
		return nil, err
	}
	updated, err := u.info.UpdatedObject(ctx, given)
	if err != nil {
		return nil, err
	}
	if reflect.TypeOf(updated) != reflect.TypeOf(given) {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("expected a Scale, got %T", updated))
	}
	updated.GetObjectKind().SetGroupVersionKind(u.scale.kind)
	converted, err := u.scale.convert(updated, scaleKind())
	if err != nil {
		return nil, err
	}
	scale := converted.(*autoscalingv1.Scale)
	if u.scale.validate != nil {
		if errs := u.scale.validate(scale); len(errs) > 0 {
			return nil, apierrors.NewInvalid(scaleKind().GroupKind(), scale.Name, errs)
		}
	}
	if scale.UID != "" && scale.UID != accessor.GetUID() {
		return nil, apierrors.NewConflict(resource, u.name, errors.New(
			"Precondition failed: UID in precondition: "+string(scale.UID)+", UID in object meta: "+string(accessor.GetUID())))
	}
	if err := u.scale.set(object, scale.Spec.Replicas); err != nil {
		return nil, err
	}
	accessor.SetResourceVersion(scale.ResourceVersion)
	entries, err := managed.ToParent(scale.ManagedFields)
	if err != nil {
		return nil, err
	}
	accessor.SetManagedFields(entries)
	return object, nil
}

func validateScale(scale *autoscalingv1.Scale) field.ErrorList {
	errs := validation.ValidateObjectMeta(&scale.ObjectMeta, true, validation.NameIsDNSSubdomain, field.NewPath("metadata"))
	if scale.Spec.Replicas < 0 {
		errs = append(errs, field.Invalid(field.NewPath("spec", "replicas"), scale.Spec.Replicas, "must be greater than or equal to 0"))
	}
	return errs
}
