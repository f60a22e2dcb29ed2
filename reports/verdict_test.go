package reports

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

func TestBehaviorVerdict(t *testing.T) {
	of := func(o Outcome) Result { return Result{Outcome: o} }
	notRun := func(c NotRunCause, reason string) Result { return Result{Outcome: NotRun, Cause: c, Reason: reason} }
	version := notRun(CauseVersion, "since 1.40")

	for name, tc := range map[string]struct {
		witnesses []Result
		want      BehaviorVerdict
		reason    string
	}{
		"no witness":                      {nil, Unproven, "no case"},
		"one pass":                        {[]Result{of(Pass)}, Held, ""},
		"a fail outweighs passes":         {[]Result{of(Pass), of(Fail), of(Pass)}, Failed, ""},
		"a known failure is a failure":    {[]Result{of(Pass), of(KnownFail)}, Failed, ""},
		"a fail outweighs an error":       {[]Result{of(Error), of(Fail)}, Failed, ""},
		"a pass beside a case not run":    {[]Result{notRun(CauseTarget, "x"), of(Pass)}, Held, ""},
		"a pass beside an error":          {[]Result{of(Error), of(Pass)}, Held, ""},
		"an error alone proves nothing":   {[]Result{of(Error)}, Unproven, "error"},
		"an error and another version":    {[]Result{version, of(Error)}, Unproven, "error"},
		"the target cannot":               {[]Result{notRun(CauseTarget, "target cannot: nodes")}, Unproven, "target cannot: nodes"},
		"deselected, without a reason":    {[]Result{notRun(CauseDeselected, "")}, Unproven, "deselected"},
		"interrupted":                     {[]Result{notRun(CauseInterrupted, "interrupted")}, Unproven, "interrupted"},
		"no cause given":                  {[]Result{notRun("", "who knows")}, Unproven, "who knows"},
		"all cases are of other versions": {[]Result{version, version}, NotApplicable, "since 1.40"},
		"one case is of this version":     {[]Result{version, notRun(CauseTarget, "target cannot: audit")}, Unproven, "target cannot: audit"},
		"a pass beside another version":   {[]Result{version, of(Pass)}, Held, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, reason := behaviorVerdict(tc.witnesses)
			if got != tc.want || reason != tc.reason {
				t.Errorf("got %s (%s), want %s (%s)", got, reason, tc.want, tc.reason)
			}
		})
	}
}

