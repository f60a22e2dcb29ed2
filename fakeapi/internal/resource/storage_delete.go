package resource

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storageerrors "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/apiserver/pkg/warning"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

var (
	errDeleteNow       = errors.New("delete now")
	errAlreadyDeleting = errors.New("already being deleted")
)

// Delete implements rest.GracefulDeleter.
func (r *REST) Delete(ctx context.Context, name string, validation rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	key, err := r.keyFor(ctx, name)
	if err != nil {
		return nil, false, err
	}
	resource := r.resource.GroupResource()
	stored, err := r.catalogue.store.Get(key)
	if err != nil {
		return nil, false, storageerrors.InterpretDeleteError(err, resource, name)
	}
	object, err := r.edit(stored)
	if err != nil {
		return nil, false, err
	}
	if options == nil {
		options = metav1.NewDeleteOptions(0)
	}
	r.warnOfDependents(ctx, options)
	var preconditions storage.Preconditions
	if p := options.Preconditions; p != nil {
		preconditions = storage.Preconditions{UID: p.UID, ResourceVersion: p.ResourceVersion}
	}
	graceful, pending, err := r.beforeDelete(ctx, object, options)
	if err != nil {
		return nil, false, err
	}
	if pending {
		answer, err := r.deletedAnswer(object)
		return answer, false, err
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, false, apierrors.NewInternalError(err)
	}

	dryRun := dryrun.IsDryRun(options.DryRun)
	_, changesFinalizers := r.deletionFinalizers(accessor, options)
	d := deletion{deleteNow: true}
	if graceful || len(accessor.GetFinalizers()) > 0 || changesFinalizers {
		d, err = r.beginDeletion(ctx, key, options, preconditions, validation, object)
		if err != nil || !d.deleteNow {
			return d.answer, false, err
		}
		if preconditions.ResourceVersion != nil && d.answer != nil {
			updated, err := meta.Accessor(d.answer)
			if err != nil {
				return d.answer, false, apierrors.NewInternalError(err)
			}
			version := updated.GetResourceVersion()
			preconditions.ResourceVersion = &version
		}
	}
	if dryRun && d.answer != nil {
		return d.answer, true, nil
	}

	removed, err := r.remove(ctx, key, preconditions, validation, dryRun)
	switch {
	case storage.IsNotFound(err) && d.last != nil:
		// Somebody else ended the graceful deletion first.
		removed = d.last
	case err != nil:
		return nil, false, storageerrors.InterpretDeleteError(err, resource, name)
	}
	answer, err := r.deletedAnswer(removed)
	return answer, true, err
}

// warnOfDependents tells a client what it may not expect to happen to dependents.
func (r *REST) warnOfDependents(ctx context.Context, options *metav1.DeleteOptions) {
	//lint:ignore SA1019 the deprecated field is still a part of the API
	if r.strategy.deleteWarning != "" && options.PropagationPolicy == nil && options.OrphanDependents == nil {
		warning.AddWarning(ctx, "", r.strategy.deleteWarning)
	}
}

// beforeDelete is rest.BeforeDelete by the server's clock.
func (r *REST) beforeDelete(ctx context.Context, object runtime.Object, options *metav1.DeleteOptions) (graceful, pending bool, err error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return false, false, apierrors.NewInternalError(err)
	}
	begun := accessor.GetDeletionTimestamp() != nil
	graceful, pending, err = rest.BeforeDelete(r.deleteStrategy(), ctx, object, options)
	if err == nil && graceful && !begun {
		at := metav1.NewTime(r.now().Add(time.Duration(*options.GracePeriodSeconds) * time.Second))
		accessor.SetDeletionTimestamp(&at)
	}
	return graceful, pending, err
}

// deletion is how far the deletion of an object got when it was not simply removed.
type deletion struct {
	// answer is what to answer when the object stays, and the object as updated otherwise; nil when it was not updated.
	answer runtime.Object
	// deleteNow is whether the object is to be removed now.
	deleteNow bool
	// last is the object as a graceful deletion left it.
	last runtime.Object
}

