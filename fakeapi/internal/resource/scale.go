package resource

import (
	"context"
	"errors"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
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

// scaleKind is what scale subresources read and write.
func scaleKind() schema.GroupVersionKind { return autoscalingv1.SchemeGroupVersion.WithKind("Scale") }

// scaleREST is the storage of a scale subresource.
type scaleREST struct {
	parent *REST
	// replicas is where the wanted number of replicas is, by the version of the parent.
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
		name: "scale", verbs: []string{"get", "patch", "update"}, kind: scaleKind(),
		storage: func(parent *REST) rest.Storage {
			return &scaleREST{
				parent:   parent,
				replicas: managedfields.ResourcePathMappings{parent.kind.GroupVersion().String(): fieldpath.MakePathOrDie("spec", "replicas")},
				read: func(object runtime.Object) (*autoscalingv1.Scale, error) {
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
					set(object.(T), replicas)
					return nil
				},
				validate: validateScale,
			}
		},
	}
}

// New implements rest.Storage.
func (s *scaleREST) New() runtime.Object { return &autoscalingv1.Scale{} }

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
	return s.scaleOf(object)
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
		scale, err := s.scaleOf(object)
		if err != nil {
			return err
		}
		oldScale, err := s.scaleOf(old)
		if err != nil {
			return err
		}
		return updateValidation(ctx, scale, oldScale)
	}
	object, _, err := s.parent.Update(ctx, name, &scaleUpdate{s, name, info}, createValidation, validate, false, options)
	if err != nil {
		return nil, false, err
	}
	scale, err := s.scaleOf(object)
	return scale, false, err
}

// ConvertToTable implements rest.TableConvertor.
func (s *scaleREST) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return printers.NewScale(s.parent.catalogue.clock.Now).ConvertToTable(ctx, object, options)
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
	updated, err := u.info.UpdatedObject(ctx, oldScale)
	if err != nil {
		return nil, err
	}
	scale, ok := updated.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("expected a Scale, got %T", updated))
	}
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
