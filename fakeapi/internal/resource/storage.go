package resource

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storageerrors "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/utils/clock"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

// REST is the storage of a stored kind in one served version. It does what the real API server's generic registry does,
// in the same order, over the in-memory store.
type REST struct {
	*view
}

var (
	_ rest.StandardStorage            = &REST{}
	_ rest.Patcher                    = &REST{}
	_ rest.Scoper                     = &REST{}
	_ rest.SingularNameProvider       = &REST{}
	_ rest.ShortNamesProvider         = &REST{}
	_ rest.CategoriesProvider         = &REST{}
	_ rest.TableConvertor             = &REST{}
	_ rest.MayReturnFullObjectDeleter = &REST{}
	_ rest.ResetFieldsStrategy        = &REST{}
)

// base is how storages that embed this one are told from those that store nothing.
func (r *REST) base() *REST { return r }

// New implements rest.Storage.
func (r *REST) New() runtime.Object { return r.newObject() }

// NewList implements rest.Lister.
func (r *REST) NewList() runtime.Object { return r.newList() }

// Destroy implements rest.Storage; there is nothing to release.
func (r *REST) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (r *REST) NamespaceScoped() bool { return r.namespaced }

// GetSingularName implements rest.SingularNameProvider.
func (r *REST) GetSingularName() string { return r.singular }

// ShortNames implements rest.ShortNamesProvider.
func (r *REST) ShortNames() []string { return r.shortNames }

// Categories implements rest.CategoriesProvider.
func (r *REST) Categories() []string { return r.categories }

// DeleteReturnsDeletedObject implements rest.MayReturnFullObjectDeleter.
func (r *REST) DeleteReturnsDeletedObject() bool { return r.strategy.returnsDeleted }

// GetResetFields implements rest.ResetFieldsStrategy.
func (r *REST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set { return r.resets }

// ConvertToTable implements rest.TableConvertor.
func (r *REST) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return r.table.ConvertToTable(ctx, object, options)
}

