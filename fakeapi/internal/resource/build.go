package resource

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/deprecation"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource/fieldschema"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource/printers"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/services"
)

// minorVersion is the minor version of the API server that the catalogue follows.
const minorVersion = 37

// maxRequestBody is the largest request in bytes, as the real API server has it.
const maxRequestBody = 3 * 1024 * 1024

// New makes the catalogue of the built-in kinds and creates the namespaces that every cluster has.
func New(options Options) (*Catalogue, error) {
	c := &Catalogue{
		store: options.Store, clock: options.Clock, newUID: options.UID,
		scheme: shared().scheme, custom: map[string]*customKind{},
	}
	if c.clock == nil {
		c.clock = clock.RealClock{}
	}
	if c.newUID == nil {
		c.newUID = func() types.UID { return uuid.NewUUID() }
	}
	c.namespaces = newNamespaceController(c)
	c.definitions = newController(c.finishDefinition)
	var err error
	resolver := services.Resolver{Addresses: options.ServiceAddresses, Lookup: c.lookUpService}
	if c.converters, err = conversion.NewCRConverterFactory(resolver, nil); err != nil {
		return nil, fmt.Errorf("converters of custom resources: %w", err)
	}
	c.equivalents = runtime.NewEquivalentResourceRegistryWithIdentity(sameObjects(shared().rows))

	var resources []*Resource
	for i := range shared().rows {
		row := &shared().rows[i]
		for _, version := range row.versions() {
			if version.asked != nil && !version.asked(options) {
				continue
			}
			built, err := c.buildBuiltin(row, version)
			if err != nil {
				return nil, fmt.Errorf("resource %s in %s: %w", row.resource, version.GroupVersion, err)
			}
			resources = append(resources, built...)
		}
	}
	c.builtin = resources
	c.served.Store(newServed(resources))
	for _, resource := range resources {
		c.equivalents.RegisterKindFor(resource.GVR, resource.Subresource, resource.GVK)
	}
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		prepareNamespace(context.Background(), namespace)
		if err := c.Put(context.Background(), namespace); err != nil {
			return nil, fmt.Errorf("namespace %s: %w", name, err)
		}
	}
	return c, nil
}

// sameObjects names what holds the same objects in several groups.
func sameObjects(rows []row) func(schema.GroupResource) string {
	names := map[schema.GroupResource]string{}
	for _, row := range rows {
		for _, version := range row.versions() {
			if version.Group != row.stored.Group {
				names[schema.GroupResource{Group: version.Group, Resource: row.resource}] = row.storedUnder().String()
			}
		}
	}
	return func(resource schema.GroupResource) string {
		if name, ok := names[resource]; ok {
			return name
		}
		return resource.String()
	}
}

// buildBuiltin makes the resource of a row in one version, and its subresources.
func (c *Catalogue) buildBuiltin(row *row, version servedVersion) ([]*Resource, error) {
	v, err := c.builtinView(row, version)
	if err != nil {
		return nil, err
	}
	var storage rest.Storage = &REST{v}
	if row.storage != nil {
		storage = row.storage(v)
	}
	verbs := row.verbs
	if len(verbs) == 0 {
		verbs = allVerbs()
	}
	main := &Resource{
		GVR: v.resource, GVK: v.kind, Namespaced: v.namespaced,
		Singular: v.singular, ShortNames: v.shortNames, Categories: v.categories, Verbs: verbs,
		storage: storage,
	}
	main.Warnings, main.RemovedRelease = deprecated(v.newObject(), v.kind)
	if _, stored := viewOf(main); stored && slices.Contains(verbs, "watch") {
		hashed := row.hashed
		if hashed == "" {
			hashed = v.storedKind.Version
		}
		main.StorageVersionHash = discovery.StorageVersionHash(v.storedKind.Group, hashed, v.storedKind.Kind)
	}
	main.scope = c.lazyScope(main, c.builtinScope)
	resources := []*Resource{main}
	for _, sub := range row.subresources {
		kind := v.kind
		if sub.kindIn != nil {
			kind = sub.kindIn(version.GroupVersion)
		}
		resource := &Resource{
			GVR: v.resource, Subresource: sub.name, GVK: kind, Namespaced: v.namespaced, Verbs: sub.verbs,
			Warnings: main.Warnings, RemovedRelease: main.RemovedRelease, storage: sub.storage(&REST{v}),
		}
		resource.scope = c.lazyScope(resource, c.builtinScope)
		resources = append(resources, resource)
	}
	return resources, nil
}

