// Package policy tests admission policies by tables: it runs the cases of fixtures.Tables through runner, on an API
// server of their own each where that is cheap, and gathers from the server's decision records which expression of which
// policy decided each case, and which expressions no case evaluated.
package policy

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/hook"
	"github.com/gatehouse-dev/gatehouse/suites/runner"
	"github.com/gatehouse-dev/gatehouse/suites/target"
)

// Options say where and how cases run.
type Options struct {
	// Target is the API server: a fakeapi for each case, or one server of another kind for all, one after the other.
	Target target.Options
	// Procs is how many cases run side by side on servers of their own; one when 0.
	Procs int
	// Explain gives the results of cases that passed a transcript of their steps too, with the server's account of its
	// decisions.
	Explain bool
}

// Outcome is what a run came to.
type Outcome struct {
	// Target names the server.
	Target target.Info
	// Results are the results of the cases, in their order. Cases that ctx kept from running have none.
	Results []reports.Result
	// Policies are the policies among the tables' manifests, with what the cases evaluated of them; none where the server
	// does not record its decisions.
	Policies []reports.PolicyCoverage
	// Unbound are the policies that no binding among the manifests names and that decided nothing: FILE:LINE:COLUMN and
	// the policy's name.
	Unbound []string
}

// Run runs the cases of the tables. An error says that the environment failed.
func Run(ctx context.Context, tables *fixtures.Tables, o Options) (Outcome, error) {
	o.Target.Needs = sets.New[fixtures.Need]()
	for _, c := range tables.Cases {
		o.Target.Needs.Insert(c.Needs...)
		for _, m := range c.Manifests {
			if m.Kind() == namespaces {
				o.Target.Needs.Insert(fixtures.NeedControllers) // which end namespaces
			}
		}
	}
	run := &run{options: o, results: make([]*reports.Result, len(tables.Cases)), coverage: newCoverage(tables.Manifests)}
	var err error
	if o.Target.Name == target.FakeAPI {
		err = run.apart(ctx, tables.Cases)
	} else {
		err = run.together(ctx, tables.Cases)
	}
	if run.hooks != nil {
		err = errors.Join(err, run.hooks.Close())
	}
	outcome := Outcome{Target: run.info}
	for _, result := range run.results {
		if result != nil {
			outcome.Results = append(outcome.Results, *result)
		}
	}
	if run.recorded {
		outcome.Policies = run.coverage.policies()
		outcome.Unbound = unbound(tables.Manifests, outcome.Results)
	}
	return outcome, err
}

// run is a run on its way.
type run struct {
	options Options
	hooks   *hook.Pool // nil where no case needs any

	mu       sync.Mutex
	info     target.Info
	results  []*reports.Result // by the cases' order
	recorded bool              // the server records its decisions
	coverage *coverage
}

// openHooks makes ready to run webhook servers where a case needs them and the API server at hand reaches them at the
// address.
func (r *run) openHooks(address string) error {
	if !r.options.Target.Needs.Has(fixtures.NeedHooks) || address == "" || r.hooks != nil {
		return nil
	}
	var err error
	r.hooks, err = hook.NewPool(address)
	return err
}

// apart runs each case on a server of its own.
func (r *run) apart(ctx context.Context, cases []*fixtures.LoadedCase) error {
	if err := r.openHooks("127.0.0.1"); err != nil {
		return err
	}
	group := errgroup.Group{}
	group.SetLimit(max(1, r.options.Procs))
	for i, c := range cases {
		group.Go(func() (err error) {
			if ctx.Err() != nil {
				return nil
			}
			t, err := target.Open(ctx, r.options.Target)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, t.Stop()) }()
			_, err = r.one(ctx, t, i, c)
			return err
		})
	}
	return group.Wait()
}

// together runs the cases on one server, one after the other. What one has made must be gone, and act no longer, before the
// next begins: they are about the same objects.
func (r *run) together(ctx context.Context, cases []*fixtures.LoadedCase) (err error) {
	t, err := target.Open(ctx, r.options.Target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Stop()) }()
	if err := r.openHooks(t.HookAddress()); err != nil {
		return err
	}
	for i, c := range cases {
		if ctx.Err() != nil {
			return nil
		}
		server, err := r.one(ctx, t, i, c)
		if err != nil {
			return err
		}
		cleared := context.WithoutCancel(ctx)
		if err := errors.Join(server.Gone(cleared, lasting(c.Manifests)), t.Settle(cleared, acting...)); err != nil {
			return fmt.Errorf("clearing away what %s made: %w", c.ID, err)
		}
	}
	return nil
}

// lasting are the paths of the manifests' objects that are not gone when they have been deleted.
func lasting(manifests []*fixtures.Manifest) []string {
	var paths []string
	for _, m := range manifests {
		name := url.PathEscape(m.Object.Unstructured().GetName())
		switch m.Kind() {
		case namespaces:
			paths = append(paths, "/api/v1/namespaces/"+name)
		case definitions:
			paths = append(paths, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+name)
		}
	}
	return paths
}

var (
	namespaces  = schema.GroupKind{Kind: "Namespace"}
	definitions = schema.GroupKind{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}
)

// acting are the resources whose objects have a say in admission.
var acting = []schema.GroupResource{
	admissionregistrationv1.Resource("validatingadmissionpolicies"), admissionregistrationv1.Resource("validatingadmissionpolicybindings"),
	admissionregistrationv1.Resource("mutatingadmissionpolicies"), admissionregistrationv1.Resource("mutatingadmissionpolicybindings"),
}

// one runs a case and takes account of what was decided.
func (r *run) one(ctx context.Context, t target.Target, index int, c *fixtures.LoadedCase) (*runner.Server, error) {
	server, err := runner.New(t, r.hooks)
	if err != nil {
		return nil, err
	}
	server.Disposable = r.options.Target.Name == target.FakeAPI
	var answered []reports.Step
	server.Answered = func(_ string, step reports.Step) { answered = append(answered, step) }
	result := runner.Run(ctx, server, c)

	r.mu.Lock()
	defer r.mu.Unlock()
	r.info = t.Info()
	if recorder, ok := t.(target.Recorder); ok {
		r.recorded = true
		for _, step := range answered {
			result.Decided = append(result.Decided, r.coverage.decided(c, step.Step, recorder.Decisions(step.AuditID))...)
		}
	}
	if r.options.Explain && result.Outcome == reports.Pass {
		result.Transcript = explained(t, answered)
	}
	r.results[index] = &result
	return server, nil
}

// explained are the requests of a case's steps with the server's account of what was decided.
func explained(t target.Target, answered []reports.Step) []reports.Step {
	var steps []reports.Step
	for _, step := range answered {
		if !strings.HasPrefix(step.Step, "steps[") {
			continue
		}
		step.Decision = t.Explain(step.AuditID)
		steps = append(steps, step)
	}
	return steps
}
