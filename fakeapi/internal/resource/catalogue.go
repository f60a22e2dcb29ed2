package resource

import (
	"context"
	"sync"
	"sync/atomic"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

// Options are what a Catalogue is made of.
type Options struct {
	// Store keeps the objects.
	Store *store.Store
	// Clock gives creation and deletion timestamps; the real clock when nil.
	Clock clock.PassiveClock
	// UID makes the uid of each created object; random UUIDs when nil.
	UID func() types.UID
	// EnabledVersions are group versions to serve besides those that a kube-apiserver serves by default, such as
	// admissionregistration.k8s.io/v1beta1.
	EnabledVersions []schema.GroupVersion
	// V1beta1Configurations serves the webhook configurations in admissionregistration.k8s.io/v1beta1 too, as a
	// kube-apiserver up to v1.21 did.
	V1beta1Configurations bool
	// LegacyWorkloads serves workloads in apps/v1beta1, apps/v1beta2 and extensions/v1beta1 too, as a kube-apiserver up to
	// v1.15 did.
	LegacyWorkloads bool
	// ServiceAddresses say where the services are that conversion webhooks name, before the stored services are asked,
	// as in services.Resolver.
	ServiceAddresses map[string]string
}

// Hooks are what the catalogue asks of its surroundings. They are bound after the catalogue was made because most of
// them read from it.
type Hooks struct {
	// Admission is what deletions that the server makes itself, to empty a namespace, go through. Requests of clients
	// go through what is passed to the handlers.
	Admission admission.Interface
	// Authorizer decides whether a client that updates or applies may create.
	Authorizer authorizer.UnconditionalAuthorizer
	// MayGrant refuses, with an API status, that the client writes a role or a binding that gives what the client does not
	// hold. Without it, everybody may. The old object is nil on create.
	MayGrant func(ctx context.Context, object, old runtime.Object) error
	// Review answers a TokenReview, SelfSubjectReview, SubjectAccessReview, LocalSubjectAccessReview,
	// SelfSubjectAccessReview or SelfSubjectRulesReview by filling in its status. The error is an API status.
	Review func(ctx context.Context, review runtime.Object) error
	// IssueToken fills in the status of a request for a token of a service account.
	IssueToken func(ctx context.Context, account *corev1.ServiceAccount, request *authenticationv1.TokenRequest) error
}

// Catalogue knows what is served. Its methods may be called from several goroutines.
type Catalogue struct {
	store  *store.Store
	clock  clock.PassiveClock
	newUID func() types.UID
	scheme *runtime.Scheme
	hooks  Hooks

	// equivalents knows which built-in resources hold the same objects.
	equivalents runtime.EquivalentResourceRegistry
	// converters makes the convertors of custom kinds.
	converters *conversion.CRConverterFactory
	// namespaces empties terminating namespaces, definitions removes the objects of deleted custom kinds.
	namespaces  *namespaceController
	definitions *controller
	// builtin are the resources that are always served.
	builtin []*Resource

	served atomic.Pointer[served]
	// mu guards custom, the custom kinds by the name of their definition, and serializes changes of served.
	mu     sync.Mutex
	custom map[string]*customKind
}

// Resource is a served version of a resource or of a subresource.
type Resource struct {
	// GVR is where the resource is served; for a subresource that of its parent.
	GVR schema.GroupVersionResource
	// Subresource is the name of the subresource, such as status; empty for the resource itself.
	Subresource string
	// GVK is the kind that is read and written there; of a subresource it may be of another group (Scale, Eviction).
	GVK schema.GroupVersionKind
	// Namespaced is whether objects are in a namespace.
	Namespaced bool
	// Singular, ShortNames and Categories are as in discovery; empty for subresources.
	Singular   string
	ShortNames []string
	Categories []string
	// Verbs are as in discovery, sorted; connecting has none there.
	Verbs []string
	// StorageVersionHash is as in discovery; empty where nothing is stored.
	StorageVersionHash string
	// Warnings are sent with every answer: that the version is deprecated. There are none where it is not.
	Warnings []string
	// RemovedRelease is the Kubernetes release, such as 1.40, that no longer has the version; empty where that is not known.
	RemovedRelease string
	// Custom tells that the resource comes from a CustomResourceDefinition.
	Custom bool

	storage rest.Storage
	scope   func() *handlers.RequestScope
}

// Storage returns the REST storage. Which interfaces of package rest it implements says what requests it can answer.
func (r *Resource) Storage() rest.Storage { return r.storage }

// Scope returns the scope that handlers of the resource need. It is built when first asked for; callers must not change
// it.
func (r *Resource) Scope() *handlers.RequestScope { return r.scope() }

// Group is a served API group.
type Group struct {
	// Name is the name of the group; empty for the core group.
	Name string
	// Versions are the served versions, the preferred one first.
	Versions []string
}

// served is what is served at one time. It is not changed but replaced.
type served struct {
	groups    []Group
	resources []*Resource
	index     map[address]*Resource
}

// address is where a resource is served.
type address struct {
	resource    schema.GroupVersionResource
	subresource string
}

// Resources returns all that is served, for discovery, in order of group (as in Groups), version, name, and
// subresource. The slice is the same from call to call as long as nothing changes; it must not be changed.
func (c *Catalogue) Resources() []*Resource { return c.served.Load().resources }

// Groups returns the served groups in the order of the real API server's discovery. The slice must not be changed.
func (c *Catalogue) Groups() []Group { return c.served.Load().groups }

// Lookup returns a resource, or a subresource of it.
func (c *Catalogue) Lookup(gvr schema.GroupVersionResource, subresource string) (*Resource, bool) {
	found, ok := c.served.Load().index[address{gvr, subresource}]
	return found, ok
}

// ForKind returns the resource, not subresource, that serves a kind.
func (c *Catalogue) ForKind(gvk schema.GroupVersionKind) (*Resource, bool) {
	for _, r := range c.served.Load().resources {
		if r.GVK == gvk && r.Subresource == "" {
			return r, true
		}
	}
	return nil, false
}

// Bind sets the hooks. It must be called once, before the first request.
func (c *Catalogue) Bind(hooks Hooks) { c.hooks = hooks }

// Run does what a cluster's controllers do for the catalogue: it empties and removes terminating namespaces, and removes
// the custom resources of definitions that are deleted. It returns when ctx is done.
func (c *Catalogue) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { c.namespaces.run(ctx) })
	running.Go(func() { c.definitions.run(ctx) })
	running.Wait()
}
