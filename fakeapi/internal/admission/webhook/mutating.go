package webhook

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/match"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/versions"
)

// Mutating is the admission plugin MutatingAdmissionWebhook. It may be used by many requests at once.
type Mutating struct {
	options        Options
	configurations func() []*admissionregistrationv1.MutatingWebhookConfiguration
	hooks          hooks[admissionregistrationv1.MutatingWebhookConfiguration]
}

// NewMutating returns the stage. It asks for the configurations anew for each request and keeps what it compiled of them
// by their pointers.
func NewMutating(options Options, configurations func() []*admissionregistrationv1.MutatingWebhookConfiguration) *Mutating {
	return &Mutating{
		options:        options,
		configurations: configurations,
		hooks:          hooks[admissionregistrationv1.MutatingWebhookConfiguration]{compile: compileMutating},
	}
}

// Admit calls the webhooks that the request concerns, one after the other, and lets them change its object. Each webhook
// considered is reported as a step.
func (s *Mutating) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces, report func(...decision.Step)) error {
	hooks := s.hooks.of(s.configurations())
	if len(hooks) == 0 {
		return nil
	}
	if reason, excluded := match.ExcludedFromWebhooks(a); excluded {
		report(decision.Step{Plugin: mutatingPlugin, Outcome: decision.Skipped, Reason: reason})
		return nil
	}
	m := &mutation{
		Options:      &s.options,
		attributes:   a,
		interfaces:   o,
		objects:      versions.Of(a, o),
		reinvocation: reinvocationOf(a),
		steps:        make([]decision.Step, 0, len(hooks)),
	}
	defer func() { report(m.steps...) }()
	if a.GetReinvocationContext().IsReinvoke() {
		m.round = 1
		m.reinvocation.begin(a.GetObject())
	}
	for i, h := range hooks {
		if err := m.consider(ctx, i, h); err != nil {
			return err
		}
	}
	if err := m.objects.WriteBack(); err != nil {
		return err
	}
	m.reinvocation.end(a)
	return nil
}

// mutation is one round of the mutating webhooks over one request.
type mutation struct {
	*Options
	attributes   admission.Attributes
	interfaces   admission.ObjectInterfaces
	objects      *versions.Objects
	reinvocation *reinvocation
	round        int
	// steps are what is to be reported, all at once: there may be many webhooks, and most do not concern the request.
	steps []decision.Step
}

func (m *mutation) report(step decision.Step) {
	m.steps = append(m.steps, step)
}

// consider calls one webhook if the request concerns it. The error refuses the request.
func (m *mutation) consider(ctx context.Context, index int, h *hook) error {
	step := h.step(mutatingPlugin)
	outcome, err := m.concern(ctx, h, m.objects.Attributes(), m.in, m.interfaces)
	step.Matched, step.Reason = outcome.Rule, outcome.Reason
	if err != nil {
		step.Outcome = decision.Failed
		m.report(step)
		return err
	}
	if !outcome.Matched {
		step.Outcome = decision.Skipped
		if m.round == 0 || m.reinvocation.called[h.id] {
			m.report(step)
		}
		return nil
	}
	if m.round > 0 {
		why, due := m.reinvocation.due[h.id]
		if !due {
			step.Outcome, step.Reason = decision.Skipped, m.reinvocation.notDue(h)
			m.report(step)
			return nil
		}
		step.Reinvoked = why
	}
	objects, err := m.in(outcome.Kind)
	if err != nil {
		err = apierrors.NewInternalError(err)
		ended(&step, decision.Failed, err)
		m.report(step)
		return err
	}

	changed, err := m.invoke(ctx, h, objects, outcome, place(m.round, index), &step)
	annotateMutation(m.attributes, h, place(m.round, index), changed)
	if changed {
		m.reinvocation.changed("webhook " + h.name + " (configuration " + h.configuration + ") changed the object after its last call")
		m.attributes.GetReinvocationContext().SetShouldReinvoke()
	}
	m.reinvocation.invoked(h)

	ending, refusal := h.settle(err)
	ended(&step, ending, err)
	m.report(step)
	if ending != decision.FailedOpen {
		return refusal
	}
	if !wasCanceled(err) {
		annotateFailedOpen(m.attributes, h, failedOpenMutationAnnotation, place(m.round, index))
	}
	if ctx.Err() != nil {
		return timedOut() // not the webhook's time is up but the request's
	}
	return nil
}

// in gives the objects as they are now. Of a conversion that fails, a kube-apiserver says twice that the error is an
// internal one: here and where the request is refused.
func (m *mutation) in(kind schema.GroupVersionKind) (*versions.Version, error) {
	objects, err := m.objects.In(kind)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return objects, nil
}

// invoke calls the webhook and puts the object that it wants in the place of the old one. It tells whether the two differ.
func (m *mutation) invoke(ctx context.Context, h *hook, objects *versions.Version, outcome match.Outcome, place string, step *decision.Step) (bool, error) {
	review, err := m.prepare(h, objects, outcome)
	if err != nil {
		return false, err
	}
	answer, call, err := m.send(ctx, h, review, true)
	if call != nil {
		call.Kind = outcome.Kind
		step.Call = call
	}
	if err != nil {
		return false, err
	}
	step.Warnings = answer.warnings
	if err := h.heed(ctx, m.attributes, answer); err != nil {
		return false, err
	}
	patch, err := h.decodePatch(answer)
	if err != nil || len(patch) == 0 {
		return false, err
	}
	object, changed, err := h.patched(objects, patch, answer.patchType, m.interfaces)
	if err != nil {
		return false, err
	}
	annotatePatch(m.attributes, h, place, patch)
	m.objects.Replace(objects, object)
	if changed {
		step.Changes = describePatch(patch)
	}
	return changed, nil
}
