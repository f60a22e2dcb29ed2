package reports

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// shard returns the part of a run that shard i of n runs; the cases of the others are left out, or told as not run.
func shard(whole Run, i, n int, tell bool) Part {
	run := whole
	run.Selection.Shard, run.Selection.Times = Shard{i, n}.String(), "of one file"
	run.Results = nil
	for j, r := range whole.Results {
		if j%n != i-1 {
			if !tell {
				continue
			}
			r = Result{ID: r.ID, Title: r.Title, Area: r.Area, Behaviors: r.Behaviors, File: r.File, Line: r.Line, Outcome: NotRun, Cause: CauseDeselected}
		}
		run.Results = append(run.Results, r)
	}
	return Part{fmt.Sprintf("%d.json", i), New(run)}
}

func TestMergeShardsIsOneRun(t *testing.T) {
	focused := sampleRun(passing()...)
	focused.Selection.Focus = "operations"
	deselected := &focused.Results[2]
	deselected.Outcome, deselected.Cause, deselected.Start, deselected.Duration = NotRun, CauseDeselected, time.Time{}, 0
	for name, run := range map[string]Run{"conformant": sampleRun(passing()...), "not conformant": badRun(), "focused": focused} {
		for _, tell := range []bool{false, true} {
			for n := 2; n <= 6; n++ {
				t.Run(fmt.Sprintf("%s, %d shards, others told %t", name, n, tell), func(t *testing.T) {
					var parts []Part
					for i := n; i >= 1; i-- {
						p := shard(run, i, n, tell)
						p.Report.Start, p.Report.End = p.Report.Start.Add(time.Duration(i-1)*time.Minute), p.Report.End.Add(-time.Duration(i-1)*time.Second)
						parts = append(parts, p)
					}
					got, err := Merge(parts...)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(text1(t, New(run)), text1(t, got)); diff != "" {
						t.Errorf("(-one run +merged):\n%s", diff)
					}
				})
			}
		}
	}
}

func text1(t *testing.T, r Report) string {
	t.Helper()
	data, err := marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestMergeOneIsItself(t *testing.T) {
	r := New(badRun())
	got, err := Merge(Part{"a.json", r})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, got); diff != "" {
		t.Error(diff)
	}
}

func TestMergeSomeShards(t *testing.T) {
	run := sampleRun(passing()...)
	two, err := Merge(shard(run, 3, 3, false), shard(run, 1, 3, false))
	if err != nil {
		t.Fatal(err)
	}
	if two.Verdict != Partial || two.Selection.Shard != "1/3,3/3" {
		t.Errorf("got %s of shards %s", two.Verdict, two.Selection.Shard)
	}
	all, err := Merge(Part{"two", two}, shard(run, 2, 3, false))
	if err != nil {
		t.Fatal(err)
	}
	if all.Verdict != Conformant || all.Selection.Partial() {
		t.Errorf("got %s of %q", all.Verdict, all.Selection)
	}
}

func TestMergeInterrupted(t *testing.T) {
	run := sampleRun(passing()...)
	second := shard(run, 2, 2, false)
	second.Report.Interrupted = "signal: interrupt"
	got, err := Merge(shard(run, 1, 2, false), second)
	if err != nil {
		t.Fatal(err)
	}
	if got.Verdict != Broken || got.Interrupted != "signal: interrupt" {
		t.Errorf("got %s, interrupted %q", got.Verdict, got.Interrupted)
	}
}

func TestMergeRefuses(t *testing.T) {
	run := sampleRun(passing()...)
	one, two := shard(run, 1, 2, false), shard(run, 2, 2, false)
	changed := func(change func(*Run)) Part {
		other := sampleRun(passing()...)
		change(&other)
		return shard(other, 2, 2, false)
	}
	again := one
	again.Name = "again.json"
	twice := two
	twice.Report.Results = one.Report.Results
	otherwise := two
	otherwise.Report.Selection.Times = "of another"
	damaged := two
	damaged.Report.Selection.Shard = "two"

	for name, tc := range map[string]struct {
		parts []Part
		want  string
	}{
		"nothing":           {nil, "no reports to merge"},
		"another target":    {[]Part{one, changed(func(r *Run) { r.Target.Name = "fakeapi" })}, `1.json and 2.json cannot be merged: their target is different: "envtest" and "fakeapi"`},
		"another version":   {[]Part{one, changed(func(r *Run) { r.Target.Version = "v1.36.0" })}, `their version is different: "v1.37.2" and "v1.36.0"`},
		"another server":    {[]Part{one, changed(func(r *Run) { r.Target.Server = "https://x" })}, `their server is different: "" and "https://x"`},
		"another Gatehouse": {[]Part{one, changed(func(r *Run) { r.Suite = "v0.2.0" })}, `their version of Gatehouse is different: "v0.1.0" and "v0.2.0"`},
		"another focus":     {[]Part{one, changed(func(r *Run) { r.Selection.Focus = "x" })}, `their --focus is different: "" and "x"`},
		"other labels":      {[]Part{one, changed(func(r *Run) { r.Selection.Labels = "x" })}, `their --labels is different: "" and "x"`},
		"other times":       {[]Part{one, otherwise}, `their cases were dealt by different --times`},
		"another ledger":    {[]Part{one, changed(func(r *Run) { r.Ledger.Behaviors[0].Level = "may" })}, `their ledgers are different`},
		"other known failures": {[]Part{one, changed(func(r *Run) {
			r.Known = []KnownFailure{{ID: "x", Expires: "2026-12-31"}}
		})}, `their known failures are different`},
		"a whole run":             {[]Part{one, {"whole.json", New(run)}}, "whole.json is a whole run and cannot be merged with others"},
		"a shard twice":           {[]Part{one, again}, "shard 1/2 is in 1.json and in again.json"},
		"another number":          {[]Part{one, shard(run, 3, 3, false)}, "1.json is of 2 shards, 3.json of 3"},
		"a case executed twice":   {[]Part{one, twice}, "case matching-rules/operations/create has a result in 1.json and in 2.json"},
		"a shard that is no word": {[]Part{one, damaged}, `2.json: shard "two": want I/N`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Merge(tc.parts...)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}
