package resource

import (
	"context"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
)

// objectStrategy lets package rest prepare and check objects of a view.
type objectStrategy struct {
	*view
}

var (
	_ rest.RESTCreateUpdateStrategy        = objectStrategy{}
	_ rest.GarbageCollectionDeleteStrategy = objectStrategy{}
	_ rest.RESTGracefulDeleteStrategy      = gracefulStrategy{}
)

func (s objectStrategy) ObjectKinds(object runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	if _, custom := object.(runtime.Unstructured); custom {
		return s.typer.ObjectKinds(object)
	}
	// Errors name the kind in its own group, whatever the group it is served in.
	return []schema.GroupVersionKind{s.storedKind}, false, nil
}

func (s objectStrategy) Recognizes(gvk schema.GroupVersionKind) bool { return gvk == s.kind }

func (s objectStrategy) GenerateName(base string) string {
	return names.SimpleNameGenerator.GenerateName(base)
}

func (s objectStrategy) NamespaceScoped() bool { return s.namespaced }

func (s objectStrategy) AllowCreateOnUpdate(context.Context) bool { return s.strategy.createOnUpdate }

func (s objectStrategy) AllowUnconditionalUpdate(context.Context) bool {
	return !s.strategy.conditionalUpdate
}

func (s objectStrategy) DefaultGarbageCollectionPolicy(context.Context) rest.GarbageCollectionPolicy {
	return s.strategy.collection
}

func (s objectStrategy) PrepareForCreate(ctx context.Context, object runtime.Object) {
	if s.hasStatus && !s.strategy.keepsStatus {
		structField(object, "Status").SetZero()
	}
	if len(s.strategy.generation) > 0 {
		if accessor, err := meta.Accessor(object); err == nil {
			accessor.SetGeneration(1)
		}
	}
	if s.strategy.prepareCreate != nil {
		s.strategy.prepareCreate(ctx, object)
	}
}

func (s objectStrategy) PrepareForUpdate(ctx context.Context, object, old runtime.Object) {
	if s.hasStatus {
		structField(object, "Status").Set(structField(old, "Status"))
	}
	if s.strategy.prepareUpdate != nil {
		s.strategy.prepareUpdate(ctx, object, old)
	}
	for _, name := range s.strategy.generation {
		if !equality.Semantic.DeepEqual(structField(object, name).Interface(), structField(old, name).Interface()) {
			if accessor, err := meta.Accessor(object); err == nil {
				accessor.SetGeneration(accessor.GetGeneration() + 1)
			}
			return
		}
	}
}

func (s objectStrategy) Validate(ctx context.Context, object runtime.Object) field.ErrorList {
	errs := s.validate(object)
	if len(errs) == 0 && s.strategy.mayWrite != nil {
		return s.strategy.mayWrite(ctx, s.catalogue, object, nil)
	}
	return errs
}

func (s objectStrategy) validate(object runtime.Object) field.ErrorList {
	if s.strategy.complete {
		return s.strategy.validate(object)
	}
	name := s.strategy.name
	if name == nil {
		name = validation.NameIsDNSSubdomain
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return field.ErrorList{field.InternalError(field.NewPath("metadata"), err)}
	}
	errs := validation.ValidateObjectMetaAccessor(accessor, s.namespaced, name, field.NewPath("metadata"))
	errs = append(errs, validateFinalizers(accessor)...)
	if s.strategy.validate != nil {
		errs = append(errs, s.strategy.validate(object)...)
	}
	if s.strategy.validateCreate != nil {
		errs = append(errs, s.strategy.validateCreate(object)...)
	}
	return errs
}

func (s objectStrategy) ValidateUpdate(ctx context.Context, object, old runtime.Object) field.ErrorList {
	var errs field.ErrorList
	if accessor, err := meta.Accessor(object); err == nil && !s.strategy.complete {
		errs = append(errs, validateFinalizers(accessor)...)
	}
	if s.strategy.validate != nil && !s.strategy.complete {
		errs = append(errs, s.strategy.validate(object)...)
	}
	if s.strategy.validateUpdate != nil {
		errs = append(errs, s.strategy.validateUpdate(object, old)...)
	}
	if len(errs) == 0 && s.strategy.mayWrite != nil {
		return s.strategy.mayWrite(ctx, s.catalogue, object, old)
	}
	return errs
}

// validateFinalizers refuses finalizers that could be anybody's. That is a rule of the built-in kinds.
func validateFinalizers(accessor metav1.Object) field.ErrorList {
	var errs field.ErrorList
	for i, finalizer := range accessor.GetFinalizers() {
		switch finalizer {
		case string(corev1.FinalizerKubernetes), metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents:
		default:
			if !strings.Contains(finalizer, "/") {
				errs = append(errs, field.Invalid(field.NewPath("metadata", "finalizers").Index(i), finalizer,
					"name is neither a standard finalizer name nor is it fully qualified"))
			}
		}
	}
	return errs
}

func (s objectStrategy) WarningsOnCreate(_ context.Context, object runtime.Object) []string {
	if s.strategy.warnings == nil {
		return nil
	}
	return s.strategy.warnings(object, nil)
}

func (s objectStrategy) WarningsOnUpdate(_ context.Context, object, old runtime.Object) []string {
	if s.strategy.warnings == nil {
		return nil
	}
	return s.strategy.warnings(object, old)
}

func (s objectStrategy) Canonicalize(runtime.Object) {}

// gracefulStrategy is the strategy of kinds whose deletion may have to wait.
type gracefulStrategy struct {
	objectStrategy
}

func (s gracefulStrategy) CheckGracefulDelete(_ context.Context, object runtime.Object, options *metav1.DeleteOptions) bool {
	return options != nil && s.strategy.graceful(object, options)
}

// deleteStrategy returns the strategy to delete with.
func (v *view) deleteStrategy() rest.RESTDeleteStrategy {
	if v.strategy.graceful != nil {
		return gracefulStrategy{objectStrategy{v}}
	}
	return objectStrategy{v}
}

// structField returns a field of a Go object, also one of its embedded metadata.
func structField(object runtime.Object, name string) reflect.Value {
	return reflect.ValueOf(object).Elem().FieldByName(name)
}
