package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/hook"
)

// Run executes one case on the server and takes away what the case made, also when it failed or ctx was cancelled.
// The result is an error, and never a pass, when the suite or the environment failed; a case that found a fault before
// it could not be taken away is a failure all the same.
func Run(ctx context.Context, s *Server, c *fixtures.LoadedCase) reports.Result {
	result := Describe(c)
	result.Start = time.Now()
	if cause, reason := s.unfit(c); reason != "" {
		result.Outcome, result.Cause, result.Reason = reports.NotRun, cause, reason
		return result
	}
	r := newRun(s, c)
	err := r.execute(ctx)
	if len(r.failures) > 0 || err != nil {
		r.explain()
	}
	err = r.inWords(ctx, err)
	left := r.clear(ctx, err)
	result.Duration = time.Since(result.Start)
	result.LeftOut = r.leftOut
	switch {
	case err == nil && len(r.failures) > 0:
		// What keeps the case from being cleared away may be the very fault that it found.
		result.Outcome, err = reports.Fail, left
	case err != nil || left != nil:
		result.Outcome, err = reports.Error, together(err, left)
	default:
		result.Outcome = reports.Pass
		return result
	}
	result.Transcript, result.Failures = r.transcript, r.failures
	if err != nil {
		failure := r.failure(reports.Failure{Message: err.Error()})
		if dead := (*DeadError)(nil); errors.As(err, &dead) {
			failure.Actual = dead.Log
		}
		result.Failures = append(result.Failures, failure)
	}
	var parts []string
	var lines []int
	for _, failure := range result.Failures {
		parts, lines = append(parts, failure.Step), append(lines, failure.Line)
	}
	result.Fixture = c.Excerpts(parts, lines)
	return result
}

// Describe returns the result of a case that has not been run, without an outcome.
func Describe(c *fixtures.LoadedCase) reports.Result {
	return reports.Result{ID: c.ID, Title: c.Title, Area: c.Area, Behaviors: c.Behaviors, File: c.Position.File, Line: c.Position.Line}
}

// run is one case on its way. Its methods are called one after the other.
type run struct {
	server  *Server
	c       *fixtures.LoadedCase
	vars    fixtures.Vars
	hooks   *hook.Servers
	users   *users
	effects *effects
	left    *leftovers

	at         string // the path of what is being done: namespace, setup[0], steps[1]
	failures   []reports.Failure
	leftOut    []string
	transcript []reports.Step
}

func newRun(s *Server, c *fixtures.LoadedCase) *run {
	name := uniqueName(c.ID)
	left := &leftovers{namespace: name + "-ns", caseName: name, changed: func(all []string) {
		if s.Leftovers != nil {
			s.Leftovers(c.ID, all)
		}
	}}
	return &run{
		server: s, c: c, left: left, effects: newEffects(s, c.Needs), at: "namespace",
		users: &users{server: s, caseName: name, left: left},
		vars:  fixtures.Vars{Case: name, Namespace: left.namespace, Webhooks: map[string]fixtures.WebhookAddress{}, Steps: map[string]map[string]any{}},
	}
}

// execute runs the case up to the first step that is not as expected. What is not as expected goes into r.failures; an
// error says that the suite or the environment failed.
func (r *run) execute(ctx context.Context) error {
	described, err := r.c.ResolveNamespace(r.vars)
	if err != nil {
		return err
	}
	r.left.set(nil)
	if err := r.server.makeNamespace(ctx, r.vars.Namespace, described); err != nil {
		return err
	}
	if err := r.openHooks(); err != nil {
		return err
	}
	if err := r.prepareUsers(ctx); err != nil {
		return err
	}
	if err := r.setUp(ctx); err != nil || len(r.failures) > 0 {
		return err
	}
	for i := range r.c.Steps {
		r.at = fmt.Sprintf("steps[%d]", i)
		if err := r.step(ctx, i); err != nil || len(r.failures) > 0 {
			return err
		}
	}
	return nil
}

