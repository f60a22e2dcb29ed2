package resource

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsinternal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	definitionvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storageerrors "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/apiserver/pkg/util/dryrun"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

func definitionRow() row {
	return row{
		stored: apiextensionsv1.SchemeGroupVersion, hashed: "v1beta1", kind: "CustomResourceDefinition", resource: "customresourcedefinitions",
		shortNames: []string{"crd", "crds"}, categories: []string{"api-extensions"},
		subresources: []subresource{checkedStatus(nil, checksUpdate(validateDefinitionStatus))},
		storage:      definitionStorage,
		strategy: strategy{
			conditionalUpdate: true,
			generation:        []string{"Spec"},
			prepareCreate:     creating(func(_ context.Context, d *apiextensionsv1.CustomResourceDefinition) { rememberStored(d) }),
			prepareUpdate:     updating(func(_ context.Context, d, _ *apiextensionsv1.CustomResourceDefinition) { rememberStored(d) }),
			validate:          checks(validateDefinition),
			validateUpdate:    checksUpdate(validateDefinitionUpdate),
			complete:          true,
		},
	}
}

// rememberStored notes the version that objects are stored in.
func rememberStored(definition *apiextensionsv1.CustomResourceDefinition) {
	for _, version := range definition.Spec.Versions {
		if version.Storage && !slices.Contains(definition.Status.StoredVersions, version.Name) {
			definition.Status.StoredVersions = append(definition.Status.StoredVersions, version.Name)
		}
	}
}

// internalDefinition returns a definition in the form that the libraries check.
func internalDefinition(definition *apiextensionsv1.CustomResourceDefinition) (*apiextensionsinternal.CustomResourceDefinition, field.ErrorList) {
	internal := &apiextensionsinternal.CustomResourceDefinition{}
	err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(definition.DeepCopy(), internal, nil)
	if err != nil {
		return nil, field.ErrorList{field.InternalError(nil, err)}
	}
	return internal, nil
}

func validateDefinition(definition *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	internal, errs := internalDefinition(definition)
	if len(errs) > 0 {
		return errs
	}
	return definitionvalidation.ValidateCustomResourceDefinition(context.Background(), internal)
}

func validateDefinitionUpdate(definition, old *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	internal, errs := internalDefinition(definition)
	internalOld, oldErrs := internalDefinition(old)
	if errs = append(errs, oldErrs...); len(errs) > 0 {
		return errs
	}
	return definitionvalidation.ValidateCustomResourceDefinitionUpdate(context.Background(), internal, internalOld)
}

func validateDefinitionStatus(definition, old *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	internal, errs := internalDefinition(definition)
	internalOld, oldErrs := internalDefinition(old)
	if errs = append(errs, oldErrs...); len(errs) > 0 {
		return errs
	}
	return definitionvalidation.ValidateUpdateCustomResourceDefinitionStatus(context.Background(), internal, internalOld)
}

// definitionREST is the storage of CustomResourceDefinitions. What they define is served from the write on.
type definitionREST struct {
	*REST
}

func definitionStorage(v *view) rest.Storage {
	v.written = func(ctx context.Context) { v.catalogue.definitionsChanged(ctx) }
	return &definitionREST{&REST{v}}
}

// Delete implements rest.GracefulDeleter. A definition stays until its custom resources are gone.
func (d *definitionREST) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	found, err := d.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	definition := found.(*apiextensionsv1.CustomResourceDefinition)
	if options == nil {
		options = metav1.NewDeleteOptions(0)
	}
	if options.Preconditions == nil {
		options.Preconditions = &metav1.Preconditions{}
	}
	p := options.Preconditions
	if p.UID == nil {
		p.UID = &definition.UID
	}
	switch {
	case *p.UID != definition.UID:
		return nil, false, apierrors.NewConflict(d.resource.GroupResource(), name, fmt.Errorf(
			"precondition failed: UID in precondition: %v, UID in object meta: %v", *p.UID, definition.UID))
	case p.ResourceVersion != nil && *p.ResourceVersion != definition.ResourceVersion:
		return nil, false, apierrors.NewConflict(d.resource.GroupResource(), name, fmt.Errorf(
			"precondition failed: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v", *p.ResourceVersion, definition.ResourceVersion))
	case definition.DeletionTimestamp != nil:
		return d.REST.Delete(ctx, name, validate, options)
	}
	return d.terminate(ctx, name, validate, options)
}

// DeleteCollection implements rest.CollectionDeleter.
func (d *definitionREST) DeleteCollection(ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, listOptions *metainternalversion.ListOptions) (runtime.Object, error) {
	return d.deleteCollection(ctx, d.Delete, validate, options, listOptions)
}

