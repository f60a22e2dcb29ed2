package reports

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

//go:generate go run ../hack/generate/reports-schema

// SchemaVersion is the version of report.json; it changes when a reader of an older version would misread a newer file.
const SchemaVersion = 1

// Run is what a run was asked to do and what came of it: all that a Report follows from.
type Run struct {
	// Suite is the version of Gatehouse that ran.
	Suite string
	// Command is the command line that was run, word by word, without what chose the cases and named the reports: with
	// --focus it runs a case again. It is empty where no command was run.
	Command []string
	// Ledger is the ledger of the fixtures that were loaded.
	Ledger *fixtures.Ledger
	// Target is the server that the cases ran on.
	Target TargetInfo
	// Webhook says which webhooks are on trial; nil when an API server is.
	Webhook *WebhookInfo
	// Selection is what part of the cases was to run.
	Selection Selection
	// Known are the failures that are known.
	Known []KnownFailure
	// Interrupted says why the run ended before its last case; empty when it did not.
	Interrupted string
	// Start is when the run began. Known failures expire by it.
	Start time.Time
	// End is when the run ended.
	End time.Time
	// Results are the results of the cases, in any order.
	Results []Result
	// PolicyTests is set for a run of policy tests, which says nothing about a target.
	PolicyTests *PolicyTests
}

// Report is a run, judged.
type Report struct {
	// SchemaVersion is the version of the format of the file.
	SchemaVersion int `json:"schemaVersion"`
	// Suite is the version of Gatehouse that ran.
	Suite string `json:"suite,omitempty"`
	// Command is the command line that was run, word by word, without what chose the cases and named the reports: with
	// --focus it runs a case again.
	Command []string `json:"command,omitempty"`
	// Target is the server that the cases ran on.
	Target TargetInfo `json:"target"`
	// Webhook says which webhooks were on trial; absent when an API server was.
	Webhook *WebhookInfo `json:"webhook,omitempty"`
	// Selection is what part of the cases was to run.
	Selection Selection `json:"selection"`
	// Interrupted says why the run ended before its last case.
	Interrupted string `json:"interrupted,omitempty"`
	// Start is when the run began, in UTC.
	Start time.Time `json:"start"`
	// End is when the run ended, in UTC.
	End time.Time `json:"end"`
	// Verdict is what the run says about the target.
	Verdict Verdict `json:"verdict"`
	// ExitStatus is the exit status that the verdict gives a command: 0, 1 or 3.
	ExitStatus int `json:"exitStatus"`
	// Reasons say in plain words why the verdict is not conformant, the most important first.
	Reasons []string `json:"reasons"`
	// Total are the counts over all areas.
	Total Counts `json:"total"`
	// Areas are the areas of the ledger, in its order.
	Areas []Area `json:"areas"`
	// Coverage are the counts of the behaviours by how they are known and how much they are guaranteed.
	Coverage []Coverage `json:"coverage"`
	// Known are the failures that were known when the run began.
	Known []KnownFailure `json:"known,omitempty"`
	// Behaviors are the behaviours of the ledger, in its order.
	Behaviors []Behavior `json:"behaviors"`
	// Results are the results of the cases, by area, file and line.
	Results []Result `json:"results"`
	// PolicyTests is there for a run of policy tests: the verdict is on the policies then.
	PolicyTests *PolicyTests `json:"policyTests,omitempty"`
}

// Area is an area of the ledger and what came of its behaviours and cases.
type Area struct {
	fixtures.Area
	Counts
}

// Behavior is a behaviour of the ledger and what the cases say about it. Its notes for authors are left out.
type Behavior struct {
	fixtures.Behavior
	// Verdict is what the cases say about the behaviour.
	Verdict BehaviorVerdict `json:"verdict"`
	// Reason says why the behaviour is unproven or not applicable.
	Reason string `json:"reason,omitempty"`
	// Cases are the ids of the cases that bear witness to the behaviour.
	Cases []string `json:"cases"`
}

// Counts count the cases and the behaviours of a report or of one of its areas.
type Counts struct {
	// CaseCounts count the cases by outcome.
	CaseCounts CaseCounts `json:"caseCounts"`
	// BehaviorCounts count the behaviours by verdict.
	BehaviorCounts BehaviorCounts `json:"behaviorCounts"`
}

// CaseCounts count cases by outcome.
type CaseCounts struct {
	// Pass counts the cases that passed.
	Pass int `json:"pass"`
	// Fail counts the cases that failed, known failures aside.
	Fail int `json:"fail"`
	// KnownFail counts the known failures.
	KnownFail int `json:"knownFail"`
	// Warn counts the cases that ended in a warning.
	Warn int `json:"warn,omitempty"`
	// NotRun counts the cases that were not run.
	NotRun int `json:"notRun"`
	// Error counts the cases that ended in an error.
	Error int `json:"error"`
}

// Executed is the number of cases that ran to a result.
func (c CaseCounts) Executed() int { return c.Pass + c.Fail + c.KnownFail + c.Warn }

// All is the number of cases.
func (c CaseCounts) All() int { return c.Executed() + c.NotRun + c.Error }

func (c *CaseCounts) add(o Outcome) {
	switch o {
	case Pass:
		c.Pass++
	case Fail:
		c.Fail++
	case KnownFail:
		c.KnownFail++
	case Warn:
		c.Warn++
	case NotRun:
		c.NotRun++
	case Error:
		c.Error++
	}
}

// BehaviorCounts count behaviours by verdict.
type BehaviorCounts struct {
	// Held counts the behaviours that held.
	Held int `json:"held"`
	// Failed counts the behaviours that failed, known failures included.
	Failed int `json:"failed"`
	// Unproven counts the behaviours about which the run says nothing.
	Unproven int `json:"unproven"`
	// NotApplicable counts the behaviours that the target need not have.
	NotApplicable int `json:"notApplicable"`
}

