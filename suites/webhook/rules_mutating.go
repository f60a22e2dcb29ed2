package webhook

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/exchange"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
)

const noMutating = "no webhook is mutating, or none of its reviews was answered"

// mutatingRules are about patches.
func mutatingRules() []Rule {
	return []Rule{
		{
			ID:     "contract.mutating.patch-with-type",
			Change: "Set patchType to JSONPatch where there is a patch, and nowhere else.",
			judge: each(noMutating, ofMutating, func(a *attempt) string {
				response := a.Answer.Response
				switch {
				case len(response.Patch) > 0 && response.PatchType == nil:
					return "the answer has a patch and no patchType"
				case len(response.Patch) == 0 && response.PatchType != nil:
					return fmt.Sprintf("the answer has patchType %s and no patch", *response.PatchType)
				case response.PatchType != nil && *response.PatchType != admissionv1.PatchTypeJSONPatch:
					return fmt.Sprintf("patchType is %q; JSONPatch is the only one", *response.PatchType)
				}
				return ""
			}),
		},
		{
			ID:     "contract.mutating.patch-valid-json-patch",
			Change: "Send a JSON patch (RFC 6902), base64 in JSON, that applies to request.object: make parents such as /metadata/annotations before what is put into them.",
			judge: each(noMutating, patches, func(a *attempt) string {
				if _, err := exchange.Operations(a.Answer.Response.Patch); err != nil {
					return err.Error()
				}
				if _, err := exchange.Apply(a.Answer.Response.Patch, encode(objectOf(a.review))); err != nil {
					return err.Error()
				}
				return ""
			}),
		},
		{
			ID:     "contract.mutating.patched-object-decodes",
			Change: "Patch values of the types that the kind's schema has.",
			judge: func(r *record) judgement {
				j := judgement{inapplicable: "no webhook patches an object"}
				for _, a := range r.attempts {
					if a.hook.Mutating && makesObject(a) && a.Allowed() && a.changesObject() {
						j.looked++
					}
				}
				for _, i := range r.invalid {
					j.add(i.attempt, "the API server does not take the patched object: "+i.message)
				}
				return j
			},
		},
		{
			ID:     "contract.mutating.idempotent",
			Change: "Look whether the change is there already before you make it: with reinvocationPolicy IfNeeded the webhook is called with its own output.",
			judge: each("no webhook with reinvocationPolicy IfNeeded patches an object", func(a *attempt) bool {
				return a.variant == again && a.hook.Mutating && a.hook.IfNeeded()
			}, changesAgain),
		},
		{
			ID:     "contract.mutating.idempotent-anyway",
			Change: "Look whether the change is there already before you make it: objects come back in updates, and from exports.",
			judge: each("no webhook with reinvocationPolicy Never patches an object", func(a *attempt) bool {
				return a.variant == again && a.hook.Mutating && !a.hook.IfNeeded()
			}, changesAgain),
		},
		{
			ID:     "contract.mutating.handles-previously-admitted",
			Change: "Admit what you have admitted before, with your own changes in it, and an update that changes nothing.",
			judge:  answers("no object was admitted", true, again, unchanged),
		},
		{
			ID:     "contract.mutating.deterministic",
			Change: "Make the same patch of the same object: no random values, no times, no order of maps.",
			judge: each(noMutating, func(a *attempt) bool { return a.variant == repeated && a.hook.Mutating && a.base.Responded() }, func(a *attempt) string {
				if a.differs() {
					return "the same object gets another patch the second time"
				}
				return ""
			}),
		},
		{
			ID:     "contract.mutating.preserves-others",
			Change: "Patch what is yours: add keys one by one instead of replacing maps, and add to lists by the path /- instead of replacing them.",
			judge:  both(answers(noMutating, false, foreign), each("", of(foreign), lost)),
		},
		{
			ID:     "contract.mutating.tolerates-reordering",
			Change: "Decide by what concerns you, not by how many labels there are or by what other webhooks have not done yet.",
			judge:  both(answers("no object was admitted by a mutating webhook", true, peer, between), each("", of(peer), orderMatters)),
		},
		{
			ID:     "contract.mutating.no-patch-on-delete",
			Change: "Send no patch where request.object is null.",
			judge: each("the rules of no mutating webhook match DELETE", func(a *attempt) bool { return a.hook.Mutating && objectOf(a.review) == nil }, func(a *attempt) string {
				if len(a.Answer.Response.Patch) == 0 {
					return ""
				}
				return "the answer has a patch, and there is no object to be patched"
			}),
		},
		{
			ID:     "contract.mutating.no-patch-when-denying",
			Change: "Send no patch with a denial: nobody applies it.",
			judge: each("no mutating webhook refused a request", func(a *attempt) bool { return a.hook.Mutating && denials(a) }, func(a *attempt) string {
				if len(a.Answer.Response.Patch) == 0 {
					return ""
				}
				return "the request is refused, and the answer has a patch"
			}),
		},
		{
			ID:     "contract.mutating.does-not-assume-final-state",
			Change: "Refuse objects in a validating webhook: after a mutating one others may change the object again.",
			judge: hooks(noMutating, func(h *manifests.Hook) bool { return h.Mutating }, func(r *record, h *manifests.Hook) []finding {
				for _, a := range r.attempts {
					if a.hook == h && a.variant == refused && denials(a) && !r.validated(a) {
						return []finding{{hook: h, attempt: a, message: "a mutating webhook refuses the object, and no validating one does"}}
					}
				}
				return nil
			}),
		},
	}
}