func TestExclusion(t *testing.T) {
	since := fixtures.Behavior{ID: "webhook.a", Since: "1.30"}
	until := fixtures.Behavior{ID: "webhook.b", Until: "1.21"}
	for name, tc := range map[string]struct {
		behavior fixtures.Behavior
		version  string
		want     string
	}{
		"always":                       {fixtures.Behavior{ID: "webhook.c"}, "v1.37.2", ""},
		"before since":                 {since, "v1.29.9", "since Kubernetes 1.30"},
		"at since":                     {since, "v1.30.0", ""},
		"a pre-release of since":       {since, "v1.30.0-alpha.1", ""},
		"after since, as a number":     {since, "v1.100.0", ""},
		"at until, any patch":          {until, "v1.21.14", ""},
		"after until":                  {until, "v1.22.0", "until Kubernetes 1.21"},
		"a vendor's version":           {until, "v1.22.3-gke.1+abc", "until Kubernetes 1.21"},
		"an unreadable version":        {since, "main", ""},
		"what webhooks owe":            {fixtures.Behavior{ID: "contract.uid"}, "v1.37.2", "asked of webhooks, not of API servers"},
		"what webhooks owe, version ?": {fixtures.Behavior{ID: "contract.uid"}, "", "asked of webhooks, not of API servers"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := exclusion(tc.behavior, tc.version, false); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestVerdict is the table of what a run says about a target.
func TestVerdict(t *testing.T) {
	with := func(changes ...func(*Run)) Run {
		run := sampleRun(passing()...)
		for _, change := range changes {
			change(&run)
		}
		return run
	}
	outcome := func(i int, o Outcome) func(*Run) { return func(r *Run) { r.Results[i].Outcome = o } }
	known := func(id, expires string) func(*Run) {
		return func(r *Run) { r.Known = append(r.Known, KnownFailure{ID: id, Reason: "because", Expires: expires}) }
	}
	notRun := func(i int, c NotRunCause) func(*Run) {
		return func(r *Run) { r.Results[i].Outcome, r.Results[i].Cause = NotRun, c }
	}
	selected := func(s Selection) func(*Run) { return func(r *Run) { r.Selection = s } }
	interrupted := func(r *Run) { r.Interrupted = "signal: interrupt" }
	const first = "matching-rules/operations/create"
	second := passing()[1].ID

	for name, tc := range map[string]struct {
		run     Run
		verdict Verdict
		exit    int
		reasons []string
	}{
		"all held": {with(), Conformant, 0, []string{}},
		"a must behavior failed": {
			with(outcome(0, Fail)), NotConformant, 1, []string{"1 case failed: " + first},
		},
		"a should behaviour failed": {
			with(func(r *Run) {
				r.Results = append(r.Results, sampleResult("wildcard", 70, Fail, "webhook.match.wildcard"))
			}),
			NotConformant, 1, []string{"1 case failed: matching-rules/operations/wildcard"},
		},
		"should and may behaviours are unproven": {
			with(func(r *Run) {
				r.Results = append(r.Results, Result{ID: "x", Area: "matching-rules", Behaviors: []string{"webhook.match.wildcard"}, Outcome: NotRun, Cause: CauseTarget})
			}), Conformant, 0, []string{},
		},
		"a known failure": {
			with(outcome(0, Fail), known(first, "2026-12-31")), ConformantWithKnownFailures, 0, []string{"1 known failure"},
		},
		"an expired known failure": {
			with(outcome(0, Fail), known(first, "2025-12-31")), NotConformant, 1, []string{"1 case failed: " + first},
		},
		"an unexpected pass": {
			with(known(first, "2026-12-31")), NotConformant, 1, []string{"1 case failed: " + first},
		},
		"a known failure that names no case": {
			with(known("matching-rules/operations/gone", "2026-12-31")), NotConformant, 1,
			[]string{"the known failure matching-rules/operations/gone names no case"},
		},
		"a known failure whose case was not selected": {
			with(selected(Selection{Focus: "x"}), known("matching-rules/operations/gone", "2026-12-31")), Partial, 0,
			[]string{"only a part of the cases was to run: --focus x"},
		},
		"a case ended in an error": {
			with(outcome(0, Error)), Broken, 3, []string{"1 case ended in an error: " + first, "1 must behavior is unproven"},
		},
		"an error that is listed as known": {
			with(outcome(0, Error), known(first, "2026-12-31")), Broken, 3, []string{"1 case ended in an error: " + first, "1 must behavior is unproven"},
		},
		"a failure and an error": {
			with(outcome(0, Fail), outcome(1, Error)), NotConformant, 1,
			[]string{"1 case failed: " + first, "1 case ended in an error: " + second, "1 must behavior is unproven"},
		},
		"interrupted, all that ran passed": {
			with(interrupted, notRun(1, CauseInterrupted)), Broken, 3,
			[]string{"the run was interrupted: signal: interrupt", "1 must behavior is unproven"},
		},
		"interrupted after a failure": {
			with(interrupted, outcome(0, Fail)), NotConformant, 1, []string{"1 case failed: " + first, "the run was interrupted: signal: interrupt"},
		},
		"a selection": {
			with(selected(Selection{Labels: "area:x"})), Partial, 0, []string{"only a part of the cases was to run: --labels area:x"},
		},
		"a shard with a failure": {
			with(selected(Selection{Shard: "1/2"}), outcome(0, Fail)), NotConformant, 1,
			[]string{"1 case failed: " + first, "only a part of the cases was to run: --shard 1/2"},
		},
		"a selection with a known failure": {
			with(selected(Selection{Shard: "1/2"}), outcome(0, Fail), known(first, "2026-12-31")), Partial, 0,
			[]string{"only a part of the cases was to run: --shard 1/2", "1 known failure"},
		},
		"the target cannot show a must behavior": {
			with(notRun(0, CauseTarget)), Partial, 0, []string{"1 must behavior is unproven"},
		},
		"a must behavior has no case": {
			with(func(r *Run) { r.Results = r.Results[:1] }), Partial, 0, []string{"2 must behaviors are unproven for want of a case"},
		},
		"the version does not have a must behavior": {
			with(notRun(0, CauseVersion)), Conformant, 0, []string{},
		},
		"more cases failed than a reason names": {
			with(func(r *Run) {
				for _, id := range []string{"e", "d", "c", "b"} {
					r.Results = append(r.Results, Result{ID: id, Area: "matching-rules", Behaviors: []string{"webhook.match.wildcard"}, Outcome: Fail})
				}
			}), NotConformant, 1, []string{"4 cases failed: b, c, d and 1 more"},
		},
		"nothing ran": {
			with(func(r *Run) { r.Results = nil }), Broken, 3,
			[]string{"no case was executed", "3 must behaviors are unproven for want of a case"},
		},
		"nothing was executed": {
			with(notRun(0, CauseVersion), notRun(1, CauseVersion), notRun(2, CauseVersion)), Broken, 3, []string{"no case was executed"},
		},
		"nothing was executed of a selection": {
			with(selected(Selection{Focus: "typo"}), notRun(0, CauseDeselected), notRun(1, CauseDeselected), notRun(2, CauseDeselected)), Broken, 3,
			[]string{"no case was executed", "only a part of the cases was to run: --focus typo", "3 must behaviors are unproven"},
		},
		"two results of one case": {
			with(func(r *Run) { r.Results[1].ID = first }), Broken, 3, []string{"case " + first + " has two results"},
		},
		"two results of one case outweigh a failure": {
			with(outcome(0, Fail), func(r *Run) { r.Results[1].ID = first }), Broken, 3,
			[]string{"case " + first + " has two results", "1 case failed: " + first},
		},
		"a behaviour that the ledger does not know": {
			with(func(r *Run) { r.Results[0].Behaviors = append(r.Results[0].Behaviors, "webhook.unknown") }), Broken, 3,
			[]string{"case " + first + " bears witness to webhook.unknown, which is not in the ledger"},
		},
		"an outcome that does not exist": {
			with(func(r *Run) { r.Results = append(r.Results, sampleResult("odd", 80, "flaky")) }), Broken, 3,
			[]string{`case matching-rules/operations/odd has the unknown outcome "flaky"`},
		},
		"a ledger with an id twice": {
			with(func(r *Run) { r.Ledger.Behaviors = append(r.Ledger.Behaviors, r.Ledger.Behaviors[0]) }), Broken, 3,
			[]string{"behavior webhook.match.operations.create is in the ledger twice"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := New(tc.run)
			if got.Verdict != tc.verdict || got.ExitStatus != tc.exit {
				t.Errorf("got %q with exit status %d, want %q with %d", got.Verdict, got.ExitStatus, tc.verdict, tc.exit)
			}
			if diff := cmp.Diff(tc.reasons, got.Reasons); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExitStatus(t *testing.T) {
	for v, want := range map[Verdict]int{
		Conformant: 0, ConformantWithKnownFailures: 0, Partial: 0, NotConformant: 1, Broken: 3, "": 3, "unheard-of": 3,
	} {
		if got := v.ExitStatus(); got != want {
			t.Errorf("%q: got %d, want %d", v, got, want)
		}
	}
}

func TestBehaviors(t *testing.T) {
	run := badRun()
	later := sampleResult("later", 90, NotRun, "webhook.match.later")
	later.Cause = CauseTarget
	run.Results = append(run.Results, later)
	var got []string
	for _, b := range New(run).Behaviors {
		got = append(got, b.ID+" "+string(b.Verdict)+" "+b.Reason)
	}
	want := []string{
		"webhook.match.operations.create failed ",
		"webhook.match.scope.namespaced failed ",
		"webhook.match.wildcard failed ",
		"webhook.match.later not-applicable since Kubernetes 1.40",
		"webhook.order.by-name unproven error",
		"webhook.order.parallel unproven target cannot: nodes",
		"contract.uid.echoed not-applicable asked of webhooks, not of API servers",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

// TestBehaviorsEvidence: what a case shows outweighs what the ledger says about the version.
func TestBehaviorsEvidence(t *testing.T) {
	run := sampleRun(
		sampleResult("later", 1, Pass, "webhook.match.later"),
		sampleResult("contract", 2, Fail, "contract.uid.echoed"),
	)
	for _, b := range New(run).Behaviors {
		want, ok := map[string]BehaviorVerdict{"webhook.match.later": Held, "contract.uid.echoed": Failed}[b.ID]
		if ok && (b.Verdict != want || b.Reason != "") {
			t.Errorf("%s: got %s (%s), want %s", b.ID, b.Verdict, b.Reason, want)
		}
	}
}
