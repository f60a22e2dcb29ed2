package reports

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// BehaviorVerdict is what the cases say about a behaviour.
type BehaviorVerdict string

const (
	// Held: at least one case passed and none failed.
	Held BehaviorVerdict = "held"
	// Failed: a case failed, be it a known failure.
	Failed BehaviorVerdict = "failed"
	// Unproven: no case ran to a result.
	Unproven BehaviorVerdict = "unproven"
	// NotApplicable: the target's version does not have the behaviour, or it is not asked of servers.
	NotApplicable BehaviorVerdict = "not-applicable"
)

// Values returns the closed list of verdicts on a behaviour.
func (BehaviorVerdict) Values() []string {
	return []string{string(Held), string(Failed), string(Unproven), string(NotApplicable)}
}

// Verdict is what a run says about a target.
type Verdict string

const (
	// Conformant: every must behaviour that applies held, and nothing failed.
	Conformant Verdict = "conformant"
	// ConformantWithKnownFailures: known failures are all that failed.
	ConformantWithKnownFailures Verdict = "conformant with known failures"
	// NotConformant: something failed.
	NotConformant Verdict = "not conformant"
	// Partial: nothing failed, but the run does not show every must behaviour that applies.
	Partial Verdict = "partial"
	// TestsPassed: of policy tests, nothing failed and the expressions are covered as far as they were to be.
	TestsPassed Verdict = "passed"
	// TestsFailed: of policy tests, a case failed or too few expressions were covered.
	TestsFailed Verdict = "failed"
	// Broken: the suite or the environment failed, so that the run says nothing certain.
	Broken Verdict = "error"
)

// Values returns the closed list of verdicts on a target.
func (Verdict) Values() []string {
	return []string{string(Conformant), string(ConformantWithKnownFailures), string(NotConformant), string(Partial), string(TestsPassed), string(TestsFailed), string(Broken)}
}

// ExitStatus is the exit status that the verdict gives a command: 0, 1 when the target is not conformant or policy tests
// failed, 3 when the suite or the environment failed.
func (v Verdict) ExitStatus() int {
	switch v {
	case Conformant, ConformantWithKnownFailures, Partial, TestsPassed:
		return 0
	case NotConformant, TestsFailed:
		return 1
	default:
		return 3
	}
}

// webhookPrefix begins the ids of the behaviours that are asked of webhooks, not of API servers.
const webhookPrefix = "contract."

// behaviorsOf returns the ledger's behaviours with what the results say about each.
func behaviorsOf(ledger *fixtures.Ledger, target TargetInfo, results []Result) []Behavior {
	witnesses := map[string][]Result{}
	for _, r := range results {
		for _, id := range r.Behaviors {
			witnesses[id] = append(witnesses[id], r)
		}
	}
	behaviors := make([]Behavior, len(ledger.Behaviors))
	for i, entry := range ledger.Behaviors {
		entry.Notes, entry.Position = "", fixtures.Position{}
		b := Behavior{Behavior: entry, Cases: []string{}}
		for _, r := range witnesses[b.ID] {
			b.Cases = append(b.Cases, r.ID)
		}
		b.Verdict, b.Reason = behaviorVerdict(witnesses[b.ID])
		if excluded := exclusion(entry, target.Version); b.Verdict == Unproven && excluded != "" {
			b.Verdict, b.Reason = NotApplicable, excluded
		}
		behaviors[i] = b
	}
	return behaviors
}

// behaviorVerdict returns the verdict on a behaviour from the results of the cases that bear witness to it, and why it
// is unproven or not applicable.
func behaviorVerdict(witnesses []Result) (BehaviorVerdict, string) {
	count := CaseCounts{}
	otherCause := slices.IndexFunc(witnesses, func(r Result) bool { return r.Outcome == NotRun && r.Cause != CauseVersion })
	for _, r := range witnesses {
		count.add(r.Outcome)
	}
	switch {
	case len(witnesses) == 0:
		return Unproven, "no case"
	case count.Fail+count.KnownFail > 0:
		return Failed, ""
	case count.Pass > 0:
		return Held, ""
	case count.Error > 0:
		return Unproven, "error"
	case otherCause >= 0:
		return Unproven, notRunReason(witnesses[otherCause])
	default:
		return NotApplicable, notRunReason(witnesses[0])
	}
}

// notRunReason is why a case was not run; its cause when the reason is not given.
func notRunReason(r Result) string {
	if r.Reason != "" {
		return r.Reason
	}
	return string(r.Cause)
}

