package webhook

import (
	"fmt"
	"slices"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/exchange"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
)

// Rule is one demand of the contract. What it demands, how strictly and on what authority, says the entry of its id in the
// ledger.
type Rule struct {
	// ID is the entry in the ledger's area webhook-contract.
	ID string
	// Change says what to change in a webhook that breaks the rule.
	Change string

	judge func(r *record) judgement
}

// judgement is what a rule says about a record.
type judgement struct {
	findings []finding
	// looked is how much the rule looked at; at 0 it does not apply, or could not be looked at, as the next two say.
	looked int
	// inapplicable says why the rule does not concern the webhooks.
	inapplicable string
	// notRun says why the rule could not be looked at.
	notRun string
	// notes are what was seen besides.
	notes []string
}

// finding is one thing that breaks a rule.
type finding struct {
	hook    *manifests.Hook
	message string
	// attempt or hostile is the evidence; both nil for manifests and measurements.
	attempt *attempt
	hostile *hostileAttempt
	live    *liveSample
	// place and path are of the manifest.
	place, path string
}

// each makes the judgement over all answered reviews that of selects: check returns what is wrong with one, "" for
// nothing.
func each(none string, of func(*attempt) bool, check func(*attempt) string) func(*record) judgement {
	return func(r *record) judgement {
		j := judgement{inapplicable: none}
		for _, a := range r.attempts {
			if !a.usable() || !of(a) {
				continue
			}
			j.looked++
			if message := check(a); message != "" {
				j.add(a, message)
			}
		}
		return j
	}
}

func (j *judgement) add(a *attempt, message string) {
	j.findings = append(j.findings, finding{hook: a.hook, message: message, attempt: a})
}

// usable tells that the answer has a response to look at. Those to another version of the review have a rule of their own.
func (a *attempt) usable() bool { return a.Responded() && a.variant != reviewVersion }

func anyReview(*attempt) bool { return true }

func ofMutating(a *attempt) bool { return a.hook.Mutating }

func ofValidating(a *attempt) bool { return !a.hook.Mutating }

func denials(a *attempt) bool { return a.Denied() && charge(a) == "" }

// charges say which rule a review is charged to that gets no answer, or an answer of an error, by its variant.
var charges = map[variant]string{
	create:        "contract.null-old-object-on-create",
	update:        "contract.requests.update",
	remove:        "contract.null-object-on-delete",
	connect:       "contract.connect-and-subresources",
	clusterScoped: "contract.requests.cluster-scoped",
	generateName:  "contract.generate-name",
	otherVersion:  "contract.requests.each-version",
	converted:     "contract.converted-object",
	refused:       "contract.null-old-object-on-create",
	reviewVersion: "contract.response.each-declared-version-supported",
	dryRun:        "contract.dry-run.same-decision",
	otherUser:     "contract.requests.other-users",
	noNamespace:   "contract.namespace-from-request",
	unknownFields: "contract.unknown-request-fields-tolerated",
	unknownKind:   "contract.unknown-kind-handled",
	large:         "contract.endpoint.large-objects",
	repeated:      "contract.requests.equal-answers",
	again:         "contract.mutating.handles-previously-admitted",
	unchanged:     "contract.mutating.handles-previously-admitted",
	foreign:       "contract.mutating.preserves-others",
	peer:          "contract.mutating.tolerates-reordering",
	between:       "contract.mutating.tolerates-reordering",
	later:         "contract.registration.if-needed-where-required",
}

// charge is the rule that a review without a proper answer is charged to; "" when its answer is proper. One fault is
// charged to one rule, so that a webhook is told what to change and not all that follows from it.
func charge(a *attempt) string {
	switch {
	case a.Fault == exchange.Late:
		return "contract.response.within-timeout"
	case a.Fault == exchange.Certificate:
		return "contract.endpoint.tls-name-matches"
	case a.Fault != exchange.None:
		return charges[a.variant]
	case a.Errored() && a.variant == unknownKind:
		return "" // to refuse what it does not know is sensible
	case a.Errored() && a.base != nil && a.base.Allowed():
		return charges[a.variant]
	}
	return ""
}

// answers makes the judgement that reviews of some variants are answered: with one, and not with one of an error. same
// demands the decision of the review that it was made of too.
func answers(none string, same bool, variants ...variant) func(*record) judgement {
	return func(r *record) judgement {
		j := judgement{inapplicable: none}
		for _, a := range r.attempts {
			if !slices.Contains(variants, a.variant) || r.mute(a.hook) {
				continue
			}
			j.looked++
			switch rule := charge(a); {
			case a.Fault != exchange.None && rule == charges[a.variant]:
				j.add(a, fmt.Sprintf("%s: %s", a.title, a.Problem))
			case rule == charges[a.variant]:
				j.add(a, fmt.Sprintf("%s: the answer is an error of the webhook, code %d: %s", a.title, a.Answer.Response.Result.Code, a.Message()))
			case same && a.base != nil && a.Responded() && a.base.Responded() && a.Allowed() != a.base.Allowed():
				j.add(a, fmt.Sprintf("%s: the answer is %s, and to the same review otherwise it is %s", a.title, a.decision(), a.base.decision()))
			}
		}
		return j
	}
}

// decision is the answer in a few words.
func (a *attempt) decision() string {
	switch {
	case !a.Responded():
		return "none"
	case a.Allowed():
		return "to allow it"
	case a.Message() != "":
		return fmt.Sprintf("to refuse it (%s)", a.Message())
	default:
		return "to refuse it"
	}
}

// both makes one judgement of two.
func both(first, second func(*record) judgement) func(*record) judgement {
	return func(r *record) judgement {
		a, b := first(r), second(r)
		a.findings, a.notes = append(a.findings, b.findings...), append(a.notes, b.notes...)
		a.looked += b.looked
		return a
	}
}

// hooks makes the judgement over the webhooks that of selects.
func hooks(none string, of func(*manifests.Hook) bool, check func(*record, *manifests.Hook) []finding) func(*record) judgement {
	return func(r *record) judgement {
		j := judgement{inapplicable: none}
		for _, h := range r.set.Hooks {
			if of(h) {
				j.looked++
				j.findings = append(j.findings, check(r, h)...)
			}
		}
		return j
	}
}

func anyHook(*manifests.Hook) bool { return true }

// faulty returns the first of a webhook's attempts with a fault for which of is true; nil when there is none.
func (r *record) faulty(h *manifests.Hook, of func(*attempt) bool) *attempt {
	for _, a := range r.attempts {
		if a.hook == h && a.Fault != exchange.None && of(a) {
			return a
		}
	}
	return nil
}
