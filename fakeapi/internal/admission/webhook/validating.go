package webhook

import (
	"context"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/match"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/versions"
)

// Validating is the admission plugin ValidatingAdmissionWebhook. It may be used by many requests at once.
type Validating struct {
	options        Options
	configurations func() []*admissionregistrationv1.ValidatingWebhookConfiguration
	hooks          hooks[admissionregistrationv1.ValidatingWebhookConfiguration]
}

// NewValidating returns the stage. It asks for the configurations anew for each request and keeps what it compiled of
// them by their pointers.
func NewValidating(options Options, configurations func() []*admissionregistrationv1.ValidatingWebhookConfiguration) *Validating {
	return &Validating{
		options:        options,
		configurations: configurations,
		hooks:          hooks[admissionregistrationv1.ValidatingWebhookConfiguration]{compile: compileValidating},
	}
}

// invocation is one webhook that is to be called, and what came of it.
type invocation struct {
	hook    *hook
	outcome match.Outcome
	objects *versions.Version
	// step is the place of this webhook in the record.
	step int

	review review
	answer *answer
	call   *decision.Call
	err    error
}

// Validate calls all webhooks that the request concerns at once and waits for all of them. When several refuse the
// request, the client sees the refusal of the first in order. Each webhook considered is reported as a step, in order.
func (s *Validating) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces, report func(...decision.Step)) error {
	hooks := s.hooks.of(s.configurations())
	if len(hooks) == 0 {
		return nil
	}
	if reason, excluded := match.ExcludedFromWebhooks(a); excluded {
		report(decision.Step{Plugin: validatingPlugin, Outcome: decision.Skipped, Reason: reason})
		return nil
	}
	steps, invocations, err := s.consider(ctx, hooks, a, o)
	switch {
	case err != nil:
		abandon(steps, invocations, "the request was refused before any webhook was called")
	case len(invocations) > 0 && ctx.Err() != nil:
		err = timedOut()
		abandon(steps, invocations, "the time of the request was up")
	case len(invocations) > 0:
		s.call(ctx, invocations)
		err = conclude(ctx, a, steps, invocations)
	}
	report(steps...)
	return err
}

// consider decides which webhooks to call. Where one cannot be decided, none is called.
func (s *Validating) consider(ctx context.Context, hooks []*hook, a admission.Attributes, o admission.ObjectInterfaces) ([]decision.Step, []*invocation, error) {
	objects := versions.Of(a, o)
	steps := make([]decision.Step, 0, len(hooks))
	var invocations []*invocation
	for _, h := range hooks {
		step := h.step(validatingPlugin)
		outcome, err := s.options.concern(ctx, h, a, objects.In, o)
		step.Outcome, step.Matched, step.Reason = decision.Skipped, outcome.Rule, outcome.Reason
		if err == nil && outcome.Matched {
			i := &invocation{hook: h, outcome: outcome, step: len(steps)}
			if i.objects, err = objects.In(outcome.Kind); err != nil {
				err = apierrors.NewInternalError(err)
				step.Reason = err.Error()
			} else {
				invocations = append(invocations, i)
			}
		}
		if err != nil {
			step.Outcome = decision.Failed
			return append(steps, step), invocations, err
		}
		steps = append(steps, step)
	}
	return steps, invocations, nil
}

// abandon notes that webhooks which were to be called were not.
func abandon(steps []decision.Step, invocations []*invocation, why string) {
	for _, i := range invocations {
		step := &steps[i.step]
		step.Reason += ", but it was not called: " + why
	}
}

// call makes the calls at once and waits for all of them.
func (s *Validating) call(ctx context.Context, invocations []*invocation) {
	for _, i := range invocations {
		i.review, i.err = s.options.prepare(i.hook, i.objects, i.outcome)
	}
	var calls sync.WaitGroup
	for _, i := range invocations {
		if i.err != nil {
			continue
		}
		send := func() { i.answer, i.call, i.err = s.options.send(ctx, i.hook, i.review, false) }
		if len(invocations) == 1 {
			send()
			break
		}
		calls.Go(send)
	}
	calls.Wait()
}

// conclude goes through the answers in the webhooks' order, so that warnings, annotations and the refusal do not depend
// on who was faster.
func conclude(ctx context.Context, a admission.Attributes, steps []decision.Step, invocations []*invocation) error {
	var refusal error
	for index, i := range invocations {
		step := &steps[i.step]
		if i.call != nil {
			i.call.Kind = i.outcome.Kind
			step.Call = i.call
		}
		if i.answer != nil {
			step.Warnings = i.answer.warnings
			i.err = i.hook.heed(ctx, a, i.answer)
		}
		ending, err := i.hook.settle(i.err)
		ended(step, ending, i.err)
		if ending == decision.FailedOpen && !wasCanceled(i.err) {
			annotateFailedOpen(a, i.hook, failedOpenValidatingAnnotation, place(0, index))
		}
		if refusal == nil {
			refusal = err
		}
	}
	if refusal == nil && ctx.Err() != nil {
		return timedOut() // what is left of the request would be lost
	}
	return refusal
}
