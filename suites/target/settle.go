package target

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

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
	// settleTimeout is how long one round may take. Policies act within some seconds even on a busy server.
	settleTimeout = 60 * time.Second
	// probePause is the first pause between two looks at a sentinel; it doubles up to probePauseMax.
	probePause    = time.Millisecond
	probePauseMax = 50 * time.Millisecond

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
	rounds sync.WaitGroup

	mu    sync.Mutex
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
		lanes, err := s.lanesOf(probe)
		if err != nil {
			return err
		}
		group.Go(func() error { return lanes.wait(ctx) })
	}
	return group.Wait()
}

// close ends rounds that run and removes the sentinels. It may be called more than once.
func (s *settler) close() error {
	s.mu.Lock()
	s.cancel() // under the lock, so that no round begins after it
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
		clusterRoles, clusterRoleBindings, priorityClasses,
	} {
		err := s.client.Resource(gvr).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: ownerLabel + "=" + s.name})
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

// lanesOf returns the lanes of the probe, made when it is asked for first.
func (s *settler) lanesOf(p probe) (*lanes, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, errors.New("settle: the target has been stopped")
	}
	l, found := s.lanes[p.name]
	if !found {
		l = &lanes{settler: s, probe: p}
		for n := range max(1, p.lanes) {
			l.all = append(l.all, &lane{name: fmt.Sprintf("%d-%d", len(s.lanes), n)})
		}
		s.lanes[p.name] = l
	}
	return l, nil
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

// lanes run the rounds of one probe. A lane runs one round at a time, with a sentinel of its own; where rounds are long,
// several lanes spare callers the wait for the end of a round that began before they came.
type lanes struct {
	settler *settler
	probe   probe

	mu  sync.Mutex // over the lanes' running and next
	all []*lane
}

// lane is a sequence of rounds.
type lane struct {
	name string // unique to the settler; short, for it is a label's value

	running bool
	next    *round // the round that has not begun; nil when nobody waits for one

	// used by the running round alone
	count int  // of rounds so far
	known bool // the server knows the sentinel
}

// round is one turn of a lane.
type round struct {
	done chan struct{}
	err  error // read after done
}

// wait waits for a round that begins after now.
func (l *lanes) wait(ctx context.Context) error {
	mine := l.join()
	select {
	case <-mine.done:
		return mine.err
	case <-ctx.Done():
		return fmt.Errorf("settle %s: %w", l.probe.name, context.Cause(ctx))
	}
}

// join returns a round that has not begun: in a lane that is free, else together with others who wait for one.
func (l *lanes) join() *round {
	l.mu.Lock()
	defer l.mu.Unlock()
	chosen := l.all[0]
	for _, candidate := range l.all {
		if !candidate.running {
			chosen = candidate
			break
		}
		if candidate.next != nil {
			chosen = candidate
		}
	}
	if chosen.next == nil {
		chosen.next = &round{done: make(chan struct{})}
	}
	mine := chosen.next
	if !chosen.running {
		chosen.running = true
		l.settler.rounds.Go(func() { l.run(chosen) })
	}
	return mine
}

// run runs the lane's rounds as long as somebody waits.
func (l *lanes) run(lane *lane) {
	for {
		l.mu.Lock()
		r := lane.next
		lane.next = nil
		if r == nil {
			lane.running = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		r.err = l.turn(lane)
		close(r.done)
	}
}

// turn is one round: write the sentinel, look until it acts.
func (l *lanes) turn(lane *lane) error {
	ctx, cancel := context.WithTimeoutCause(l.settler.ctx, settleTimeout, fmt.Errorf("the sentinel did not act within %v", settleTimeout))
	defer cancel()
	err := l.settler.makeNamespace(ctx)
	if err == nil && l.probe.rehearse && !lane.known {
		err = l.once(ctx, lane)
	}
	if err == nil {
		lane.known = true
		err = l.once(ctx, lane)
	}
	if err == nil && l.probe.remove != nil {
		lane.known = false
		err = l.probe.remove(ctx, lane.name)
	}
	if err != nil {
		return fmt.Errorf("settle %s: %w", l.probe.name, err)
	}
	return nil
}

func (l *lanes) once(ctx context.Context, lane *lane) error {
	lane.count++
	token := fmt.Sprintf("round-%06d", lane.count) // of one length, so that none is the beginning of another
	if err := l.probe.write(ctx, lane.name, token); err != nil {
		return err
	}
	return await(ctx, func() (bool, string) { return l.probe.look(ctx, lane.name, token) })
}

// await looks until it is so.
func await(ctx context.Context, look func() (so bool, answer string)) error {
	pause := probePause
	for {
		so, answer := look()
		if so {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; the last answer to a probe: %s", context.Cause(ctx), answer)
		case <-time.After(pause):
		}
		pause = min(2*pause, probePauseMax)
	}
}