// openHooks starts the case's webhook servers.
func (r *run) openHooks() error {
	r.at = "webhooks"
	webhooks, err := r.c.ResolveWebhooks(r.vars)
	if err != nil || len(webhooks) == 0 {
		return err
	}
	if r.server.hooks == nil {
		return errors.New("there is no way for the API server to reach webhook servers")
	}
	if r.hooks, err = r.server.hooks.Open(r.vars.Case, webhooks); err != nil {
		return err
	}
	for name, config := range r.hooks.ClientConfigs() {
		r.vars.Webhooks[name] = fixtures.WebhookAddress{URL: config.URL, CABundle: config.CABundle, Host: config.Host, Port: config.Port, Path: config.Path}
	}
	return r.hooks.Script(webhooks)
}

// prepareUsers gives the users of the steps their rights ahead of the case's configurations, which might catch the
// suite's own requests. A step that refers to earlier answers has to wait for its turn.
func (r *run) prepareUsers(ctx context.Context) error {
	for i := range r.c.Steps {
		r.at = fmt.Sprintf("steps[%d].user", i)
		step, err := r.c.ResolveStep(i, r.vars)
		if err != nil || r.server.lacks(step.Needs) != "" {
			continue
		}
		if err := r.users.ensure(ctx, step.User); err != nil {
			return err
		}
	}
	return nil
}

// setUp creates the case's objects and waits until they act. Manifests that act in admission come last: setup is what
// was there before them.
func (r *run) setUp(ctx context.Context) error {
	r.at = "setup"
	objects, err := r.c.ResolveSetup(r.vars)
	if err != nil {
		return err
	}
	type made struct {
		at       string
		object   fixtures.Object
		manifest *fixtures.Manifest // nil for an object of the fixture
	}
	var all, acting []made
	for _, m := range r.c.Manifests {
		one := made{m.Position.String(), m.Object, m}
		if m.Acts() {
			acting = append(acting, one)
		} else {
			all = append(all, one)
		}
	}
	for i, object := range objects {
		all = append(all, made{at: fmt.Sprintf("setup[%d]", i), object: object})
	}
	for _, one := range append(all, acting...) {
		r.at = one.at
		if err := r.create(ctx, one.object, one.manifest); err != nil || len(r.failures) > 0 {
			return err
		}
	}
	r.at = "setup"
	return r.settle(ctx)
}

// create creates an object of the setup, which must succeed. A manifest is created as kubectl does it: a field that the
// API does not know is an error.
func (r *run) create(ctx context.Context, object fixtures.Object, m *fixtures.Manifest) error {
	step := fixtures.Step{Create: object}
	if m != nil {
		step.Options = fixtures.Object{"fieldValidation": metav1.FieldValidationStrict}
	}
	a, err := prepare(ctx, r.server.kinds, step, r.vars.Namespace)
	if err != nil {
		return err
	}
	got, err := r.send(ctx, a)
	if err != nil {
		return err
	}
	if !got.succeeded() {
		r.fail(reports.Failure{
			Message: fmt.Sprintf("the object was refused with code %d%s: %s", got.code, faultAt(m, got), got.problem()),
		})
	}
	return nil
}

// faultAt says where in a manifest the field stands for which the server refused it; nothing when that is not known.
func faultAt(m *fixtures.Manifest, got *answer) string {
	status, _ := got.object.(map[string]any)
	causes, _, _ := unstructured.NestedSlice(status, "details", "causes")
	if m == nil || len(causes) == 0 {
		return ""
	}
	cause, _ := causes[0].(map[string]any)
	field, _ := cause["field"].(string)
	if field == "" {
		return ""
	}
	return ", for " + m.At(field).String()
}

// settle waits until what was written has taken effect, and forgets the webhook calls that it took.
func (r *run) settle(ctx context.Context) error {
	if err := r.effects.settle(ctx); err != nil || r.hooks == nil {
		return err
	}
	_, err := r.hooks.Drain(ctx)
	return err
}