func (d *definitionREST) terminate(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	key := d.key("", name)
	preconditions := storage.Preconditions{UID: options.Preconditions.UID, ResourceVersion: options.Preconditions.ResourceVersion}
	dryRun := dryrun.IsDryRun(options.DryRun)
	updated, err := d.modify(ctx, key, func(current runtime.Object) (runtime.Object, error) {
		if current == nil {
			return nil, storage.NewKeyNotFoundError(key.String(), 0)
		}
		if err := preconditions.Check(key.String(), current); err != nil {
			return nil, err
		}
		definition := current.DeepCopyObject().(*apiextensionsv1.CustomResourceDefinition)
		if err := validate(ctx, definition); err != nil {
			return nil, err
		}
		now := d.now()
		if definition.DeletionTimestamp == nil {
			definition.DeletionTimestamp = &now
		}
		if !apihelpers.CRDHasFinalizer(definition, apiextensionsv1.CustomResourceCleanupFinalizer) {
			definition.Finalizers = append(definition.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer)
		}
		setDefinitionCondition(definition, now, apiextensionsv1.Terminating, apiextensionsv1.ConditionTrue, "InstanceDeletionPending",
			"CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon")
		return definition, nil
	}, dryRun)
	if err != nil {
		err = storageerrors.InterpretUpdateError(err, d.resource.GroupResource(), name)
		if status := apierrors.APIStatus(nil); !errors.As(err, &status) {
			err = apierrors.NewInternalError(err)
		}
		return nil, false, err
	}
	if !dryRun {
		d.catalogue.definitions.enqueue(name)
	}
	return updated, false, nil
}

func setDefinitionCondition(definition *apiextensionsv1.CustomResourceDefinition, now metav1.Time, kind apiextensionsv1.CustomResourceDefinitionConditionType, status apiextensionsv1.ConditionStatus, reason, message string) {
	condition := apiextensionsv1.CustomResourceDefinitionCondition{
		Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: now,
	}
	if old := apihelpers.FindCRDCondition(definition, kind); old != nil && old.Status == status {
		condition.LastTransitionTime = old.LastTransitionTime
	}
	apihelpers.SetCRDCondition(definition, condition)
}

func definitionsResource() schema.GroupResource {
	return apiextensionsv1.Resource("customresourcedefinitions")
}

// CustomResourceDefinitions returns the stored definitions in order of name. They must not be changed.
func (c *Catalogue) CustomResourceDefinitions() []*apiextensionsv1.CustomResourceDefinition {
	var definitions []*apiextensionsv1.CustomResourceDefinition
	for _, object := range c.Stored(definitionsResource(), "") {
		definitions = append(definitions, object.(*apiextensionsv1.CustomResourceDefinition))
	}
	return definitions
}

// definitionsChanged makes what is served follow the stored definitions.
func (c *Catalogue) definitionsChanged(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, definition := range c.CustomResourceDefinitions() {
		c.establish(ctx, definition)
	}
	custom := map[string]*customKind{}
	resources := slices.Clone(c.builtin)
	for _, definition := range c.CustomResourceDefinitions() {
		if !apihelpers.IsCRDConditionTrue(definition, apiextensionsv1.Established) {
			continue
		}
		kind, ok := c.custom[definition.Name]
		if !ok || kind.definition != definition {
			var err error
			if kind, err = c.buildCustom(definition); err != nil {
				// Validation lets no such definition in; one that was written raw is not served.
				continue
			}
		}
		custom[definition.Name] = kind
		resources = append(resources, kind.resources...)
	}
	c.custom = custom
	c.served.Store(newServed(resources))
}

// establish accepts the names of a definition, as a cluster's controllers do.
func (c *Catalogue) establish(ctx context.Context, definition *apiextensionsv1.CustomResourceDefinition) {
	key := store.Key{Resource: definitionsResource(), Name: definition.Name}
	// The definition may be gone again, which is no fault.
	_, _ = c.store.Update(ctx, key, func(current runtime.Object) (runtime.Object, error) {
		if current == nil {
			return nil, storage.NewKeyNotFoundError(key.String(), 0)
		}
		updated := current.DeepCopyObject().(*apiextensionsv1.CustomResourceDefinition)
		c.acceptNames(updated)
		return updated, nil
	})
}

