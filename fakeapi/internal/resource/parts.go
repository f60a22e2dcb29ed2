package resource

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// partREST is the storage of a subresource through which a part of an object is changed, such as its status. The rest
// of what the client sends is ignored.
type partREST struct {
	parent   *REST
	strategy partStrategy
	resets   map[fieldpath.APIVersion]*fieldpath.Set
}

var (
	_ rest.Patcher             = &partREST{}
	_ rest.TableConvertor      = &partREST{}
	_ rest.ResetFieldsStrategy = &partREST{}
)

// partStrategy prepares and checks an update of a part.
type partStrategy struct {
	objectStrategy
	// prepare takes all but the part from the old object.
	prepare func(ctx context.Context, object, old runtime.Object)
	// validate checks the part; may be nil.
	validate func(object, old runtime.Object) field.ErrorList
}

func (s partStrategy) AllowCreateOnUpdate(context.Context) bool { return false }

func (s partStrategy) PrepareForUpdate(ctx context.Context, object, old runtime.Object) {
	s.prepare(ctx, object, old)
}

func (s partStrategy) ValidateUpdate(_ context.Context, object, old runtime.Object) field.ErrorList {
	if s.validate == nil {
		return nil
	}
	return s.validate(object, old)
}

func (s partStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// New implements rest.Storage.
func (p *partREST) New() runtime.Object { return p.parent.newObject() }

// Destroy implements rest.Storage; there is nothing to release.
func (p *partREST) Destroy() {}

// Get implements rest.Getter.
func (p *partREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return p.parent.Get(ctx, name, options)
}

// Update implements rest.Updater. It never creates the object.
func (p *partREST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	u := update{
		REST: p.parent, strategy: p.strategy, name: name, info: info,
		createValidation: createValidation, updateValidation: updateValidation, dryRun: dryrun.IsDryRun(options.DryRun),
	}
	return u.run(ctx)
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (p *partREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set { return p.resets }

// ConvertToTable implements rest.TableConvertor.
func (p *partREST) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return p.parent.ConvertToTable(ctx, object, options)
}

// updateOnlyREST is a part that cannot be read, such as a namespace's finalize.
type updateOnlyREST struct {
	part *partREST
}

var _ rest.Updater = updateOnlyREST{}

// New implements rest.Storage.
func (u updateOnlyREST) New() runtime.Object { return u.part.New() }

// Destroy implements rest.Storage; there is nothing to release.
func (u updateOnlyREST) Destroy() {}

// Update implements rest.Updater.
func (u updateOnlyREST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc, updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return u.part.Update(ctx, name, info, createValidation, updateValidation, forceAllowCreate, options)
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (u updateOnlyREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return u.part.GetResetFields()
}

// part makes the storage of a subresource from the functions that prepare and check an update of it, which take objects
// in the stored version.
func part(prepare func(ctx context.Context, object, old runtime.Object), validate func(object, old runtime.Object) field.ErrorList, resets ...fieldpath.Path) func(*REST) rest.Storage {
	return func(parent *REST) rest.Storage {
		adapted := parent.inServedVersion(strategy{prepareUpdate: prepare, validateUpdate: validate})
		return &partREST{
			parent:   parent,
			strategy: partStrategy{objectStrategy{parent.view}, adapted.prepareUpdate, adapted.validateUpdate},
			resets:   resetsOf(parent.kind.GroupVersion().String(), resets...),
		}
	}
}

// status makes a status subresource. prepare, which may be nil, does what is special about the kind, and resets are the
// fields besides the spec that it takes from the old object.
func status(prepare func(ctx context.Context, object, old runtime.Object), resets ...fieldpath.Path) subresource {
	return checkedStatus(prepare, nil, resets...)
}

// statusOnly is a status subresource that changes nothing else of the object, not its metadata either.
func statusOnly() subresource { return status(keepingMetadata, fieldpath.MakePathOrDie("metadata")) }

// checkedStatus is status with a check of what is written.
func checkedStatus(prepare func(ctx context.Context, object, old runtime.Object), validate func(object, old runtime.Object) field.ErrorList, resets ...fieldpath.Path) subresource {
	reset := func(ctx context.Context, object, old runtime.Object) {
		if spec := structField(object, "Spec"); spec.IsValid() {
			spec.Set(structField(old, "Spec"))
		}
		if prepare != nil {
			prepare(ctx, object, old)
		}
	}
	return subresource{
		name: "status", verbs: []string{"get", "patch", "update"},
		storage: part(reset, validate, append(resets, fieldpath.MakePathOrDie("spec"))...),
	}
}

// keepingMetadata takes the old object's metadata, all but the managed fields and what the server sets.
func keepingMetadata(_ context.Context, object, old runtime.Object) {
	metav1.ResetObjectMetaForStatus(object.(metav1.ObjectMetaAccessor).GetObjectMeta(), old.(metav1.ObjectMetaAccessor).GetObjectMeta())
}

// resetsOf says which fields a write through some version does not change.
func resetsOf(version string, paths ...fieldpath.Path) map[fieldpath.APIVersion]*fieldpath.Set {
	if len(paths) == 0 {
		return nil
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(version): fieldpath.NewSet(paths...)}
}
