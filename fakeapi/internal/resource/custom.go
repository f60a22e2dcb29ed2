package resource

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/config"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource/crd"
)

// customKind is what a CustomResourceDefinition made.
type customKind struct {
	// definition is the stored definition that the rest was made from.
	definition *apiextensionsv1.CustomResourceDefinition
	resources  []*Resource
	// types are what expressions of policies are checked against.
	types *config.Types
}

// customVerbs are in the order in which discovery has them for custom resources.
func customVerbs() []string {
	return []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
}

// buildCustom makes the resources of a definition.
func (c *Catalogue) buildCustom(definition *apiextensionsv1.CustomResourceDefinition) (*customKind, error) {
	kind, err := crd.Compile(definition, c.converters)
	if err != nil {
		return nil, err
	}
	custom := &customKind{definition: definition, types: typesOf(definition)}
	for _, version := range kind.Versions {
		if version.Served {
			custom.resources = append(custom.resources, c.buildCustomVersion(version)...)
		}
	}
	return custom, nil
}

func (c *Catalogue) buildCustomVersion(version *crd.Version) []*Resource {
	names := version.Kind.Definition.Status.AcceptedNames
	v := c.customView(version)
	storage := &customREST{&REST{v}}
	resource := func(subresource string, kind schema.GroupVersionKind, verbs []string, storage rest.Storage) *Resource {
		return &Resource{
			GVR: v.resource, Subresource: subresource, GVK: kind, Namespaced: v.namespaced, Verbs: verbs,
			Warnings: version.Warnings, Custom: true, storage: storage,
		}
	}
	main := resource("", v.kind, customVerbs(), storage)
	main.Singular, main.ShortNames, main.Categories = names.Singular, names.ShortNames, names.Categories
	main.StorageVersionHash = discovery.StorageVersionHash(v.storedKind.Group, v.storedKind.Version, v.storedKind.Kind)
	main.scope = c.lazyScope(main, customScope(v))
	resources := []*Resource{main}

	readWrite := []string{"get", "patch", "update"}
	if version.Status {
		status := resource("status", v.kind, readWrite, customStatus(storage.REST))
		status.scope = c.lazyScope(status, customScope(v))
		resources = append(resources, status)
	}
	if version.Scale != nil {
		scale := resource("scale", scaleKind(), readWrite, customScale(storage.REST))
		scale.scope = c.lazyScope(scale, func(r *Resource) (*handlers.RequestScope, error) {
			scope, err := c.builtinScope(r)
			if err == nil {
				scope.EquivalentResourceMapper = version.Kind.Equivalents
				scope.TableConvertor = version.ScaleTable
			}
			return scope, err
		})
		resources = append(resources, scale)
	}
	return resources
}

func (c *Catalogue) customView(version *crd.Version) *view {
	definition := version.Kind.Definition
	names := definition.Status.AcceptedNames
	v := &view{
		catalogue: c, custom: version, conversions: &conversions{version: version}, resource: version.GVR, kind: version.GVK,
		namespaced: definition.Spec.Scope == apiextensionsv1.NamespaceScoped,
		singular:   names.Singular, shortNames: names.ShortNames, categories: names.Categories,
		stored: version.GVR.GroupResource(), storedKind: version.Kind.Stored.GVK,
		newObject: func() runtime.Object {
			object := &unstructured.Unstructured{}
			object.SetGroupVersionKind(version.GVK)
			return object
		},
		newList: func() runtime.Object {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(version.ListGVK)
			return list
		},
		typer: crd.Typer{}, convertor: version.Kind.Convertor, table: version.Table,
		strategy: strategy{
			conditionalUpdate: true,
			complete:          true,
			prepareCreate:     creating(prepareCustom(version)),
			prepareUpdate:     updating(prepareCustomUpdate(version)),
			validate:          checks(version.Validate),
			validateUpdate:    checksUpdate(version.ValidateUpdate),
			warnings:          finalizerWarnings,
		},
	}
	if version.HasFields() {
		v.strategy.fields = selects(version.Fields) // which needs each object in the version, and may have to convert it
	}
	if version.Status {
		v.resets = resetsOf(version.GVK.GroupVersion().String(), fieldpath.MakePathOrDie("status"))
	}
	return v
}