// exclusion says why a behaviour is not asked of a server of that version; "" when it is.
func exclusion(b fixtures.Behavior, target string) string {
	if strings.HasPrefix(b.ID, webhookPrefix) {
		return "asked of webhooks, not of API servers"
	}
	v, err := version.ParseGeneric(target)
	switch {
	case err != nil || b.AppliesTo(v):
		return ""
	case b.Since == "":
		return "until Kubernetes " + b.Until
	case b.Until == "":
		return "since Kubernetes " + b.Since
	default:
		return "from Kubernetes " + b.Since + " to " + b.Until
	}
}

// verdictOf returns the verdict on a report whose counts are made, and why it is not conformant.
func verdictOf(r Report) (Verdict, []string) {
	count := r.Total.CaseCounts
	faults := contradictions(r)
	failures := failureReasons(r)
	gaps := gapReasons(r)
	var errors, known []string
	if r.Interrupted != "" {
		errors = append(errors, "the run was interrupted: "+r.Interrupted)
	}
	if count.Error > 0 {
		errors = append(errors, plural(count.Error, "case", "cases")+" ended in an error: "+someOf(r.Results, Error))
	}
	if count.KnownFail > 0 {
		known = append(known, plural(count.KnownFail, "known failure", "known failures"))
	}

	reasons := slices.Concat(faults, failures, errors, gaps, known)
	if reasons == nil {
		reasons = []string{}
	}
	switch {
	case len(faults) > 0:
		return Broken, reasons
	case len(failures) > 0 && r.PolicyTests != nil:
		return TestsFailed, reasons
	case len(failures) > 0:
		return NotConformant, reasons
	case len(errors) > 0:
		return Broken, reasons
	case len(gaps) > 0:
		return Partial, reasons
	case len(known) > 0:
		return ConformantWithKnownFailures, reasons
	case r.PolicyTests != nil:
		return TestsPassed, reasons
	default:
		return Conformant, reasons
	}
}

// contradictions are what makes results worthless as a whole.
func contradictions(r Report) []string {
	var faults []string
	behaviors := make(map[string]bool, len(r.Behaviors))
	for _, b := range r.Behaviors {
		if behaviors[b.ID] {
			faults = append(faults, fmt.Sprintf("behavior %s is in the ledger twice", b.ID))
		}
		behaviors[b.ID] = true
	}
	ids := make(map[string]bool, len(r.Results))
	for _, result := range r.Results {
		if ids[result.ID] {
			faults = append(faults, fmt.Sprintf("case %s has two results", result.ID))
		}
		ids[result.ID] = true
		if !slices.Contains(result.Outcome.Values(), string(result.Outcome)) {
			faults = append(faults, fmt.Sprintf("case %s has the unknown outcome %q", result.ID, result.Outcome))
		}
		for _, id := range result.Behaviors {
			if !behaviors[id] {
				faults = append(faults, fmt.Sprintf("case %s bears witness to %s, which is not in the ledger", result.ID, id))
			}
		}
	}
	if r.Total.CaseCounts.Executed() == 0 {
		faults = append(faults, "no case was executed")
	}
	return faults
}

func failureReasons(r Report) []string {
	var reasons []string
	if n := r.Total.CaseCounts.Fail; n > 0 {
		reasons = append(reasons, plural(n, "case", "cases")+" failed: "+someOf(r.Results, Fail))
	}
	// A selection does not evaluate what the others do.
	if r.PolicyTests != nil && !r.Selection.Partial() && r.Interrupted == "" {
		if shortfall := r.PolicyTests.shortfall(); shortfall != "" {
			reasons = append(reasons, shortfall)
		}
	}
	return append(reasons, staleEntries(r)...)
}

// gapReasons are what keeps a run without failures from showing that the target is conformant.
func gapReasons(r Report) []string {
	var reasons []string
	if r.Selection.Partial() {
		reasons = append(reasons, "only a part of the cases was to run: "+r.Selection.String())
	}
	var unproven, withoutCase int
	for _, b := range r.Behaviors {
		if b.Level == fixtures.Must && b.Verdict == Unproven {
			unproven++
			if len(b.Cases) == 0 {
				withoutCase++
			}
		}
	}
	if unproven > 0 {
		reason := plural(unproven, "must behavior is unproven", "must behaviors are unproven")
		switch {
		case withoutCase == unproven:
			reason += " for want of a case"
		case withoutCase > 0:
			reason += fmt.Sprintf(", %d of them for want of a case", withoutCase)
		}
		reasons = append(reasons, reason)
	}
	return reasons
}

// namedCases is the number of cases that a reason names.
const namedCases = 3

// someOf names the first cases with the outcome, so that the end of a long log says where to look.
func someOf(results []Result, o Outcome) string {
	var ids []string
	for _, result := range results {
		if result.Outcome == o {
			ids = append(ids, result.ID)
		}
	}
	if more := len(ids) - namedCases; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:namedCases], ", "), more)
	}
	return strings.Join(ids, ", ")
}

// plural returns the count with the word that fits it.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