// beginDeletion updates an object for graceful deletion or its finalizers.
func (r *REST) beginDeletion(ctx context.Context, key store.Key, options *metav1.DeleteOptions, preconditions storage.Preconditions, validation rest.ValidateObjectFunc, before runtime.Object) (deletion, error) {
	var finalizing bool
	var grace int64
	var last runtime.Object
	attempt := func(current runtime.Object) (runtime.Object, error) {
		finalizing, grace, last = false, 0, nil
		if current == nil {
			return nil, storage.NewKeyNotFoundError(key.String(), 0)
		}
		existing, err := r.edit(current)
		if err != nil {
			return nil, err
		}
		if err := preconditions.Check(key.String(), existing); err != nil {
			return nil, err
		}
		if err := validation(ctx, existing); err != nil {
			return nil, err
		}
		graceful, pending, err := r.beforeDelete(ctx, existing, options)
		if err != nil {
			return nil, err
		}
		if pending {
			return nil, errAlreadyDeleting
		}
		accessor, err := meta.Accessor(existing)
		if err != nil {
			return nil, err
		}
		if finalizers, changed := r.deletionFinalizers(accessor, options); changed {
			accessor.SetFinalizers(finalizers)
		}
		finalizing = len(accessor.GetFinalizers()) > 0
		switch {
		case graceful:
			grace, last = *options.GracePeriodSeconds, existing
			return existing, nil
		case finalizing:
			r.markDeleting(accessor)
			return existing, nil
		}
		return nil, errDeleteNow
	}

	updated, err := r.modify(ctx, key, attempt, dryrun.IsDryRun(options.DryRun))
	switch {
	case err == nil:
		return deletion{answer: updated, deleteNow: !finalizing && grace == 0, last: last}, nil
	case errors.Is(err, errDeleteNow):
		return deletion{deleteNow: true}, nil
	case errors.Is(err, errAlreadyDeleting):
		answer, err := r.deletedAnswer(before)
		return deletion{answer: answer}, err
	}
	return deletion{}, storageerrors.InterpretUpdateError(err, r.resource.GroupResource(), key.Name)
}

// modify writes what attempt makes of the current object, past the strategy, unless it is a dry run.
func (r *REST) modify(ctx context.Context, key store.Key, attempt func(current runtime.Object) (runtime.Object, error), dryRun bool) (runtime.Object, error) {
	if dryRun {
		current, err := r.catalogue.store.Get(key)
		if err != nil {
			return nil, err
		}
		object, err := attempt(current)
		if err != nil {
			return nil, err
		}
		return r.unwritten(object, current)
	}
	stored, err := r.catalogue.store.Update(ctx, key, func(current runtime.Object) (runtime.Object, error) {
		object, err := attempt(current)
		if err != nil {
			return nil, err
		}
		return r.toStore(object, current)
	})
	if err != nil {
		return nil, err
	}
	r.wrote(ctx)
	return r.read(stored)
}

// markDeleting says in an object's metadata that it is being deleted.
func (r *REST) markDeleting(accessor metav1.Object) {
	if accessor.GetDeletionTimestamp() == nil && accessor.GetGeneration() > 0 {
		accessor.SetGeneration(accessor.GetGeneration() + 1)
	}
	now := r.now()
	if existing := accessor.GetDeletionTimestamp(); existing == nil || existing.After(now.Time) {
		accessor.SetDeletionTimestamp(&now)
	}
	var zero int64
	accessor.SetDeletionGracePeriodSeconds(&zero)
}