func (c *Catalogue) builtinView(row *row, version servedVersion) (*view, error) {
	kind := version.WithKind(row.kind)
	list := version.WithKind(row.kind + "List")
	for _, needed := range []schema.GroupVersionKind{kind, row.storageKind()} {
		if !c.scheme.Recognizes(needed) {
			return nil, runtime.NewNotRegisteredErrForKind(c.scheme.Name(), needed)
		}
	}
	v := &view{
		catalogue: c, resource: version.WithResource(row.resource), kind: kind, namespaced: row.namespaced,
		singular: row.singularName(), shortNames: row.shortNames, categories: row.categories,
		stored: row.storedUnder(), storedKind: row.storageKind(),
		newObject: func() runtime.Object { return mustNew(c.scheme, kind) },
		newList:   func() runtime.Object { return mustNew(c.scheme, list) },
		typer:     c.scheme, convertor: c.scheme,
	}
	v.table = printers.New(v.stored, v.printed())
	v.hasStatus = slices.ContainsFunc(row.subresources, func(s subresource) bool { return s.name == "status" })
	if v.hasStatus {
		v.resets = resetsOf(version.String(), fieldpath.MakePathOrDie("status"))
	}
	if version.uncategorized {
		v.categories = nil
	}
	adapted := row.strategy
	if version.adapt != nil {
		version.adapt(&adapted)
	}
	v.strategy = v.inServedVersion(adapted)
	return v, nil
}

// printed tells printers when they are asked, and in which version they get objects.
func (v *view) printed() printers.Options {
	options := printers.Options{Now: v.catalogue.clock.Now}
	if v.kind != v.storedKind {
		options.Stored = func(object runtime.Object) (runtime.Object, error) { return v.write(object.DeepCopyObject()) }
	}
	return options
}

// mustNew makes an object of a kind that is known to be there.
func mustNew(scheme *runtime.Scheme, kind schema.GroupVersionKind) runtime.Object {
	object, err := scheme.New(kind)
	if err != nil {
		panic(err)
	}
	return object
}

// deprecated returns the warnings of a deprecated kind, and the release that no longer has it where that is known.
func deprecated(object runtime.Object, kind schema.GroupVersionKind) (warnings []string, removedRelease string) {
	object.GetObjectKind().SetGroupVersionKind(kind)
	if !deprecation.IsDeprecated(object, 1, minorVersion) {
		return nil, ""
	}
	return []string{deprecation.WarningMessage(object)}, deprecation.RemovedRelease(object)
}

// lazyScope builds a resource's scope when it is first asked for.
func (c *Catalogue) lazyScope(resource *Resource, build func(*Resource) (*handlers.RequestScope, error)) func() *handlers.RequestScope {
	return sync.OnceValue(func() *handlers.RequestScope {
		scope, err := build(resource)
		if err != nil {
			panic(fmt.Sprintf("scope of %s/%s: %v", resource.GVR, resource.Subresource, err)) // a fault in the tables
		}
		return scope
	})
}

func (c *Catalogue) builtinScope(resource *Resource) (*handlers.RequestScope, error) {
	// Objects are handled in the version that they are served in; there is no internal one.
	hub := resource.GVK.GroupVersion()
	fields, err := managedfields.NewDefaultFieldManager(
		fieldschema.Converter{Scheme: c.scheme}, acrossGroups{runtime.UnsafeObjectConvertor(c.scheme), c.scheme, hub.Version}, c.scheme, c.scheme,
		resource.GVK, hub, resource.Subresource, resetFilter(resource.storage),
	)
	if err != nil {
		return nil, err
	}
	scope := &handlers.RequestScope{
		Namer:      handlers.ContextBasedNaming{Namer: runtime.Namer(meta.NewAccessor()), ClusterScoped: !resource.Namespaced},
		Serializer: shared().codecs, ParameterCodec: shared().parameters,
		Creater: c.scheme, Convertor: c.scheme, Defaulter: c.scheme, Typer: c.scheme,
		UnsafeConvertor: runtime.UnsafeObjectConvertor(c.scheme),
		Authorizer:      hookedAuthorizer{c}, EquivalentResourceMapper: c.equivalents,
		FieldManager: fields, Resource: resource.GVR, Kind: resource.GVK, Subresource: resource.Subresource,
		MetaGroupVersion: metav1.SchemeGroupVersion, HubGroupVersion: hub, MaxRequestBodyBytes: maxRequestBody,
	}
	scope.TableConvertor, _ = resource.storage.(rest.TableConvertor)
	scope.AcceptsGroupVersionDelegate, _ = resource.storage.(rest.GroupVersionAcceptor)
	return scope, nil
}