// readCustom returns a stored object in the served version. Objects that were written since the definition last changed
// need no look at the schema.
func (v *view) readCustom(stored runtime.Object) (runtime.Object, error) {
	object := stored.(*unstructured.Unstructured)
	if v.kind == v.storedKind && newer(object.GetResourceVersion(), v.custom.Kind.Definition.ResourceVersion) {
		return shallowCopy(object), nil
	}
	return v.custom.Read(object)
}

func newer(version, than string) bool {
	a, errA := strconv.ParseUint(version, 10, 64)
	b, errB := strconv.ParseUint(than, 10, 64)
	return errA == nil && errB == nil && a > b
}

func prepareCustom(version *crd.Version) func(context.Context, *unstructured.Unstructured) {
	return func(_ context.Context, object *unstructured.Unstructured) {
		if version.Status {
			delete(object.Object, "status")
		}
		object.SetGeneration(1)
	}
}

func prepareCustomUpdate(version *crd.Version) func(ctx context.Context, object, old *unstructured.Unstructured) {
	return func(_ context.Context, object, old *unstructured.Unstructured) {
		if version.Status {
			if status, ok := old.Object["status"]; ok {
				object.Object["status"] = status
			} else {
				delete(object.Object, "status")
			}
		}
		if !equality.Semantic.DeepEqual(withoutMetadata(object), withoutMetadata(old)) {
			object.SetGeneration(old.GetGeneration() + 1)
		}
	}
}

func withoutMetadata(object *unstructured.Unstructured) map[string]any {
	rest := make(map[string]any, len(object.Object))
	for key, value := range object.Object {
		if key != "metadata" {
			rest[key] = value
		}
	}
	return rest
}

// finalizerWarnings warns of new finalizers whose names others may use as well.
func finalizerWarnings(object, old runtime.Object) []string {
	added := sets.New(object.(*unstructured.Unstructured).GetFinalizers()...)
	if old != nil {
		added = added.Difference(sets.New(old.(*unstructured.Unstructured).GetFinalizers()...))
	}
	standard := sets.New(metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents, string(corev1.FinalizerKubernetes))
	var warnings []string
	for _, finalizer := range sets.List(added) {
		for _, message := range utilvalidation.IsQualifiedName(finalizer) {
			warnings = append(warnings, fmt.Sprintf("metadata.finalizers: %q: %s", finalizer, message))
		}
		if strings.Contains(finalizer, "/") || standard.Has(finalizer) {
			continue
		}
		advice := "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
		if strings.Contains(finalizer, ".") {
			advice = "prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers"
		}
		warnings = append(warnings, fmt.Sprintf("metadata.finalizers: %q: %s", finalizer, advice))
	}
	return warnings
}

// customREST is the storage of custom resources.
type customREST struct {
	*REST
}

// Create implements rest.Creater. Nothing is created any more once the definition is being deleted.
func (c *customREST) Create(ctx context.Context, object runtime.Object, validation rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	if c.custom.Kind.Definition.DeletionTimestamp != nil {
		name := ""
		if accessor, err := meta.Accessor(object); err == nil {
			name = accessor.GetName()
		}
		return nil, apierrors.NewForbidden(c.resource.GroupResource(), name, errors.New("create not allowed while custom resource definition is terminating"))
	}
	return c.REST.Create(ctx, object, validation, options)
}