// remove takes an object out of the store. validation runs on what is removed, again when that changed meanwhile.
func (r *REST) remove(ctx context.Context, key store.Key, preconditions storage.Preconditions, validation rest.ValidateObjectFunc, dryRun bool) (runtime.Object, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, storage.NewTimeoutError(key.String(), err.Error())
		}
		current, err := r.catalogue.store.Get(key)
		if err != nil {
			return nil, err
		}
		object, err := r.edit(current)
		if err != nil {
			return nil, err
		}
		if err := preconditions.Check(key.String(), object); err != nil {
			return nil, err
		}
		if err := validation(ctx, object); err != nil {
			return nil, err
		}
		if dryRun {
			return object, nil
		}
		removed, err := r.catalogue.store.Delete(key, current)
		switch {
		case err == nil:
			r.catalogue.removed(key)
			r.wrote(ctx)
			return r.read(removed)
		case !storage.IsConflict(err):
			return nil, err
		}
	}
}

// deletedAnswer is what a deletion answers.
func (r *REST) deletedAnswer(object runtime.Object) (runtime.Object, error) {
	if r.strategy.returnsDeleted {
		return object, nil
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	return &metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{
		Name:  accessor.GetName(),
		Group: r.resource.Group,
		Kind:  r.resource.Resource, // the resource, as the real API server has it
		UID:   accessor.GetUID(),
	}}, nil
}

// deletionFinalizers returns the finalizers that the garbage collector is to be told of the dependents by, and whether
// they differ from those that the object has.
func (r *REST) deletionFinalizers(accessor metav1.Object, options *metav1.DeleteOptions) ([]string, bool) {
	orphan, foreground := r.propagation(accessor, options)
	var finalizers []string
	for _, finalizer := range accessor.GetFinalizers() {
		if finalizer != metav1.FinalizerOrphanDependents && finalizer != metav1.FinalizerDeleteDependents {
			finalizers = append(finalizers, finalizer)
		}
	}
	if orphan {
		finalizers = append(finalizers, metav1.FinalizerOrphanDependents)
	}
	if foreground {
		finalizers = append(finalizers, metav1.FinalizerDeleteDependents)
	}
	return finalizers, !sets.New(finalizers...).Equal(sets.New(accessor.GetFinalizers()...))
}

// propagation decides what happens to dependents: by the options, else by a finalizer that is there, else by the kind.
func (r *REST) propagation(accessor metav1.Object, options *metav1.DeleteOptions) (orphan, foreground bool) {
	policy := r.strategy.collection
	if policy == rest.Unsupported {
		return false, false
	}
	//lint:ignore SA1019 the deprecated field is still a part of the API
	if orphan := options.OrphanDependents; orphan != nil {
		return *orphan, false
	}
	if p := options.PropagationPolicy; p != nil {
		return *p == metav1.DeletePropagationOrphan, *p == metav1.DeletePropagationForeground
	}
	switch {
	case slices.Contains(accessor.GetFinalizers(), metav1.FinalizerOrphanDependents):
		return true, false
	case slices.Contains(accessor.GetFinalizers(), metav1.FinalizerDeleteDependents):
		return false, true
	}
	return policy == rest.OrphanDependents, false
}

// DeleteCollection implements rest.CollectionDeleter. Objects are deleted one after another, in the order of the list.
func (r *REST) DeleteCollection(ctx context.Context, validation rest.ValidateObjectFunc, options *metav1.DeleteOptions, listOptions *metainternalversion.ListOptions) (runtime.Object, error) {
	return r.deleteCollection(ctx, r.Delete, validation, options, listOptions)
}

type deleteFunc func(ctx context.Context, name string, validation rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error)

func (r *REST) deleteCollection(ctx context.Context, remove deleteFunc, validation rest.ValidateObjectFunc, options *metav1.DeleteOptions, listOptions *metainternalversion.ListOptions) (runtime.Object, error) {
	list, err := r.List(ctx, listOptions)
	if err != nil {
		return nil, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		accessor, err := meta.Accessor(item)
		if err != nil {
			return nil, err
		}
		// A graceful deletion sets fields of the options.
		if _, _, err := remove(ctx, accessor.GetName(), validation, options.DeepCopy()); err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	return list, nil
}