func resetFilter(storage rest.Storage) map[fieldpath.APIVersion]fieldpath.Filter {
	if resets, ok := storage.(rest.ResetFieldsStrategy); ok {
		return fieldpath.NewExcludeFilterSetMap(resets.GetResetFields())
	}
	return nil
}

// hookedAuthorizer asks the authorizer that is bound when it is asked.
type hookedAuthorizer struct {
	catalogue *Catalogue
}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (h hookedAuthorizer) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	if h.catalogue.hooks.Authorizer == nil {
		return authorizer.DecisionAllow, "", nil
	}
	return h.catalogue.hooks.Authorizer.Authorize(ctx, attributes)
}

// groupOrder is the order of the built-in groups in discovery; the groups of custom resources come after them.
func groupOrder() []string {
	return []string{
		"", "apiregistration.k8s.io", "extensions", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "autoscaling", "batch",
		"certificates.k8s.io", "networking.k8s.io", "policy", "rbac.authorization.k8s.io", "storage.k8s.io",
		"admissionregistration.k8s.io", "apiextensions.k8s.io", "scheduling.k8s.io", "coordination.k8s.io",
		"node.k8s.io", "discovery.k8s.io", "resource.k8s.io", "flowcontrol.apiserver.k8s.io",
		"storagemigration.k8s.io", "internal.apiserver.k8s.io", "lifecycle.k8s.io",
	}
}

// newServed orders what is served. Within a group, versions keep the order of the first resource that each is seen in,
// except that custom groups have theirs by version priority.
func newServed(resources []*Resource) *served {
	order := map[string]int{}
	for i, group := range groupOrder() {
		order[group] = i
	}
	rank := func(group string) int {
		if i, ok := order[group]; ok {
			return i
		}
		return len(order)
	}
	versions := map[string][]string{}
	var groups []Group
	for _, r := range resources {
		if _, ok := versions[r.GVR.Group]; !ok {
			groups = append(groups, Group{Name: r.GVR.Group})
		}
		if !slices.Contains(versions[r.GVR.Group], r.GVR.Version) {
			versions[r.GVR.Group] = append(versions[r.GVR.Group], r.GVR.Version)
		}
	}
	sort.SliceStable(groups, func(i, j int) bool {
		a, b := groups[i].Name, groups[j].Name
		if rank(a) != rank(b) {
			return rank(a) < rank(b)
		}
		return a < b
	})
	s := &served{groups: groups, resources: slices.Clone(resources), index: map[address]*Resource{}}
	at := map[schema.GroupVersion][2]int{}
	for i := range s.groups {
		s.groups[i].Versions = byPriority(versions[s.groups[i].Name])
		for j, version := range s.groups[i].Versions {
			at[schema.GroupVersion{Group: s.groups[i].Name, Version: version}] = [2]int{i, j}
		}
	}
	slices.SortStableFunc(s.resources, func(a, b *Resource) int {
		x, y := at[a.GVR.GroupVersion()], at[b.GVR.GroupVersion()]
		if x != y {
			return slices.Compare(x[:], y[:])
		}
		if a.GVR.Resource != b.GVR.Resource {
			return strings.Compare(a.GVR.Resource, b.GVR.Resource)
		}
		if a.Custom {
			return 0 // discovery has them as they were made
		}
		return strings.Compare(a.Subresource, b.Subresource)
	})
	for _, r := range s.resources {
		s.index[address{r.GVR, r.Subresource}] = r
	}
	return s
}

// byPriority orders versions as discovery does: stable before beta before alpha, later before earlier.
func byPriority(versions []string) []string {
	sorted := slices.Clone(versions)
	sort.SliceStable(sorted, func(i, j int) bool { return version.CompareKubeAwareVersionStrings(sorted[i], sorted[j]) > 0 })
	return sorted
}