// send sends a request, keeps it in the transcript and takes account of what it made.
func (r *run) send(ctx context.Context, a *action) (*answer, error) {
	creates := a.writes && a.object != nil && a.request.method != http.MethodPut
	drop := func() {}
	if creates {
		drop = r.left.expect(a.objectPath(nil))
	}
	r.transcript = append(r.transcript, reports.Step{Step: r.at, Request: a.request.line(), Body: string(a.request.body)})
	got, err := r.server.client.do(ctx, a.request)
	if err != nil {
		return nil, err
	}
	shown := &r.transcript[len(r.transcript)-1]
	shown.Code, shown.Answer, shown.Warnings, shown.AuditID, shown.Duration = got.code, string(got.body), got.warnings, got.auditID, got.duration
	if r.server.Answered != nil {
		r.server.Answered(r.c.ID, *shown)
	}
	if got.code != http.StatusCreated {
		drop()
	}
	if !a.writes || !got.succeeded() {
		return got, nil
	}
	if got.code == http.StatusCreated || len(finalizers(got.object)) > 0 {
		r.left.add(a.objectPath(got), got.object)
	}
	return got, r.effects.note(ctx, a, got)
}

// drain takes the webhook calls since the last drain into the transcript; it returns those for admission and those for
// conversion. A webhook server that could not answer as it was told is an error of the suite.
func (r *run) drain(ctx context.Context) (calls, conversions []call, err error) {
	if r.hooks == nil {
		return nil, nil, nil
	}
	recorded, err := r.hooks.Drain(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("waiting for webhook calls to end: %w", err)
	}
	for _, c := range recorded {
		if c.Err != nil {
			return nil, nil, fmt.Errorf("webhook server %s: %w", c.Hook, c.Err)
		}
		review, err := normalize(c.Review)
		if err != nil {
			return nil, nil, fmt.Errorf("webhook server %s: the review: %w", c.Hook, err)
		}
		decoded, _ := review.(map[string]any)
		came := call{hook: c.Hook, review: decoded, headers: lowerCase(c.Headers), url: c.URL, protocol: c.Protocol, serverName: c.ServerName}
		if c.Conversion {
			conversions = append(conversions, came)
		} else {
			calls = append(calls, came)
		}
		if n := len(r.transcript); n > 0 {
			shown := &r.transcript[n-1]
			shown.Calls = append(shown.Calls, reports.Call{Hook: c.Hook, Review: string(c.Raw), Answer: string(c.Answer)})
		}
	}
	return calls, conversions, nil
}

// explain adds the server's own account of its decisions to the transcript.
func (r *run) explain() {
	for i := range r.transcript {
		if id := r.transcript[i].AuditID; id != "" {
			r.transcript[i].Decision = r.server.target.Explain(id)
		}
	}
}

// inWords says more about an error where more is known: that the run was interrupted, or that the server died.
func (r *run) inWords(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted (%w)", context.Cause(ctx))
	}
	return together(err, r.server.Alive(ctx))
}

// together is an error of one line for two that may be nil.
func together(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return fmt.Errorf("%w; %w", a, b)
}

// clear takes away what the case made, in its own time even when ctx was cancelled. Webhook servers go last, since
// configurations may act until they are gone. On a server that died, or ends with the case, there is nothing to take away.
func (r *run) clear(ctx context.Context, failed error) error {
	if r.hooks != nil {
		defer r.hooks.Close()
	}
	if dead := (*DeadError)(nil); errors.As(failed, &dead) || r.server.Disposable {
		return nil
	}
	return r.server.Remove(context.WithoutCancel(ctx), r.left.all())
}

// fail notes failures at the place where the case is.
func (r *run) fail(failures ...reports.Failure) {
	for _, f := range failures {
		r.failures = append(r.failures, r.failure(f))
	}
}

// failure completes a failure with the place where the case is.
func (r *run) failure(f reports.Failure) reports.Failure {
	f.Step = r.at
	path := r.at
	if f.Path != "" {
		path += "." + f.Path
	}
	f.Line = r.c.At(path).Line
	return f
}
