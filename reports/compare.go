package reports

import (
	"slices"
	"time"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// ChangeKind says what became of a behaviour from one report to another.
type ChangeKind string

const (
	// ChangeBroken: the behaviour has failed, and had not before.
	ChangeBroken ChangeKind = "broken"
	// ChangeWorse: the behaviour fails as it did before, and now in cases that had passed.
	ChangeWorse ChangeKind = "worse"
	// ChangeNotRun: the behaviour was held or had failed, and nothing is known of it now.
	ChangeNotRun ChangeKind = "no longer run"
	// ChangeRemoved: the behaviour is no longer in the ledger.
	ChangeRemoved ChangeKind = "removed"
	// ChangeSlower: the cases that passed both times take more than twice the time.
	ChangeSlower ChangeKind = "slower"
	// ChangeNew: the behaviour was not in the ledger before.
	ChangeNew ChangeKind = "new"
	// ChangeRun: the behaviour is held, and nothing was known of it before.
	ChangeRun ChangeKind = "run now"
	// ChangeFixed: the behaviour is held, and had failed before.
	ChangeFixed ChangeKind = "fixed"
)

// Values returns the closed list of kinds, in the order in which they are shown.
func (ChangeKind) Values() []string {
	return []string{
		string(ChangeBroken), string(ChangeWorse), string(ChangeNotRun), string(ChangeRemoved), string(ChangeSlower),
		string(ChangeNew), string(ChangeRun), string(ChangeFixed),
	}
}

// Change is what became of one behaviour.
type Change struct {
	// Kind is what became of it.
	Kind ChangeKind
	// Behavior is the behaviour, as the later report has it.
	Behavior fixtures.Behavior
	// Before and After are the verdicts on it; empty in a report whose ledger does not have it.
	Before, After BehaviorVerdict
	// Notes say more, each in a line: the cases that fail, why nothing was run, the times.
	Notes []string
}

// Comparison is two reports compared by their behaviours.
type Comparison struct {
	// Before and After are the reports.
	Before, After Part
	// Changes are by kind, in the order of the ledger.
	Changes []Change
	// Same is the number of behaviours that are as they were.
	Same int
}

// Of returns the changes of a kind.
func (c Comparison) Of(kind ChangeKind) []Change {
	return slices.DeleteFunc(slices.Clone(c.Changes), func(one Change) bool { return one.Kind != kind })
}

// Broke reports whether a behaviour was broken, or has become worse.
func (c Comparison) Broke() bool { return len(c.Of(ChangeBroken))+len(c.Of(ChangeWorse)) > 0 }

// What counts as slower: so many times the time, and so much more of it that it is not chance.
const (
	slowerFactor = 2
	slowerFloor  = 100 * time.Millisecond
)

// Compare says what became of each behaviour from one report to another, of the same server or of others.
func Compare(before, after Part) Comparison {
	c := Comparison{Before: before, After: after}
	was := behaviorsByID(before.Report)
	is := behaviorsByID(after.Report)
	earlier, later := resultsByID(before.Report), resultsByID(after.Report)
	var all []Change
	for _, b := range before.Report.Behaviors {
		if _, there := is[b.ID]; !there {
			all = append(all, Change{Kind: ChangeRemoved, Behavior: b.Behavior, Before: b.Verdict})
		}
	}
	for _, b := range after.Report.Behaviors {
		change := Change{Behavior: b.Behavior, Before: was[b.ID].Verdict, After: b.Verdict}
		change.Kind = changeOf(change.Before, b.Verdict)
		switch {
		case change.Kind == "" && b.Verdict == Held:
			change.Kind, change.Notes = slower(b.Cases, earlier, later)
		case change.Kind == "" && b.Verdict == Failed:
			change.Kind, change.Notes = worse(b.Cases, earlier, later)
		}
		switch {
		case change.Kind == "":
			c.Same++
			continue
		case change.Kind == ChangeWorse:
		case b.Verdict == Failed:
			change.Notes = failedCases(b.Cases, later)
		case change.Kind == ChangeNotRun:
			change.Notes = []string{b.Reason}
		}
		all = append(all, change)
	}
	for _, kind := range ChangeKind("").Values() {
		for _, change := range all {
			if string(change.Kind) == kind {
				c.Changes = append(c.Changes, change)
			}
		}
	}
	return c
}

// changeOf returns what became of a behaviour by its verdicts; before is empty for a new one.
func changeOf(before, after BehaviorVerdict) ChangeKind {
	known := func(v BehaviorVerdict) bool { return v == Held || v == Failed }
	switch {
	case before == "":
		return ChangeNew
	case before != Failed && after == Failed:
		return ChangeBroken
	case before == Failed && after == Held:
		return ChangeFixed
	case known(before) && !known(after):
		return ChangeNotRun
	case !known(before) && after == Held:
		return ChangeRun
	default:
		return ""
	}
}

// slower compares the times of the cases that passed both times.
func slower(cases []string, earlier, later map[string]Result) (ChangeKind, []string) {
	var took, takes time.Duration
	for _, id := range cases {
		if earlier[id].Outcome == Pass && later[id].Outcome == Pass {
			took += earlier[id].Duration
			takes += later[id].Duration
		}
	}
	if takes <= slowerFactor*took || takes-took < slowerFloor {
		return "", nil
	}
	return ChangeSlower, []string{"took " + took.Round(time.Millisecond).String() + ", takes " + takes.Round(time.Millisecond).String()}
}

// worse looks for cases that failed and had passed, and names them.
func worse(cases []string, earlier, later map[string]Result) (ChangeKind, []string) {
	passed := slices.DeleteFunc(slices.Clone(cases), func(id string) bool { return earlier[id].Outcome != Pass })
	if failed := failedCases(passed, later); len(failed) > 0 {
		return ChangeWorse, failed
	}
	return "", nil
}

// failedCases names the cases that failed, with what is wrong.
func failedCases(cases []string, results map[string]Result) []string {
	var notes []string
	for _, id := range cases {
		r := results[id]
		switch {
		case r.Outcome != Fail && r.Outcome != KnownFail:
		case len(r.Failures) > 0:
			notes = append(notes, line(id+": "+r.Failures[0].Message))
		default:
			notes = append(notes, line(id))
		}
	}
	return notes
}

func behaviorsByID(r Report) map[string]Behavior {
	all := make(map[string]Behavior, len(r.Behaviors))
	for _, b := range r.Behaviors {
		all[b.ID] = b
	}
	return all
}

func resultsByID(r Report) map[string]Result {
	all := make(map[string]Result, len(r.Results))
	for _, result := range r.Results {
		all[result.ID] = result
	}
	return all
}