// Applicable is the number of behaviours that the target should have.
func (c BehaviorCounts) Applicable() int { return c.Held + c.Failed + c.Unproven }

// All is the number of behaviours.
func (c BehaviorCounts) All() int { return c.Applicable() + c.NotApplicable }

func (c *BehaviorCounts) add(v BehaviorVerdict) {
	switch v {
	case Held:
		c.Held++
	case Failed:
		c.Failed++
	case Unproven:
		c.Unproven++
	case NotApplicable:
		c.NotApplicable++
	}
}

// Coverage counts the behaviours of one kind and level.
type Coverage struct {
	// Kind is how the behaviours are known.
	Kind fixtures.Kind `json:"kind"`
	// Level is how much they are guaranteed.
	Level fixtures.Level `json:"level"`
	BehaviorCounts
}

// New judges a run.
func New(run Run) Report {
	results := make([]Result, len(run.Results))
	for i, r := range run.Results {
		results[i] = judge(r, run.Known, run.Start)
	}
	run.Results = results
	return assemble(run)
}

// assemble makes the report of a run whose results are judged already.
func assemble(run Run) Report {
	r := Report{
		SchemaVersion: SchemaVersion,
		Suite:         run.Suite,
		Command:       run.Command,
		Target:        run.Target,
		Webhook:       run.Webhook,
		Selection:     run.Selection,
		Interrupted:   run.Interrupted,
		Start:         run.Start.UTC().Round(0),
		End:           run.End.UTC().Round(0),
		Known:         run.Known,
		PolicyTests:   run.PolicyTests,
	}
	areas := areasOf(run)
	r.Results = normalized(run.Results, run.Selection, areas)
	r.Behaviors = behaviorsOf(run.Ledger, run.Target, r.Results)
	r.Areas = countAreas(areas, r.Behaviors, r.Results)
	for _, a := range r.Areas {
		r.Total.add(a.Counts)
	}
	r.Coverage = coverageOf(r.Behaviors)
	r.Verdict, r.Reasons = verdictOf(r)
	r.ExitStatus = r.Verdict.ExitStatus()
	return r
}

func (c *Counts) add(o Counts) {
	c.CaseCounts.Pass += o.CaseCounts.Pass
	c.CaseCounts.Fail += o.CaseCounts.Fail
	c.CaseCounts.KnownFail += o.CaseCounts.KnownFail
	c.CaseCounts.Warn += o.CaseCounts.Warn
	c.CaseCounts.NotRun += o.CaseCounts.NotRun
	c.CaseCounts.Error += o.CaseCounts.Error
	c.BehaviorCounts.Held += o.BehaviorCounts.Held
	c.BehaviorCounts.Failed += o.BehaviorCounts.Failed
	c.BehaviorCounts.Unproven += o.BehaviorCounts.Unproven
	c.BehaviorCounts.NotApplicable += o.BehaviorCounts.NotApplicable
}

// areasOf returns the ledger's areas, and after them those that only a behaviour or a result names.
func areasOf(run Run) []fixtures.Area {
	areas := slices.Clone(run.Ledger.Areas)
	seen := map[string]bool{}
	for _, a := range areas {
		seen[a.ID] = true
	}
	more := map[string]bool{}
	for _, b := range run.Ledger.Behaviors {
		more[b.Area] = true
	}
	for _, r := range run.Results {
		more[r.Area] = true
	}
	for _, id := range slices.Sorted(maps.Keys(more)) {
		if !seen[id] {
			areas = append(areas, fixtures.Area{ID: id})
		}
	}
	return areas
}

// normalized returns the results in the order of reports, and in a form that report.json keeps as it is. Why a case was
// not selected is said by the selection: that of a merged report is another than those of its parts.
func normalized(results []Result, selection Selection, areas []fixtures.Area) []Result {
	rank := make(map[string]int, len(areas))
	for i, a := range areas {
		rank[a.ID] = i
	}
	out := make([]Result, len(results))
	for i, r := range results {
		if r.Behaviors == nil {
			r.Behaviors = []string{}
		}
		if r.Cause == CauseDeselected && selection.Partial() {
			r.Reason = "not selected by " + selection.String()
		}
		r.Start = r.Start.UTC().Round(0)
		out[i] = r
	}
	slices.SortStableFunc(out, func(a, b Result) int {
		return cmp.Or(cmp.Compare(rank[a.Area], rank[b.Area]), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.ID, b.ID))
	})
	return out
}

func countAreas(areas []fixtures.Area, behaviors []Behavior, results []Result) []Area {
	out := make([]Area, len(areas))
	index := make(map[string]int, len(areas))
	for i, a := range areas {
		out[i].Area = a
		index[a.ID] = i
	}
	for _, b := range behaviors {
		out[index[b.Area]].BehaviorCounts.add(b.Verdict)
	}
	for _, r := range results {
		out[index[r.Area]].CaseCounts.add(r.Outcome)
	}
	return out
}

// coverageOf has a row for every kind and level, so that readers find the same rows in every report.
func coverageOf(behaviors []Behavior) []Coverage {
	var rows []Coverage
	for _, kind := range []fixtures.Kind{fixtures.Documented, fixtures.Observed} {
		for _, level := range []fixtures.Level{fixtures.Must, fixtures.Should, fixtures.May} {
			row := Coverage{Kind: kind, Level: level}
			for _, b := range behaviors {
				if b.Kind == kind && b.Level == level {
					row.add(b.Verdict)
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}