// Get implements rest.Getter.
func (r *REST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	key, err := r.keyFor(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := r.checkNotTooNew(options.ResourceVersion); err != nil {
		return nil, err
	}
	stored, err := r.catalogue.store.Get(key)
	if err != nil {
		return nil, storageerrors.InterpretGetError(err, r.resource.GroupResource(), name)
	}
	return r.read(stored)
}

// nameAttempts is how often a name is generated before the client is told to try again.
const nameAttempts = 8

// Create implements rest.Creater.
func (r *REST) Create(ctx context.Context, object runtime.Object, validation rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	if err := r.mayGrant(ctx, object, nil); err != nil {
		return nil, err
	}
	if accessor.GetGenerateName() == "" || accessor.GetName() != "" {
		return r.create(ctx, object, validation, options)
	}
	for attempt := 1; ; attempt++ {
		created, err := r.create(ctx, object.DeepCopyObject(), validation, options)
		if err == nil || !apierrors.IsAlreadyExists(err) || attempt == nameAttempts {
			return created, err
		}
	}
}

func (r *REST) create(ctx context.Context, object runtime.Object, validation rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	strategy := objectStrategy{r.view}
	r.fillSystemFields(accessor)
	if accessor.GetGenerateName() != "" && accessor.GetName() == "" {
		accessor.SetName(strategy.GenerateName(accessor.GetGenerateName()))
	}
	if err := rest.BeforeCreate(strategy, ctx, object); err != nil {
		return nil, err
	}
	if validation != nil {
		if err := validation(ctx, object.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	name := accessor.GetName()
	key, err := r.keyFor(ctx, name)
	if err != nil {
		return nil, err
	}
	created, err := r.insert(ctx, key, object, dryrun.IsDryRun(options.DryRun))
	if err == nil {
		return created, nil
	}
	err = rest.CheckGeneratedNameError(ctx, strategy, storageerrors.InterpretCreateError(err, r.resource.GroupResource(), name), object)
	if apierrors.IsAlreadyExists(err) {
		r.explainTaken(key, err)
	}
	return nil, err
}

// insert stores a new object, unless it is a dry run.
func (r *REST) insert(ctx context.Context, key store.Key, object runtime.Object, dryRun bool) (runtime.Object, error) {
	if dryRun {
		if _, err := r.catalogue.store.Get(key); err == nil {
			return nil, storage.NewKeyExistsError(key.String(), 0)
		}
		return r.unwritten(object, nil)
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	// What is no resource version is not taken for one.
	if version, err := strconv.ParseUint(accessor.GetResourceVersion(), 10, 64); err == nil && version != 0 {
		return nil, storage.ErrResourceVersionSetOnCreate
	}
	stored, err := r.toStore(object, nil)
	if err != nil {
		return nil, err
	}
	if err := r.catalogue.store.Create(key, stored); err != nil {
		return nil, err
	}
	r.wrote(ctx)
	return r.read(stored)
}

// unwritten is what a dry run answers: the object as if it had been stored.
func (r *REST) unwritten(object, old runtime.Object) (runtime.Object, error) {
	stored, err := r.toStore(object, old)
	if err != nil {
		return nil, err
	}
	return r.read(stored)
}

// mayGrant refuses the write of an object that gives users what the client does not hold; old is nil on create. It comes
// before all checks of the object.
func (v *view) mayGrant(ctx context.Context, object, old runtime.Object) error {
	if check := v.catalogue.hooks.MayGrant; check != nil && v.strategy.grants {
		return check(ctx, object, old)
	}
	return nil
}

// wrote tells who depends on the view's objects that one was written.
func (v *view) wrote(ctx context.Context) {
	if v.written != nil {
		v.written(ctx)
	}
}

// explainTaken says in the error that the object whose name is taken is on its way out.
func (r *REST) explainTaken(key store.Key, err error) {
	current, getErr := r.catalogue.store.Get(key)
	if getErr != nil {
		return
	}
	accessor, metaErr := meta.Accessor(current)
	status, ok := err.(*apierrors.StatusError)
	if metaErr == nil && ok && accessor.GetDeletionTimestamp() != nil {
		status.ErrStatus.Message = "object is being deleted: " + status.ErrStatus.Message
	}
}

// toStore returns an object as it is stored; old is the stored object that it replaces, or nil.
func (r *REST) toStore(object, old runtime.Object) (runtime.Object, error) {
	stored, err := r.write(object)
	if err != nil {
		return nil, err
	}
	accessor, err := meta.Accessor(stored)
	if err != nil {
		return nil, err
	}
	accessor.SetSelfLink("")
	// The real API server applies defaults when it reads what it wrote.
	r.catalogue.scheme.Default(stored)
	if r.strategy.settle != nil {
		r.strategy.settle(stored)
	}
	if _, real := r.catalogue.clock.(clock.RealClock); !real {
		restampManagedFields(accessor, old, r.catalogue.clock.Now())
	}
	return stored, nil
}

// restampManagedFields gives entries of managed fields that the request made or changed the time of the server's clock;
// the field manager takes that of the machine.
func restampManagedFields(accessor metav1.Object, old runtime.Object, now time.Time) {
	known := map[string]bool{}
	if old != nil {
		if oldAccessor, err := meta.Accessor(old); err == nil {
			for _, entry := range oldAccessor.GetManagedFields() {
				known[entryTime(entry)] = true
			}
		}
	}
	entries := append([]metav1.ManagedFieldsEntry{}, accessor.GetManagedFields()...)
	for i, entry := range entries {
		if entry.Time != nil && !known[entryTime(entry)] {
			stamp := metav1.NewTime(now.UTC().Truncate(time.Second))
			entries[i].Time = &stamp
		}
	}
	if len(entries) > 0 {
		accessor.SetManagedFields(entries)
	}
}

func entryTime(entry metav1.ManagedFieldsEntry) string {
	return fmt.Sprint(entry.Manager, "\x00", entry.Operation, "\x00", entry.APIVersion, "\x00", entry.Subresource, "\x00", entry.Time)
}

func (r *REST) fillSystemFields(accessor metav1.Object) {
	accessor.SetCreationTimestamp(r.now())
	accessor.SetUID(r.catalogue.newUID())
}

// keyFor returns where the object of that name is stored, in the namespace of the request.
func (r *REST) keyFor(ctx context.Context, name string) (store.Key, error) {
	namespace := ""
	if r.namespaced {
		namespace = request.NamespaceValue(ctx)
		if namespace == "" {
			return store.Key{}, apierrors.NewBadRequest("Namespace parameter required.")
		}
	}
	if name == "" {
		return store.Key{}, apierrors.NewBadRequest("Name parameter required.")
	}
	if msgs := content.IsPathSegmentName(name); len(msgs) > 0 {
		return store.Key{}, apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", name, strings.Join(msgs, ";")))
	}
	return r.key(namespace, name), nil
}

// now is the time of the server's clock, as precise as timestamps of objects are.
func (c *Catalogue) now() metav1.Time { return metav1.NewTime(c.clock.Now()).Rfc3339Copy() }

func (v *view) now() metav1.Time { return v.catalogue.now() }
