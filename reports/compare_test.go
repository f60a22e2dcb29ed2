package reports

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

func TestChangeOf(t *testing.T) {
	for _, tc := range []struct {
		before, after BehaviorVerdict
		want          ChangeKind
	}{
		{"", Held, ChangeNew}, {"", Failed, ChangeNew}, {"", Unproven, ChangeNew},
		{Held, Failed, ChangeBroken}, {Unproven, Failed, ChangeBroken}, {NotApplicable, Failed, ChangeBroken},
		{Failed, Held, ChangeFixed},
		{Held, Unproven, ChangeNotRun}, {Held, NotApplicable, ChangeNotRun}, {Failed, Unproven, ChangeNotRun},
		{Unproven, Held, ChangeRun}, {NotApplicable, Held, ChangeRun},
		{Held, Held, ""}, {Failed, Failed, ""}, {Unproven, NotApplicable, ""}, {Unproven, Unproven, ""},
	} {
		if got := changeOf(tc.before, tc.after); got != tc.want {
			t.Errorf("%q to %q: got %q, want %q", tc.before, tc.after, got, tc.want)
		}
	}
}

func TestSlower(t *testing.T) {
	of := func(o Outcome, d time.Duration) Result { return Result{Outcome: o, Duration: d} }
	for name, tc := range map[string]struct {
		before, after map[string]Result
		want          ChangeKind
	}{
		"more than twice":       {map[string]Result{"a": of(Pass, time.Second)}, map[string]Result{"a": of(Pass, 2*time.Second+1)}, ChangeSlower},
		"twice":                 {map[string]Result{"a": of(Pass, time.Second)}, map[string]Result{"a": of(Pass, 2*time.Second)}, ""},
		"a little more":         {map[string]Result{"a": of(Pass, time.Millisecond)}, map[string]Result{"a": of(Pass, 100*time.Millisecond)}, ""},
		"no longer a little":    {map[string]Result{"a": of(Pass, time.Millisecond)}, map[string]Result{"a": of(Pass, 101*time.Millisecond)}, ChangeSlower},
		"in the sum":            {map[string]Result{"a": of(Pass, time.Second), "b": of(Pass, time.Second)}, map[string]Result{"a": of(Pass, 4*time.Second), "b": of(Pass, time.Millisecond)}, ChangeSlower},
		"a case was not run":    {map[string]Result{"a": of(NotRun, 0)}, map[string]Result{"a": of(Pass, time.Minute)}, ""},
		"a case is not there":   {nil, map[string]Result{"a": of(Pass, time.Minute)}, ""},
		"a case failed quickly": {map[string]Result{"a": of(Fail, 1)}, map[string]Result{"a": of(Pass, time.Minute)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := slower([]string{"a", "b"}, tc.before, tc.after); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// changedRuns are two runs between which a behaviour has changed in each way.
func changedRuns() (before, after Part) {
	ledger := func(ids ...string) *fixtures.Ledger {
		l := &fixtures.Ledger{Areas: sampleLedger().Areas[:2]}
		for _, id := range ids {
			l.Behaviors = append(l.Behaviors, fixtures.Behavior{
				ID: id, Area: "matching-rules", Statement: "It is so: a | b <c>.", Level: fixtures.Must, Kind: fixtures.Documented, Sources: []string{"x"}, API: []string{"v1"},
			})
		}
		return l
	}
	result := func(name string, o Outcome, seconds int) Result {
		r := sampleResult(name, 10, o, "webhook."+name)
		r.Duration = time.Duration(seconds) * time.Second
		if o == NotRun {
			r.Cause, r.Reason, r.Duration = CauseTarget, "hooks: the target cannot", 0
		}
		if o == Fail {
			r.Failures = []Failure{{Message: "label `first` is <missing> | *gone*"}}
		}
		return r
	}
	alike := func(o Outcome) Result { // bears witness to what worse does too
		r := result("alike", o, 1)
		r.Behaviors = []string{"webhook.worse"}
		return r
	}
	early := sampleRun(result("worse", Fail, 1), alike(Pass), result("breaks", Pass, 1), result("mended", Fail, 1), result("slow", Pass, 1), result("left", Pass, 1), result("gone", Pass, 1), result("taken-up", NotRun, 0), result("same", Pass, 1))
	early.Ledger = ledger("webhook.worse", "webhook.same", "webhook.breaks", "webhook.mended", "webhook.slow", "webhook.left", "webhook.gone", "webhook.taken-up")
	late := sampleRun(result("worse", Fail, 1), alike(Fail), result("breaks", Fail, 1), result("mended", Pass, 1), result("slow", Pass, 3), result("left", NotRun, 0), result("new", Fail, 1), result("taken-up", Pass, 1), result("same", Pass, 2))
	late.Ledger = ledger("webhook.worse", "webhook.new", "webhook.same", "webhook.breaks", "webhook.mended", "webhook.slow", "webhook.left", "webhook.taken-up")
	late.Target.Version = "v1.38.0"
	return Part{"out/a/report.json", New(early)}, Part{"out/b/report.json", New(late)}
}

func TestCompare(t *testing.T) {
	before, after := changedRuns()
	c := Compare(before, after)
	got := map[string]string{}
	for _, change := range c.Changes {
		got[change.Behavior.ID] = string(change.Kind) + ": " + strings.Join(change.Notes, "; ")
	}
	want := map[string]string{
		"webhook.breaks":   "broken: matching-rules/operations/breaks: label `first` is <missing> | *gone*",
		"webhook.worse":    "worse: matching-rules/operations/alike: label `first` is <missing> | *gone*",
		"webhook.mended":   "fixed: ",
		"webhook.slow":     "slower: took 1s, takes 3s",
		"webhook.left":     "no longer run: hooks: the target cannot",
		"webhook.gone":     "removed: ",
		"webhook.new":      "new: matching-rules/operations/new: label `first` is <missing> | *gone*",
		"webhook.taken-up": "run now: ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c.Same != 1 || !c.Broke() {
		t.Errorf("%d are the same, broke %t", c.Same, c.Broke())
	}
	if same := Compare(before, before); len(same.Changes) > 0 || same.Broke() {
		t.Errorf("a report and itself: %+v", same.Changes)
	}
}

func TestComparisonGolden(t *testing.T) {
	before, after := changedRuns()
	for name, c := range map[string]Comparison{"diff": Compare(before, after), "diff-same": Compare(after, after)} {
		var text, md bytes.Buffer
		if err := WriteComparison(&text, c, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := WriteComparisonMarkdown(&md, c); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".txt", text.Bytes())
		golden(t, name+".md", md.Bytes())
	}
}

// manyRuns are two runs of many behaviours, which all hold in the first and fail in the second at great length.
func manyRuns(n int) (before, after Part) {
	ledger := &fixtures.Ledger{Areas: []fixtures.Area{{ID: "area", Title: "Area", Description: "All."}}}
	early, late := sampleRun(), sampleRun()
	for i := range n {
		id := "webhook." + strings.Repeat("x", i%50) + "." + string(rune('a'+i%26)) + strings.Repeat("y", i/26)
		ledger.Behaviors = append(ledger.Behaviors, fixtures.Behavior{ID: id, Area: "area", Statement: strings.Repeat("It is so. ", 100), Level: fixtures.Must, Kind: fixtures.Documented})
		r := Result{ID: "area/file/" + id, Area: "area", Behaviors: []string{id}, Outcome: Pass}
		early.Results = append(early.Results, r)
		r.Outcome, r.Failures = Fail, []Failure{{Message: strings.Repeat("wrong ", 1000)}}
		late.Results = append(late.Results, r)
	}
	early.Ledger, late.Ledger = ledger, ledger
	return Part{"a", New(early)}, Part{"b", New(late)}
}

// TestMarkdownIsShort: a comment on a pull request takes 65,536 characters, however much has changed.
func TestMarkdownIsShort(t *testing.T) {
	before, after := manyRuns(1000)
	m, err := NewMatrix(before, after)
	if err != nil {
		t.Fatal(err)
	}
	var diff, matrix bytes.Buffer
	if err := WriteComparisonMarkdown(&diff, Compare(before, after)); err != nil {
		t.Fatal(err)
	}
	if err := WriteMatrixMarkdown(&matrix, m); err != nil {
		t.Fatal(err)
	}
	for name, out := range map[string]*bytes.Buffer{"diff": &diff, "matrix": &matrix} {
		if out.Len() > 60_000 || out.Len() < 10_000 {
			t.Errorf("%s: %d bytes", name, out.Len())
		}
		shown, more := strings.Count(out.String(), "`webhook."), 0
		if at := strings.LastIndex(out.String(), "and "); at >= 0 {
			fmt.Sscanf(out.String()[at:], "and %d more", &more)
		}
		if shown+more != 1000 {
			t.Errorf("%s: shows %d and counts %d of 1000", name, shown, more)
		}
	}
}