func (c *Catalogue) acceptNames(definition *apiextensionsv1.CustomResourceDefinition) {
	resources, kinds := sets.New[string](), sets.New[string]()
	for _, other := range c.CustomResourceDefinitions() {
		if accepted := other.Status.AcceptedNames; other.Spec.Group == definition.Spec.Group && other.Name != definition.Name {
			resources.Insert(accepted.Plural, accepted.Singular)
			resources.Insert(accepted.ShortNames...)
			kinds.Insert(accepted.Kind, accepted.ListKind)
		}
	}
	names, accepted := definition.Spec.Names, &definition.Status.AcceptedNames
	reason, message := "", ""
	accept := func(name string, into *string, used sets.Set[string], conflict string) {
		if name != *into && used.Has(name) {
			reason, message = conflict, fmt.Sprintf("%q is already in use", name)
			return
		}
		*into = name
	}
	accept(names.Plural, &accepted.Plural, resources, "PluralConflict")
	accept(names.Singular, &accepted.Singular, resources, "SingularConflict")
	if !reflect.DeepEqual(names.ShortNames, accepted.ShortNames) {
		var conflicts []error
		for _, name := range names.ShortNames {
			if resources.Has(name) && !slices.Contains(accepted.ShortNames, name) {
				conflicts = append(conflicts, fmt.Errorf("%q is already in use", name))
			}
		}
		if err := utilerrors.NewAggregate(conflicts); err != nil {
			reason, message = "ShortNamesConflict", err.Error()
		} else {
			accepted.ShortNames = names.ShortNames
		}
	}
	accept(names.Kind, &accepted.Kind, kinds, "KindConflict")
	accept(names.ListKind, &accepted.ListKind, kinds, "ListKindConflict")
	accepted.Categories = names.Categories

	now := c.now()
	established := apihelpers.IsCRDConditionTrue(definition, apiextensionsv1.Established)
	if reason != "" {
		setDefinitionCondition(definition, now, apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionFalse, reason, message)
		if !established {
			setDefinitionCondition(definition, now, apiextensionsv1.Established, apiextensionsv1.ConditionFalse, "NotAccepted", "not all names are accepted")
		}
		return
	}
	setDefinitionCondition(definition, now, apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionTrue, "NoConflicts", "no conflicts found")
	if !established {
		setDefinitionCondition(definition, now, apiextensionsv1.Established, apiextensionsv1.ConditionTrue, "InitialNamesAccepted", "the initial names have been accepted")
	}
}

// finishDefinition removes the custom resources of a definition that is being deleted and then the definition itself.
// Admission has seen that deletion; it does not see those of the custom resources.
func (c *Catalogue) finishDefinition(ctx context.Context, name string) error {
	key := store.Key{Resource: definitionsResource(), Name: name}
	object, err := c.store.Get(key)
	if storage.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	definition := object.(*apiextensionsv1.CustomResourceDefinition)
	if definition.DeletionTimestamp == nil || !apihelpers.CRDHasFinalizer(definition, apiextensionsv1.CustomResourceCleanupFinalizer) {
		return nil
	}
	remaining, err := c.deleteInstances(ctx, definition)
	if err != nil {
		return err
	}
	updated, err := c.store.Update(ctx, key, func(current runtime.Object) (runtime.Object, error) {
		if current == nil {
			return nil, storage.NewKeyNotFoundError(key.String(), 0)
		}
		definition := current.DeepCopyObject().(*apiextensionsv1.CustomResourceDefinition)
		now := c.now()
		if remaining > 0 {
			setDefinitionCondition(definition, now, apiextensionsv1.Terminating, apiextensionsv1.ConditionTrue, "InstanceDeletionInProgress",
				"CustomResource deletion is in progress")
			return definition, nil
		}
		setDefinitionCondition(definition, now, apiextensionsv1.Terminating, apiextensionsv1.ConditionFalse, "InstanceDeletionCompleted", "removed all instances")
		apihelpers.CRDRemoveFinalizer(definition, apiextensionsv1.CustomResourceCleanupFinalizer)
		return definition, nil
	})
	if storage.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if remaining == 0 && len(updated.(*apiextensionsv1.CustomResourceDefinition).Finalizers) == 0 {
		if _, err := c.store.Delete(key, updated); err != nil && !storage.IsNotFound(err) {
			return err
		}
	}
	c.definitionsChanged(ctx)
	return nil
}

// deleteInstances deletes the custom resources of a definition and returns how many are left, because of finalizers.
func (c *Catalogue) deleteInstances(ctx context.Context, definition *apiextensionsv1.CustomResourceDefinition) (int, error) {
	resource := schema.GroupResource{Group: definition.Spec.Group, Resource: definition.Status.AcceptedNames.Plural}
	stored := c.storageOf(resource)
	if stored == nil {
		return 0, nil
	}
	for _, object := range c.Stored(resource, "") {
		accessor, err := meta.Accessor(object)
		if err != nil {
			return 0, err
		}
		ctx := request.WithNamespace(ctx, accessor.GetNamespace())
		ctx = request.WithRequestInfo(ctx, &request.RequestInfo{APIGroup: resource.Group, Resource: resource.Resource})
		if _, _, err := stored.Delete(ctx, accessor.GetName(), rest.ValidateAllObjectFunc, nil); err != nil && !apierrors.IsNotFound(err) {
			return 0, err
		}
	}
	return len(c.Stored(resource, "")), nil
}

// storageOf returns the storage of a resource in some version; nil when it is not served.
func (c *Catalogue) storageOf(resource schema.GroupResource) *REST {
	for _, r := range c.Resources() {
		if r.GVR.GroupResource() == resource {
			if stored, ok := storeOf(r); ok {
				return stored
			}
		}
	}
	return nil
}