func patches(a *attempt) bool {
	return a.hook.Mutating && len(a.Answer.Response.Patch) > 0 && objectOf(a.review) != nil
}

// changesAgain says what a webhook changes in its own output.
func changesAgain(a *attempt) string {
	if !a.Allowed() || !a.changesObject() {
		return ""
	}
	return "the webhook changes its own output again: " + string(a.Answer.Response.Patch)
}

// differs tells that an attempt and the one that it was made of are allowed and patched differently.
func (a *attempt) differs() bool {
	mine, other := a.patched(), a.base.patched()
	return a.Allowed() && a.base.Allowed() && mine != nil && other != nil && !exchange.Same(encode(mine), encode(other))
}

// orderMatters says that an object ends up different when another webhook has come before. A webhook that takes away what
// the other did, or patches by chance, has a rule of its own.
func orderMatters(a *attempt) string {
	after, alone := a.patched(), a.base.patched()
	if after == nil || alone == nil || !isTouched(after) || slices.ContainsFunc(a.base.repeats, (*attempt).differs) {
		return ""
	}
	alone = deepCopy(alone)
	touch(alone)
	if exchange.Same(encode(after), encode(alone)) {
		return ""
	}
	return "an object that another webhook labelled and annotated before ends up different from one that it labels and annotates afterwards"
}

// lost says what of others a patch takes away.
func lost(a *attempt) string {
	patched := a.patched()
	if patched == nil {
		return ""
	}
	switch finalizers, _, _ := unstructured.NestedStringSlice(patched, "metadata", "finalizers"); {
	case !isTouched(patched):
		return "the patch takes away a label or an annotation that another webhook has set"
	case !slices.Contains(finalizers, foreignFinalizer):
		return "the patch takes away a finalizer that another webhook has set"
	}
	if before := containersOf(objectOf(a.review)); before != nil && !strings.Contains(string(encode(containersOf(patched))), `"gatehouse-sidecar"`) {
		return "the patch takes away a container that another webhook has added"
	}
	return ""
}

// validated tells that a validating webhook refuses the object of an attempt too.
func (r *record) validated(a *attempt) bool {
	return slices.ContainsFunc(r.attempts, func(other *attempt) bool {
		return !other.hook.Mutating && other.variant == refused && other.Denied() && what(other.review) == what(a.review)
	})
}

// needsReinvocation says what a webhook would have changed, had it seen the object again.
func needsReinvocation(a *attempt) string {
	if !a.Allowed() || !a.changesObject() {
		return ""
	}
	return "with a container that another webhook adds after it, the webhook would change the object again, and is not asked: " + string(a.Answer.Response.Patch)
}
