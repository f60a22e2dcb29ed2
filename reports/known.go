package reports

import (
	"fmt"
	"slices"
	"time"
)

// KnownFailure is a case that is known to fail on a target, until a date.
type KnownFailure struct {
	// ID is the id of the case: AREA/FILE/NAME.
	ID string `json:"id"`
	// Reason says in one line why the case fails.
	Reason string `json:"reason"`
	// Link is where the failure is tracked.
	Link string `json:"link,omitempty"`
	// Expires is the last day (UTC) on which the entry counts, as 2006-01-02. After it, the case fails as any other.
	Expires string `json:"expires"`
}

// expired reports whether the entry no longer counts at that time. An entry whose date cannot be read has expired: a
// failure is never excused by mistake.
func (k KnownFailure) expired(now time.Time) bool {
	day, err := time.Parse(time.DateOnly, k.Expires)
	return err != nil || !now.Before(day.AddDate(0, 0, 1))
}

// judge returns the result as it counts when some failures are known: a failing case that is listed is a known failure,
// one whose entry has expired fails, and one that passes although it is listed fails too. An error stays an error, and
// what was not run stays not run.
func judge(r Result, known []KnownFailure, now time.Time) Result {
	i := slices.IndexFunc(known, func(k KnownFailure) bool { return k.ID == r.ID })
	if i < 0 {
		return r
	}
	entry := known[i]
	switch {
	case r.Outcome == Pass:
		r.Outcome = Fail
		r.Reason = "passed unexpectedly"
		r.Failures = append(slices.Clone(r.Failures), Failure{
			Message: fmt.Sprintf("listed as a known failure (%s), but it passed: take it off the list", entry.Reason),
		})
	case r.Outcome == Fail && entry.expired(now):
		r.Reason = fmt.Sprintf("known failure, expired on %s: %s", entry.Expires, entry.Reason)
	case r.Outcome == Fail:
		r.Outcome = KnownFail
		r.Reason = entry.Reason
		if entry.Link != "" {
			r.Reason += " (" + entry.Link + ")"
		}
	}
	return r
}

// staleEntries says of which entries of the list the run shows that they have to go: those that name no case, or one for
// the second time, and those that expired while their cases were not run. What an expired entry means for a case that
// ran, its result tells.
func staleEntries(r Report) []string {
	results := make(map[string]Result, len(r.Results))
	leftOut := false
	for _, result := range r.Results {
		results[result.ID] = result
		leftOut = leftOut || result.Cause == CauseDeselected
	}
	// A selection that says nothing of the cases it left out does not tell whether they are there.
	complete := r.Interrupted == "" && (leftOut || !r.Selection.Partial())
	var findings []string
	seen := map[string]bool{}
	for _, k := range r.Known {
		result, found := results[k.ID]
		switch {
		case seen[k.ID]:
			findings = append(findings, fmt.Sprintf("the known failure %s is listed twice", k.ID))
		case !found && complete:
			findings = append(findings, fmt.Sprintf("the known failure %s names no case", k.ID))
		case (result.Cause == CauseTarget || result.Cause == CauseVersion) && k.expired(r.Start):
			findings = append(findings, fmt.Sprintf("the known failure %s expired on %s, and its case was not run", k.ID, k.Expires))
		}
		seen[k.ID] = true
	}
	return findings
}
