package webhook

import (
	"fmt"
	"strings"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/apiproxy"
)

const noValidating = "no webhook is validating, or none of its reviews was answered"

// validatingRules are about validating webhooks.
func validatingRules() []Rule {
	return []Rule{
		{
			ID:     "contract.validating.no-patch",
			Change: "Send neither patch nor patchType from a validating webhook.",
			judge: each(noValidating, ofValidating, func(a *attempt) string {
				response := a.Answer.Response
				if len(response.Patch) == 0 && response.PatchType == nil {
					return ""
				}
				return "a validating webhook sends a patch"
			}),
		},
		{
			ID:     "contract.validating.read-only",
			Change: "Decide, and leave the object alone: change objects in a mutating webhook.",
			judge: writes(noValidating, ofValidating, func(a *attempt, w apiproxy.Request) string {
				if !about(a, w) {
					return ""
				}
				return fmt.Sprintf("during %s the webhook changes the object that is under review: %s", a.title, w)
			}),
		},
	}
}

// effectRules are about what a webhook does besides answering.
func effectRules() []Rule {
	return []Rule{
		{
			ID:     "contract.dry-run.none-has-no-effects",
			Change: "Write nothing during a review, or declare sideEffects NoneOnDryRun and write nothing during dry runs.",
			judge: writes("no webhook declares sideEffects None", func(a *attempt) bool { return !a.hook.HasSideEffects() }, func(a *attempt, w apiproxy.Request) string {
				if about(a, w) && !a.hook.Mutating {
					return "" // contract.validating.read-only
				}
				return fmt.Sprintf("sideEffects is None, and during %s the webhook writes: %s", a.title, w)
			}),
		},
		{
			ID:     "contract.dry-run.no-side-effects",
			Change: "Write nothing where request.dryRun is true.",
			judge: writes("no webhook declares side effects", func(a *attempt) bool { return a.hook.HasSideEffects() && a.variant == dryRun }, func(a *attempt, w apiproxy.Request) string {
				return fmt.Sprintf("during %s the webhook writes: %s", a.title, w)
			}),
		},
		{
			ID:     "contract.side-effects.no-files",
			Change: "Keep out of the working directory: an image's file system may be read-only, and what is written there is a side effect.",
			judge: func(r *record) judgement {
				if !r.filesKnown {
					return judgement{notRun: "only the working directory of a server that Gatehouse started is looked at"}
				}
				j := judgement{looked: 1}
				if len(r.files) > 0 {
					j.findings = []finding{{message: "reviews change files in the working directory: " + strings.Join(r.files, ", ")}}
				}
				return j
			},
		},
		{
			ID:     "contract.side-effects.reconciled",
			Change: "Reconcile what the webhook writes with the objects that there are: a request may be refused after the webhook has seen it.",
			judge: func(r *record) judgement {
				for _, h := range r.set.Hooks {
					if h.HasSideEffects() {
						return judgement{notRun: "whether side effects are reconciled cannot be seen from outside"}
					}
				}
				return judgement{inapplicable: "no webhook declares side effects"}
			},
		},
	}
}

// writes makes the judgement over the writes that came during reviews that of selects.
func writes(none string, of func(*attempt) bool, check func(*attempt, apiproxy.Request) string) func(*record) judgement {
	return func(r *record) judgement {
		if !r.callsKnown {
			return judgement{notRun: "only calls of a server that Gatehouse started are seen"}
		}
		j := judgement{inapplicable: none}
		for _, a := range r.attempts {
			if !a.usable() || !of(a) {
				continue
			}
			j.looked++
			for _, w := range a.writes {
				if message := check(a, w); message != "" {
					j.add(a, message)
				}
			}
		}
		return j
	}
}

// about tells that a write is of the object under review.
func about(a *attempt, w apiproxy.Request) bool {
	name, _ := requestOf(a.review)["name"].(string)
	return name != "" && strings.HasSuffix(w.Path, "/"+resourceOf(a.review).Resource+"/"+name)
}