// customStatus is the storage of the status subresource. Everything but the status is taken from the old object.
func customStatus(parent *REST) rest.Storage {
	prepare := func(_ context.Context, object, old runtime.Object) {
		u := object.(*unstructured.Unstructured)
		status, ok := u.Object["status"]
		managed := u.GetManagedFields()
		*u = *old.(*unstructured.Unstructured).DeepCopy()
		u.SetManagedFields(managed)
		delete(u.Object, "status")
		if ok {
			u.Object["status"] = status
		}
	}
	return &partREST{
		parent:   parent,
		strategy: partStrategy{objectStrategy{parent.view}, prepare, checksUpdate(parent.custom.ValidateStatusUpdate)},
		resets:   resetsOf(parent.kind.GroupVersion().String(), fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec")),
	}
}

// customScale is the storage of the scale subresource.
func customScale(parent *REST) rest.Storage {
	paths := parent.custom.Scale
	replicas := managedfields.ResourcePathMappings{}
	for _, version := range parent.custom.Kind.Versions {
		key := version.GVK.GroupVersion().String()
		replicas[key] = nil
		if version.Scale != nil {
			replicas[key] = fieldpath.MakePathOrDie(anySlice(splitPath(version.Scale.SpecReplicasPath))...)
		}
	}
	return &scaleREST{
		parent: parent, kind: scaleKind(), replicas: replicas,
		read: func(object runtime.Object) (*autoscalingv1.Scale, error) {
			content := object.(*unstructured.Unstructured).Object
			spec, _, err := unstructured.NestedInt64(content, splitPath(paths.SpecReplicasPath)...)
			if err != nil {
				return nil, err
			}
			status, _, err := unstructured.NestedInt64(content, splitPath(paths.StatusReplicasPath)...)
			if err != nil {
				return nil, err
			}
			scale := &autoscalingv1.Scale{
				Spec: autoscalingv1.ScaleSpec{Replicas: int32(spec)}, Status: autoscalingv1.ScaleStatus{Replicas: int32(status)},
			}
			if paths.LabelSelectorPath != nil && *paths.LabelSelectorPath != "" {
				scale.Status.Selector, _, err = unstructured.NestedString(content, splitPath(*paths.LabelSelectorPath)...)
			}
			return scale, err
		},
		set: func(object runtime.Object, replicas int32) error {
			return unstructured.SetNestedField(object.(*unstructured.Unstructured).Object, int64(replicas), splitPath(paths.SpecReplicasPath)...)
		},
		lacks: func(object runtime.Object) error {
			_, ok, err := unstructured.NestedInt64(object.(*unstructured.Unstructured).Object, splitPath(paths.SpecReplicasPath)...)
			if err == nil && !ok {
				return fmt.Errorf("the spec replicas field %q does not exist", paths.SpecReplicasPath)
			}
			return err
		},
	}
}

func splitPath(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }

func anySlice(parts []string) []any {
	result := make([]any, len(parts))
	for i, part := range parts {
		result[i] = part
	}
	return result
}

// customScope builds the scope of a custom resource or its status.
func customScope(v *view) func(*Resource) (*handlers.RequestScope, error) {
	return func(resource *Resource) (*handlers.RequestScope, error) {
		kind := v.custom.Kind
		managed, err := managedfields.NewDefaultCRDFieldManager(
			lazyTypes{kind}, kind.Convertor, kind, crd.Creater{},
			resource.GVK, resource.GVK.GroupVersion(), resource.Subresource, resetFilter(resource.storage),
		)
		if err != nil {
			return nil, err
		}
		serializer := crd.Serializer{Kind: kind}
		scope := &handlers.RequestScope{
			Namer:      handlers.ContextBasedNaming{Namer: runtime.Namer(meta.NewAccessor()), ClusterScoped: !resource.Namespaced},
			Serializer: serializer, StandardSerializers: serializer.ForObjects(), ParameterCodec: shared().parameters,
			Creater: crd.Creater{}, Convertor: fieldLabels{kind.Convertor, v}, Defaulter: kind, Typer: crd.Typer{},
			UnsafeConvertor: kind.UnsafeConvertor, Authorizer: hookedAuthorizer{v.catalogue}, EquivalentResourceMapper: kind.Equivalents,
			TableConvertor: v.table, FieldManager: managed, Resource: resource.GVR, Kind: resource.GVK, Subresource: resource.Subresource,
			MetaGroupVersion: metav1.SchemeGroupVersion, HubGroupVersion: resource.GVK.GroupVersion(), MaxRequestBodyBytes: maxRequestBody,
		}
		return scope, nil
	}
}

// fieldLabels knows the selectable fields of a custom kind.
type fieldLabels struct {
	runtime.ObjectConvertor
	view *view
}

// ConvertFieldLabel implements runtime.ObjectConvertor.
func (f fieldLabels) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	known := label == "metadata.name" || (f.view.namespaced && label == "metadata.namespace")
	if !known && !f.view.custom.Fields(&unstructured.Unstructured{}).Has(label) {
		return "", "", fmt.Errorf("field label not supported: %s", label)
	}
	return label, value, nil
}

// lazyTypes asks for the merge schema of a custom kind when it is needed.
type lazyTypes struct {
	kind *crd.Kind
}

// ObjectToTyped implements managedfields.TypeConverter.
func (l lazyTypes) ObjectToTyped(object runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	return l.kind.TypeConverter().ObjectToTyped(object, options...)
}

// TypedToObject implements managedfields.TypeConverter.
func (l lazyTypes) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	return l.kind.TypeConverter().TypedToObject(value)
}
