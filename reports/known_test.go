package reports

import (
	"slices"
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	entry := KnownFailure{ID: "a/b/c", Reason: "not yet built", Link: "https://example.com/7", Expires: "2026-03-01"}
	unreadable := entry
	unreadable.Expires = "soon"
	lastDay := time.Date(2026, 3, 1, 23, 59, 59, 0, time.UTC)
	dayAfter := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	dayAfterInTokyo := time.Date(2026, 3, 2, 8, 59, 59, 0, time.FixedZone("JST", 9*3600)) // still March 1 in UTC

	for name, tc := range map[string]struct {
		outcome Outcome
		entry   KnownFailure
		now     time.Time
		want    Outcome
		reason  string
	}{
		"a failure that is listed is known":             {Fail, entry, lastDay, KnownFail, "not yet built (https://example.com/7)"},
		"the day of expiry is a day in UTC":             {Fail, entry, dayAfterInTokyo, KnownFail, "not yet built (https://example.com/7)"},
		"a failure whose entry has expired fails":       {Fail, entry, dayAfter, Fail, "known failure, expired on 2026-03-01: not yet built"},
		"an entry whose date is unreadable has expired": {Fail, unreadable, lastDay, Fail, "known failure, expired on soon: not yet built"},
		"a pass that is listed is a failure":            {Pass, entry, lastDay, Fail, "passed unexpectedly"},
		"a pass whose entry has expired is one too":     {Pass, entry, dayAfter, Fail, "passed unexpectedly"},
		"an error is never expected":                    {Error, entry, lastDay, Error, ""},
		"what was not run stays so":                     {NotRun, entry, lastDay, NotRun, ""},
		"another case's failure is not excused":         {Fail, KnownFailure{ID: "a/b/d", Expires: "2026-03-01"}, lastDay, Fail, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := judge(Result{ID: "a/b/c", Outcome: tc.outcome}, []KnownFailure{tc.entry}, tc.now)
			if got.Outcome != tc.want || got.Reason != tc.reason {
				t.Errorf("got %s (%s), want %s (%s)", got.Outcome, got.Reason, tc.want, tc.reason)
			}
			if unexpected := tc.outcome == Pass; unexpected != (len(got.Failures) > 0) {
				t.Errorf("failures %v do not tell the reader what to do", got.Failures)
			}
		})
	}
}

func TestStaleEntries(t *testing.T) {
	fresh := func(id string) KnownFailure { return KnownFailure{ID: id, Expires: "2026-12-31"} }
	expired := func(id string) KnownFailure { return KnownFailure{ID: id, Expires: "2026-02-28"} }
	ran, lacking := Result{ID: "a/b/ran", Outcome: Fail}, Result{ID: "a/b/lacking", Outcome: NotRun, Cause: CauseTarget}
	deselected := Result{ID: "a/b/deselected", Outcome: NotRun, Cause: CauseDeselected}
	all := []Result{ran, lacking, deselected}
	focused := Selection{Focus: "x"}
	for name, tc := range map[string]struct {
		report Report
		want   []string
	}{
		"entries of cases":                {Report{Known: []KnownFailure{fresh(ran.ID), fresh(lacking.ID)}, Results: all}, nil},
		"no case":                         {Report{Known: []KnownFailure{fresh("a/b/gone")}, Results: all}, []string{"the known failure a/b/gone names no case"}},
		"no case, in a selection":         {Report{Known: []KnownFailure{fresh("a/b/gone")}, Results: all, Selection: focused}, []string{"the known failure a/b/gone names no case"}},
		"a case of which nothing is told": {Report{Known: []KnownFailure{fresh("a/b/gone")}, Results: []Result{ran}, Selection: focused}, nil},
		"no case, interrupted":            {Report{Known: []KnownFailure{fresh("a/b/gone")}, Results: all, Interrupted: "signal"}, nil},
		"twice":                           {Report{Known: []KnownFailure{fresh(ran.ID), fresh(ran.ID)}, Results: all}, []string{"the known failure a/b/ran is listed twice"}},
		"expired, and the case was run":   {Report{Known: []KnownFailure{expired(ran.ID)}, Results: all}, nil},
		"expired, and it was left out":    {Report{Known: []KnownFailure{expired(deselected.ID)}, Results: all, Selection: focused}, nil},
		"expired, and it could not be run": {
			Report{Known: []KnownFailure{expired(lacking.ID)}, Results: all},
			[]string{"the known failure a/b/lacking expired on 2026-02-28, and its case was not run"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.report.Start = start
			if got := staleEntries(tc.report); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
