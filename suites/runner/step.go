package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
)

const (
	// eventuallyTimeout is how long a step that says eventually is repeated.
	eventuallyTimeout = 30 * time.Second
	// eventuallyInterval is the time between two attempts.
	eventuallyInterval = 200 * time.Millisecond
	// auditTimeout is how long a request's audit event may take to appear.
	auditTimeout = 10 * time.Second
)

// step runs the step with that index.
func (r *run) step(ctx context.Context, index int) error {
	step, err := r.c.ResolveStep(index, r.vars)
	if err != nil {
		r.fail(reports.Failure{Message: err.Error()})
		return nil
	}
	if reason := r.server.lacks(step.Needs); reason != "" {
		r.leftOut = append(r.leftOut, r.at+": "+reason)
		return nil
	}
	if step.Restart {
		r.transcript = append(r.transcript, reports.Step{Step: r.at, Request: "(restart of the API server)", Code: http.StatusOK})
		return r.server.target.Restart(ctx)
	}
	if step.Raw != nil {
		return r.raw(ctx, step)
	}
	if err := r.users.ensure(ctx, step.User); err != nil {
		return err
	}
	a, err := prepare(ctx, r.server.kinds, step, r.vars.Namespace)
	if err != nil {
		return err
	}
	got, failures, err := r.attempt(ctx, step, a)
	if step.Eventually {
		got, failures, err = r.eventually(ctx, step, a, got, failures, err)
	}
	if err != nil {
		return err
	}
	r.fail(failures...)
	if step.ID != "" {
		r.vars.Steps[step.ID] = got.variables()
	}
	return r.settle(ctx)
}

// attempt sends the step's request once and compares what came of it with what is expected.
func (r *run) attempt(ctx context.Context, step fixtures.Step, a *action) (*answer, []reports.Failure, error) {
	got, err := r.send(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	calls, conversions, err := r.drain(ctx)
	if err != nil {
		return nil, nil, err
	}
	var found findings
	found.add(checkAnswer(step.Expect, got))
	found.add(checkCalls(step.Expect.Calls, lastAttempts(calls)))
	found.add(checkConversions(step.Expect.Conversions, conversions))
	found.add(r.checkStored(ctx, step.Expect.Stored, a, got))
	found.add(r.checkAudit(ctx, step.Expect, got.auditID))
	return got, found.failures, found.err
}

// eventually repeats a step until it is as expected or the time is up; the transcript keeps the last attempt.
func (r *run) eventually(ctx context.Context, step fixtures.Step, a *action, got *answer, failures []reports.Failure, err error) (*answer, []reports.Failure, error) {
	deadline := time.Now().Add(eventuallyTimeout)
	for err == nil && len(failures) > 0 && time.Now().Before(deadline) {
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(eventuallyInterval):
		}
		r.transcript = r.transcript[:len(r.transcript)-1]
		got, failures, err = r.attempt(ctx, step, a)
	}
	for i := range failures {
		failures[i].Message += fmt.Sprintf(" (still so after %s)", eventuallyTimeout)
	}
	return got, failures, err
}

// checkStored compares what is stored after a step with what is expected: true, false, or a subset of the object.
func (r *run) checkStored(ctx context.Context, expected any, a *action, got *answer) ([]reports.Failure, error) {
	if expected == nil {
		return nil, nil
	}
	path := a.objectPath(got)
	if path == "" {
		return nil, fmt.Errorf("expect.stored: the step is about no object that has a name")
	}
	stored, err := r.server.client.do(ctx, &request{method: http.MethodGet, path: path})
	if err != nil {
		return nil, err
	}
	return storedAs(path, expected, stored)
}

func storedAs(path string, expected any, stored *answer) ([]reports.Failure, error) {
	const at = "expect.stored"
	switch {
	case stored.code != http.StatusOK && stored.code != http.StatusNotFound:
		return nil, fmt.Errorf("GET %s: code %d: %s", path, stored.code, stored.problem())
	case expected == false && stored.code == http.StatusOK:
		return []reports.Failure{{Path: at, Message: "the object should not be stored", Actual: stored.text()}}, nil
	case expected == false:
		return nil, nil
	case stored.code == http.StatusNotFound:
		return []reports.Failure{{Path: at, Message: "the object is not stored", Expected: toYAML(expected)}}, nil
	case expected == true:
		return nil, nil
	}
	want, err := normalize(expected)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return subset(at, want, stored.object), nil
}

// raw writes an object to the store, past the API. A namespaced one goes to the case's namespace where it names none.
func (r *run) raw(ctx context.Context, step fixtures.Step) error {
	a, err := prepare(ctx, r.server.kinds, fixtures.Step{Create: step.Raw, Resource: step.Resource, Namespace: step.Namespace}, r.vars.Namespace)
	if err != nil {
		return err
	}
	object := step.Raw.Unstructured().DeepCopy()
	if a.resource.namespaced && object.GetNamespace() == "" {
		object.SetNamespace(a.namespace)
	}
	body, err := json.Marshal(object.Object)
	if err != nil {
		return err
	}
	path := a.objectPath(nil)
	r.transcript = append(r.transcript, reports.Step{Step: r.at, Request: "(store) " + path, Body: string(body), Code: http.StatusOK})
	r.left.expect(path)
	if err := r.server.target.StoreRaw(ctx, body); err != nil {
		return fmt.Errorf("writing past the API: %w", err)
	}
	r.left.add(path, object.Object)
	if err := r.effects.note(ctx, a, &answer{code: http.StatusOK, object: object.Object}); err != nil {
		return err
	}
	return r.settle(ctx)
}
