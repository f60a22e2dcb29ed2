package target

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// An API server decides from caches that follow its store by watches: a write takes effect a moment later, a policy within
// about a second. A settler finds out when, by the API alone. For each cache there is a probe with a sentinel, an object
// of the kind that the cache holds, which affects nothing but requests for Leases in a namespace of the settler's own:
// the probe writes the sentinel and makes dry-run requests until the sentinel's new content is seen to act. A watch is
// ordered, so every earlier write of that kind has arrived too.
//
// Two rules keep that conclusion sound:
//   - Sentinels are changed, not made anew, from round to round. kube-apiserver keeps prepared forms of webhook
//     configurations that it drops by the watch's events; a new object has none to drop, and could act before its event,
//     and so before the events of earlier writes, have been handled.
//   - A round serves those who asked before it began, for its sentinel was written after their writes. Whoever asks
//     later waits for the next one, together with all others who do.
//
// Behind a load balancer with several API servers a probe speaks of the one that it reached.

const (
	fieldManager = "gatehouse-settle"
	// managedByLabel marks what the suite makes in a cluster.
	managedByLabel = "app.kubernetes.io/managed-by"
	// ownerLabel tells a settler's objects from another's.
	ownerLabel = "settle.gatehouse.dev/owner"
	// laneLabel scopes a sentinel to the requests of its own lane.
	laneLabel = "settle.gatehouse.dev/lane"
	// roundLabel carries the round.
	roundLabel = "settle.gatehouse.dev/round"
)

type settlerOptions struct {
	// cleanUp removes the sentinels at the end, for servers that live on.
	cleanUp bool
}

// settler waits for writes to take effect.
type settler struct {
	client  dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
	name    string // of the namespace and the sentinels; unique
	options settlerOptions

	ctx    context.Context // ends with the settler
	cancel context.CancelFunc
	rounds sync.WaitGroup // lanes that run

	mu    sync.Mutex        // held while a lane begins to run, and while the settler ends
	lanes map[string]*lanes // by probe

	namespaceMu   sync.Mutex
	namespaceMade bool
}

func newSettler(config *rest.Config, options settlerOptions) (*settler, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for settling: %w", err)
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for settling: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &settler{
		client: client,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoveryClient)),
		// Digits sort first: among configurations, which act in the order of their names, a sentinel fails the
		// request before any other webhook is called.
		name:    "0-gatehouse-settle-" + utilrand.String(8),
		options: options,
		ctx:     ctx,
		cancel:  cancel,
		lanes:   map[string]*lanes{},
	}, nil
}

// Settle implements Target.
func (s *settler) Settle(ctx context.Context, resources ...schema.GroupResource) error {
	group, ctx := errgroup.WithContext(ctx)
	probes, err := s.probesOf(ctx, resources)
	if err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	for _, probe := range probes {
		group.Go(func() error { return s.lanesOf(probe).wait(ctx) })
	}
	return group.Wait()
}

// close ends rounds that run and removes the sentinels. It may be called more than once.
func (s *settler) close() error {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	s.rounds.Wait()
	if !s.options.cleanUp {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	var errs []error
	for _, gvr := range []schema.GroupVersionResource{
		validatingWebhooks, mutatingWebhooks,
		validatingPolicies, validatingBindings, mutatingPolicies, mutatingBindings,
		clusterRoles, clusterRoleBindings, priorityClasses, definitions,
	} {
		err := s.client.Resource(gvr).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: ownerLabel + "=" + s.name})
		if unanswered := (*url.Error)(nil); errors.As(err, &unanswered) { // nor would the others be
			return fmt.Errorf("remove the sentinels, which have the label %s=%s: %w", ownerLabel, s.name, err)
		}
		if err != nil && !apierrors.IsNotFound(err) { // a kind that is not served has no objects
			errs = append(errs, fmt.Errorf("remove the sentinels among %s: %w", gvr.GroupResource(), err))
		}
	}
	err := s.client.Resource(namespaces).Delete(ctx, s.name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		errs = append(errs, fmt.Errorf("remove namespace %s: %w", s.name, err))
	}
	return errors.Join(errs...)
}

// makeNamespace makes the settler's namespace when it is not there.
func (s *settler) makeNamespace(ctx context.Context) error {
	s.namespaceMu.Lock()
	defer s.namespaceMu.Unlock()
	if s.namespaceMade {
		return nil
	}
	if err := s.apply(ctx, namespaces, s.object("v1", "Namespace", "", s.name, nil)); err != nil {
		return err
	}
	s.namespaceMade = true
	return nil
}

// apply writes an object of the settler's, whether it is there or not.
func (s *settler) apply(ctx context.Context, gvr schema.GroupVersionResource, object *unstructured.Unstructured) error {
	resource := s.client.Resource(gvr).Namespace(object.GetNamespace())
	_, err := resource.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil {
		return fmt.Errorf("write %s %s: %w", gvr.GroupResource(), object.GetName(), err)
	}
	return nil
}
