package webhook

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
)

// reinvocation remembers from the first round of the mutating half what decides which webhooks are called again in the
// second: those with reinvocationPolicy IfNeeded that were called, once something else changes the object after that.
// A webhook that was not called in the first round is not called in the second either.
type reinvocation struct {
	// called are the ids of the webhooks called so far.
	called map[string]bool
	// waiting are the ids of called IfNeeded webhooks since whose last call nothing changed the object.
	waiting map[string]bool
	// due tells why an IfNeeded webhook is to be called again, by id.
	due map[string]string
	// output is the object as the webhooks left it in the first round; nil where nothing will ask for it.
	output runtime.Object
}

// reinvocationOf returns what the request's attributes keep from round to round.
func reinvocationOf(a admission.Attributes) *reinvocation {
	context := a.GetReinvocationContext()
	if kept, ok := context.Value(mutatingPlugin).(*reinvocation); ok {
		return kept
	}
	r := &reinvocation{called: map[string]bool{}, waiting: map[string]bool{}, due: map[string]string{}}
	context.SetValue(mutatingPlugin, r)
	return r
}

// begin begins the second round with the object as the stages before the webhooks left it.
func (r *reinvocation) begin(object runtime.Object) {
	if len(r.waiting) > 0 && !apiequality.Semantic.DeepEqual(r.output, object) {
		r.changed("the stages before the webhooks changed the object in the second round")
	}
}

// end ends the first round with the object as the webhooks left it.
func (r *reinvocation) end(a admission.Attributes) {
	if len(r.waiting) > 0 && a.GetReinvocationContext().ShouldReinvoke() && a.GetObject() != nil {
		r.output = a.GetObject().DeepCopyObject()
	}
}

// changed makes all waiting webhooks due, because the object changed since they saw it.
func (r *reinvocation) changed(why string) {
	for id := range r.waiting {
		r.due[id] = why
	}
	clear(r.waiting)
}

// invoked notes that the webhook was called, after what it changed itself.
func (r *reinvocation) invoked(h *hook) {
	r.called[h.id] = true
	if h.reinvocable {
		r.waiting[h.id] = true
	}
}

// notDue says why a webhook that matches in the second round is not called again.
func (r *reinvocation) notDue(h *hook) string {
	switch {
	case !r.called[h.id]:
		return "not called in the first round, so not in the second either"
	case !h.reinvocable:
		return "called in the first round, and its reinvocationPolicy is Never"
	default:
		return "called in the first round, and nothing changed the object after that"
	}
}
