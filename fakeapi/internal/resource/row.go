package resource

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
)

// row describes a kind of object and where it is served.
type row struct {
	// stored is the group version that objects are kept in. It is the only served one when served is empty.
	stored schema.GroupVersion
	// hashed is the version that the real API server stores objects in where that is another one. Its hash is in discovery.
	hashed string
	// served are the group versions that the kind is served in, the preferred one first.
	served []servedVersion
	kind   string
	// resource is the plural name in paths.
	resource string
	// singular is the name in discovery; the kind in lower case when empty.
	singular   string
	shortNames []string
	categories []string
	namespaced bool
	// verbs are the verbs of the resource itself; all when empty.
	verbs []string
	// subresources are served beside the resource, in all its versions.
	subresources []subresource
	strategy     strategy
	// storage makes the storage of kinds that are not simply stored; nil for all others.
	storage func(v *view) rest.Storage
}

// servedVersion is a group version that a kind is served in.
type servedVersion struct {
	schema.GroupVersion
	// asked tells whether the options ask for the version; nil for one that is always served.
	asked func(Options) bool
	// defaults fill in, ahead of those of the strategy, what a client of the version means by a field that it leaves out
	// where one of the stored version means something else. They get objects in the stored version, and may be nil.
	defaults func(object runtime.Object)
	// adapt changes a copy of the strategy where the version has other rules; may be nil.
	adapt func(*strategy)
	// uncategorized keeps the version out of the kind's categories.
	uncategorized bool
}

// subresource is a row's subresource.
type subresource struct {
	name  string
	verbs []string
	// kindIn is what is read and written there in a served version of the resource; the kind of the resource when nil.
	kindIn  func(version groupVersion) schema.GroupVersionKind
	storage func(parent *REST) rest.Storage
}

// named is the kind of that name in the served version of the resource.
func named(kind string) func(groupVersion) schema.GroupVersionKind {
	return func(version groupVersion) schema.GroupVersionKind { return version.WithKind(kind) }
}

// always is the same kind in all versions of the resource.
func always(kind schema.GroupVersionKind) func(groupVersion) schema.GroupVersionKind {
	return func(groupVersion) schema.GroupVersionKind { return kind }
}

// strategy is what is special about a kind. Functions get objects in the stored version. All fields may be empty.
type strategy struct {
	// createOnUpdate lets an update of a missing object create it.
	createOnUpdate bool
	// conditionalUpdate makes an update name the resource version that it is based on.
	conditionalUpdate bool
	// returnsDeleted makes a deletion answer with the object instead of a Status.
	returnsDeleted bool
	// generation names the fields whose change counts metadata.generation up; it is left alone when empty.
	generation []string
	// keepsStatus lets a client that creates an object set its status, if it has any.
	keepsStatus bool
	// name checks the name; a DNS subdomain when nil.
	name validation.ValidateNameFunc
	// defaults fills in what the client left out, wherever an object is decoded.
	defaults func(object runtime.Object)
	// settle changes an object as the real API server's store does, which does not tell an empty list from none.
	settle func(object runtime.Object)
	// prepareCreate and prepareUpdate change an object before it is checked.
	prepareCreate func(ctx context.Context, object runtime.Object)
	prepareUpdate func(ctx context.Context, object, old runtime.Object)
	// validate checks an object that is created or updated, validateUpdate what an update may not change. When complete is
	// set, validate is all that a new object is checked for, metadata included, and validateUpdate all of an update.
	validate       func(object runtime.Object) field.ErrorList
	validateUpdate func(object, old runtime.Object) field.ErrorList
	// validateCreate checks a new object for what an update may bring.
	validateCreate func(object runtime.Object) field.ErrorList
	complete       bool
	// mayWrite checks, once the object is valid, what the client must be allowed to do besides; old is nil on create.
	mayWrite func(ctx context.Context, c *Catalogue, object, old runtime.Object) field.ErrorList
	// grants marks kinds that give users rights: the hook MayGrant is asked before an object is checked.
	grants bool
	// warnings are sent to the client that creates the object, when old is nil, or updates it.
	warnings func(object, old runtime.Object) []string
	// fields are the values that field selectors may ask for, besides the name and namespace.
	fields func(object runtime.Object) fields.Set
	// selectable tells whether a version of the kind knows one of these fields; nil when all do.
	selectable func(version groupVersion, name string) bool
	// collection says what happens to dependents when the deletion options do not.
	collection rest.GarbageCollectionPolicy
	// graceful makes deletion graceful: it may set options.GracePeriodSeconds and tells whether the object is to wait.
	graceful func(object runtime.Object, options *metav1.DeleteOptions) bool
	// mayFinish tells whether an update that leaves no finalizer in metadata ends the deletion.
	mayFinish func(object, old runtime.Object) bool
	// deleteWarning is sent to clients that delete without saying what is to happen to dependents.
	deleteWarning string
}

// versions returns the group versions that the kind is served in.
func (r *row) versions() []servedVersion {
	if len(r.served) > 0 {
		return r.served
	}
	return []servedVersion{{GroupVersion: r.stored}}
}

// kinds returns the kind in every version that it may be served in.
func (r *row) kinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, version := range r.versions() {
		kinds = append(kinds, version.WithKind(r.kind))
	}
	return kinds
}

// versionsOf returns the group versions that a built-in kind may be served in.
func versionsOf(kind schema.GroupVersionKind) []groupVersion {
	for _, row := range shared().rows {
		if kinds := row.kinds(); slices.Contains(kinds, kind) {
			versions := make([]groupVersion, len(kinds))
			for i := range kinds {
				versions[i] = kinds[i].GroupVersion()
			}
			return versions
		}
	}
	return nil
}

func (r *row) storageKind() schema.GroupVersionKind { return r.stored.WithKind(r.kind) }

// storedUnder is the resource in the store.
func (r *row) storedUnder() schema.GroupResource {
	return schema.GroupResource{Group: r.stored.Group, Resource: r.resource}
}

func (r *row) singularName() string {
	if r.singular != "" {
		return r.singular
	}
	return strings.ToLower(r.kind)
}

// allVerbs are those of an ordinary resource, as in discovery.
func allVerbs() []string {
	return []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
}

// The functions below let the tables name functions on Go types.

func each[T runtime.Object](f func(T)) func(runtime.Object) {
	return func(object runtime.Object) { f(object.(T)) }
}

func checks[T runtime.Object](functions ...func(T) field.ErrorList) func(runtime.Object) field.ErrorList {
	return func(object runtime.Object) field.ErrorList {
		var errs field.ErrorList
		for _, f := range functions {
			errs = append(errs, f(object.(T))...)
		}
		return errs
	}
}

func checksUpdate[T runtime.Object](f func(object, old T) field.ErrorList) func(object, old runtime.Object) field.ErrorList {
	return func(object, old runtime.Object) field.ErrorList { return f(object.(T), old.(T)) }
}

func creating[T runtime.Object](f func(ctx context.Context, object T)) func(context.Context, runtime.Object) {
	return func(ctx context.Context, object runtime.Object) { f(ctx, object.(T)) }
}

func updating[T runtime.Object](f func(ctx context.Context, object, old T)) func(ctx context.Context, object, old runtime.Object) {
	return func(ctx context.Context, object, old runtime.Object) { f(ctx, object.(T), old.(T)) }
}

func selects[T runtime.Object](f func(T) fields.Set) func(runtime.Object) fields.Set {
	return func(object runtime.Object) fields.Set { return f(object.(T)) }
}
