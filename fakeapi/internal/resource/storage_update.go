package resource

import (
	"context"
	"errors"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storageerrors "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/apiserver/pkg/util/dryrun"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

// errFinished says that an update took the last finalizer from an object that is being deleted.
var errFinished = errors.New("deletion finished")

const conflictMessage = "the object has been modified; please apply your changes to the latest version and try again"

// Update implements rest.Updater.
func (r *REST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	u := update{
		REST: r, strategy: objectStrategy{r.view}, name: name, info: info,
		createValidation: createValidation, updateValidation: updateValidation,
		mayCreate: forceAllowCreate || r.strategy.createOnUpdate, dryRun: dryrun.IsDryRun(options.DryRun),
	}
	return u.run(ctx)
}

// update is one update of an object, or of a subresource that is a part of it.
type update struct {
	*REST
	strategy         rest.RESTUpdateStrategy
	name             string
	info             rest.UpdatedObjectInfo
	createValidation rest.ValidateObjectFunc
	updateValidation rest.ValidateObjectUpdateFunc
	mayCreate        bool
	dryRun           bool

	key           store.Key
	preconditions storage.Preconditions
	// created is the object of the latest attempt when that was to create it, finished when it ended a deletion.
	created, finished runtime.Object
}

func (u *update) run(ctx context.Context) (runtime.Object, bool, error) {
	var err error
	if u.key, err = u.keyFor(ctx, u.name); err != nil {
		return nil, false, err
	}
	if p := u.info.Preconditions(); p != nil {
		u.preconditions = storage.Preconditions{UID: p.UID, ResourceVersion: p.ResourceVersion}
	}

	result, err := u.commit(ctx)
	switch {
	case errors.Is(err, errFinished):
		return u.finish(ctx)
	case err != nil && u.created != nil:
		err = storageerrors.InterpretCreateError(err, u.resource.GroupResource(), u.name)
		return nil, false, rest.CheckGeneratedNameError(ctx, objectStrategy{u.view}, err, u.created)
	case err != nil:
		return nil, false, storageerrors.InterpretUpdateError(err, u.resource.GroupResource(), u.name)
	}
	return result, u.created != nil, nil
}

// commit tries until nobody else wrote in between. A dry run tries once and writes nothing.
func (u *update) commit(ctx context.Context) (runtime.Object, error) {
	if u.dryRun {
		current, err := u.catalogue.store.Get(u.key)
		if err != nil && !storage.IsNotFound(err) {
			return nil, err
		}
		object, err := u.attempt(ctx, current)
		if err != nil {
			return nil, err
		}
		return u.unwritten(object, current)
	}
	stored, err := u.catalogue.store.Update(ctx, u.key, func(current runtime.Object) (runtime.Object, error) {
		object, err := u.attempt(ctx, current)
		if err != nil {
			return nil, err
		}
		return u.toStore(object, current)
	})
	if err != nil {
		return nil, err
	}
	u.wrote(ctx)
	return u.read(stored)
}

// attempt makes the new object from the current one, which is nil when there is none.
func (u *update) attempt(ctx context.Context, current runtime.Object) (runtime.Object, error) {
	u.created, u.finished = nil, nil
	existing := u.newObject()
	if current != nil {
		var err error
		if existing, err = u.edit(current); err != nil {
			return nil, err
		}
	} else if !u.mayCreate {
		return nil, storage.NewKeyNotFoundError(u.key.String(), 0)
	}
	if err := u.preconditions.Check(u.key.String(), existing); err != nil {
		return nil, err
	}
	object, err := u.info.UpdatedObject(ctx, existing)
	if err != nil {
		return nil, err
	}
	if current == nil {
		if err := u.mayGrant(ctx, object, nil); err != nil {
			return nil, err
		}
		return u.attemptCreate(ctx, object)
	}
	if err := u.mayGrant(ctx, object, existing); err != nil {
		return nil, err
	}
	return u.attemptUpdate(ctx, object, existing)
}

func (u *update) attemptCreate(ctx context.Context, object runtime.Object) (runtime.Object, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	rest.WipeObjectMetaSystemFields(accessor)
	u.fillSystemFields(accessor)
	u.created = object
	if err := rest.BeforeCreate(objectStrategy{u.view}, ctx, object); err != nil {
		return nil, err
	}
	if u.createValidation != nil {
		if err := u.createValidation(ctx, object.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	return object, nil
}

func (u *update) attemptUpdate(ctx context.Context, object, existing runtime.Object) (runtime.Object, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	existingAccessor, err := meta.Accessor(existing)
	if err != nil {
		return nil, err
	}
	version, existingVersion := accessor.GetResourceVersion(), existingAccessor.GetResourceVersion()
	if version != "" {
		// A fault of the client, which the real API server does not translate into one either.
		if _, err := strconv.ParseUint(version, 10, 64); err != nil {
			return nil, err
		}
	}
	resource := u.resource.GroupResource()
	switch unset := version == "" || version == "0"; {
	case unset && u.strategy.AllowUnconditionalUpdate(ctx):
		accessor.SetResourceVersion(existingVersion)
	case unset:
		// The kind of this error is the resource, as the real API server has it.
		kind := schema.GroupKind{Group: resource.Group, Kind: resource.Resource}
		return nil, apierrors.NewInvalid(kind, u.name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"),
		})
	case version != existingVersion:
		manager := u.overtakenBy(version, existingVersion)
		if manager == "" {
			return nil, apierrors.NewConflict(resource, u.name, errors.New(conflictMessage))
		}
		accessor.SetResourceVersion(existingVersion)
		takeOver(manager, accessor, existingAccessor)
	}

	if err := rest.BeforeUpdate(u.strategy, ctx, object, existing); err != nil {
		return nil, err
	}
	// An update that changes nothing is not to be written for the times in its managed fields.
	object.GetObjectKind().SetGroupVersionKind(u.kind)
	if object, err = fieldmanager.IgnoreManagedFieldsTimestampsTransformer(ctx, object, existing); err != nil {
		return nil, err
	}
	if u.updateValidation != nil {
		if err := u.updateValidation(ctx, object.DeepCopyObject(), existing.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	if u.endsDeletion(object, existing) {
		u.finished = object
		return nil, errFinished
	}
	return object, nil
}

// overtakenBy returns which field manager of the server's own wrote the latest version, when that follows the one that the
// client has.
func (u *update) overtakenBy(version, latest string) string {
	if u.follower == nil {
		return ""
	}
	change, known := u.catalogue.store.Last(u.key)
	if !known || change.Previous == nil {
		return ""
	}
	versions := meta.NewAccessor()
	before, beforeErr := versions.ResourceVersion(change.Previous)
	after, afterErr := versions.ResourceVersion(change.Object)
	if beforeErr != nil || afterErr != nil || before != version || after != latest {
		return ""
	}
	return u.follower(change.Previous, change.Object)
}

// takeOver gives an object the managed fields that a manager has in the existing one, which the client did not see.
func takeOver(manager string, object, existing metav1.Object) {
	isIts := func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == manager }
	isNot := func(entry metav1.ManagedFieldsEntry) bool { return !isIts(entry) }
	object.SetManagedFields(slices.Concat(
		slices.DeleteFunc(slices.Clone(existing.GetManagedFields()), isNot),
		slices.DeleteFunc(slices.Clone(object.GetManagedFields()), isIts),
	))
}

// endsDeletion tells whether the update takes the last finalizer from an object that is being deleted and need not wait.
func (u *update) endsDeletion(object, existing runtime.Object) bool {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return false
	}
	old, err := meta.Accessor(existing)
	if err != nil {
		return false
	}
	if len(accessor.GetFinalizers()) > 0 || old.GetDeletionTimestamp() == nil {
		return false
	}
	if grace := old.GetDeletionGracePeriodSeconds(); grace != nil && *grace != 0 {
		return false
	}
	return u.REST.strategy.mayFinish == nil || u.REST.strategy.mayFinish(object, existing)
}

// finish removes the object whose deletion the update ended. Admission saw the update; it does not see a deletion.
func (u *update) finish(ctx context.Context) (runtime.Object, bool, error) {
	_, err := u.remove(ctx, u.key, u.preconditions, rest.ValidateAllObjectFunc, u.dryRun)
	// Another update may have removed it first.
	if err != nil && !storage.IsNotFound(err) {
		return nil, false, storageerrors.InterpretDeleteError(err, u.resource.GroupResource(), u.name)
	}
	return u.finished, false, nil
}
