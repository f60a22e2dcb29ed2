package resource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storageerrors "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/apiserver/pkg/util/dryrun"
)

// namespaceREST is the storage of namespaces, whose deletion has two stages: they stay Terminating until their contents
// are gone and spec.finalizers is empty.
type namespaceREST struct {
	// All but the deletion, of one or of all, is ordinary.
	withoutDeletion
	*view
	rest *REST
}

// withoutDeletion is an ordinary storage, as far as namespaces have one.
type withoutDeletion interface {
	rest.Getter
	rest.Lister
	rest.CreaterUpdater
	rest.Watcher
	rest.Scoper
	rest.SingularNameProvider
	rest.ShortNamesProvider
	rest.CategoriesProvider
	rest.MayReturnFullObjectDeleter
	rest.ResetFieldsStrategy
	Destroy()
}

var (
	_ rest.Patcher         = &namespaceREST{}
	_ rest.GracefulDeleter = &namespaceREST{}
)

func namespaceStorage(v *view) rest.Storage {
	ordinary := &REST{v}
	return &namespaceREST{ordinary, v, ordinary}
}

func (n *namespaceREST) base() *REST { return n.rest }

// Delete implements rest.GracefulDeleter.
func (n *namespaceREST) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	found, err := n.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	namespace := found.(*corev1.Namespace)
	if options == nil {
		options = metav1.NewDeleteOptions(0)
	}
	if err := n.checkPreconditions(namespace, options); err != nil {
		return nil, false, err
	}
	switch {
	case namespace.DeletionTimestamp.IsZero():
		return n.terminate(ctx, name, validate, options)
	case len(namespace.Spec.Finalizers) > 0:
		return namespace, false, nil
	}
	return n.rest.Delete(ctx, name, validate, options)
}

// checkPreconditions makes the deletion one of this very namespace, not of a later one of the same name.
func (n *namespaceREST) checkPreconditions(namespace *corev1.Namespace, options *metav1.DeleteOptions) error {
	if options.Preconditions == nil {
		options.Preconditions = &metav1.Preconditions{}
	}
	p := options.Preconditions
	if p.UID == nil {
		p.UID = &namespace.UID
	}
	switch {
	case *p.UID != namespace.UID:
		//lint:ignore ST1005 the words are those of the API
		return apierrors.NewConflict(n.resource.GroupResource(), namespace.Name, fmt.Errorf(
			"Precondition failed: UID in precondition: %v, UID in object meta: %v", *p.UID, namespace.UID))
	case p.ResourceVersion != nil && *p.ResourceVersion != namespace.ResourceVersion:
		//lint:ignore ST1005 the words are those of the API
		return apierrors.NewConflict(n.resource.GroupResource(), namespace.Name, fmt.Errorf(
			"Precondition failed: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v", *p.ResourceVersion, namespace.ResourceVersion))
	}
	return nil
}

// terminate is the first stage of the deletion.
func (n *namespaceREST) terminate(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	key, err := n.rest.keyFor(ctx, name)
	if err != nil {
		return nil, false, err
	}
	preconditions := storage.Preconditions{UID: options.Preconditions.UID, ResourceVersion: options.Preconditions.ResourceVersion}
	dryRun := dryrun.IsDryRun(options.DryRun)
	updated, err := n.rest.modify(ctx, key, func(current runtime.Object) (runtime.Object, error) {
		if current == nil {
			return nil, storage.NewKeyNotFoundError(key.String(), 0)
		}
		if err := preconditions.Check(key.String(), current); err != nil {
			return nil, err
		}
		namespace := current.DeepCopyObject().(*corev1.Namespace)
		if err := validate(ctx, namespace); err != nil {
			return nil, err
		}
		if namespace.DeletionTimestamp.IsZero() {
			now := n.now()
			namespace.DeletionTimestamp = &now
		}
		namespace.Status.Phase = corev1.NamespaceTerminating
		if finalizers, changed := n.rest.deletionFinalizers(namespace, options); changed {
			namespace.Finalizers = finalizers
		}
		return namespace, nil
	}, dryRun)
	if err != nil {
		err = storageerrors.InterpretUpdateError(err, n.resource.GroupResource(), name)
		if status := apierrors.APIStatus(nil); !errors.As(err, &status) {
			err = apierrors.NewInternalError(err)
		}
		return nil, false, err
	}
	if !dryRun {
		n.catalogue.namespaces.enqueue(name)
	}
	return updated, false, nil
}

func defaultNamespace(namespace *corev1.Namespace) {
	if namespace.Name != "" {
		if namespace.Labels == nil {
			namespace.Labels = map[string]string{}
		}
		namespace.Labels[corev1.LabelMetadataName] = namespace.Name
	}
	if namespace.Status.Phase == "" {
		namespace.Status.Phase = corev1.NamespaceActive
	}
}

func prepareNamespace(_ context.Context, namespace *corev1.Namespace) {
	namespace.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	if !slices.Contains(namespace.Spec.Finalizers, corev1.FinalizerKubernetes) {
		namespace.Spec.Finalizers = append(namespace.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
	// Defaulting comes before a name is generated.
	defaultNamespace(namespace)
}

func prepareNamespaceUpdate(_ context.Context, namespace, old *corev1.Namespace) {
	namespace.Spec.Finalizers = old.Spec.Finalizers
	defaultNamespace(namespace)
}

func prepareNamespaceFinalize(_ context.Context, namespace, old *corev1.Namespace) {
	namespace.Status = old.Status
}

func validateNamespace(namespace *corev1.Namespace) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("spec", "finalizers")
	for _, finalizer := range namespace.Spec.Finalizers {
		errs = append(errs, validateNamespaceFinalizer(finalizer, path)...)
	}
	return errs
}

func validateNamespaceFinalize(namespace, _ *corev1.Namespace) field.ErrorList {
	path := field.NewPath("spec", "finalizers")
	var errs field.ErrorList
	for i, finalizer := range namespace.Spec.Finalizers {
		errs = append(errs, validateNamespaceFinalizer(finalizer, path.Index(i))...)
	}
	return errs
}

func validateNamespaceFinalizer(finalizer corev1.FinalizerName, path *field.Path) field.ErrorList {
	errs := validation.ValidateFinalizerName(string(finalizer), path)
	standard := finalizer == corev1.FinalizerKubernetes || finalizer == metav1.FinalizerOrphanDependents || finalizer == metav1.FinalizerDeleteDependents
	if !standard && !strings.Contains(string(finalizer), "/") {
		errs = append(errs, field.Invalid(path, finalizer, "name is neither a standard finalizer name nor is it fully qualified"))
	}
	return errs
}

func validateNamespaceStatus(namespace, _ *corev1.Namespace) field.ErrorList {
	path, phase := field.NewPath("status", "Phase"), namespace.Status.Phase
	switch {
	case namespace.DeletionTimestamp.IsZero() && phase != corev1.NamespaceActive:
		return field.ErrorList{field.Invalid(path, phase, "may only be 'Active' if `deletionTimestamp` is empty")}
	case !namespace.DeletionTimestamp.IsZero() && phase != corev1.NamespaceTerminating:
		return field.ErrorList{field.Invalid(path, phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")}
	}
	return nil
}

// namespaceMayFinish tells whether nobody else is to clean up behind a namespace.
func namespaceMayFinish(object, _ runtime.Object) bool {
	return len(object.(*corev1.Namespace).Spec.Finalizers) == 0
}
