package reports

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

func TestNewCounts(t *testing.T) {
	r := New(badRun())
	type row struct {
		id     string
		counts Counts
	}
	var got []row
	for _, a := range r.Areas {
		got = append(got, row{a.ID, a.Counts})
	}
	got = append(got, row{"total", r.Total})
	want := []row{
		{"matching-rules", Counts{CaseCounts{Pass: 1, Fail: 1, KnownFail: 1, NotRun: 1, Error: 1}, BehaviorCounts{Failed: 3, NotApplicable: 1}}},
		{"invocation-order", Counts{CaseCounts{}, BehaviorCounts{Unproven: 2}}},
		{"webhook-contract", Counts{CaseCounts{}, BehaviorCounts{NotApplicable: 1}}},
		{"total", Counts{CaseCounts{Pass: 1, Fail: 1, KnownFail: 1, NotRun: 1, Error: 1}, BehaviorCounts{Failed: 3, Unproven: 2, NotApplicable: 2}}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c := r.Total.CaseCounts; c.All() != len(r.Results) || c.Executed() != 3 {
		t.Errorf("%d cases, %d executed", c.All(), c.Executed())
	}
	if b := r.Total.BehaviorCounts; b.All() != len(r.Behaviors) || b.Applicable() != 5 {
		t.Errorf("%d behaviours, %d apply", b.All(), b.Applicable())
	}
}

func TestNewCoverage(t *testing.T) {
	documented, observed := fixtures.Documented, fixtures.Observed
	want := []Coverage{
		{documented, fixtures.Must, BehaviorCounts{Held: 2, NotApplicable: 2}},
		{documented, fixtures.Should, BehaviorCounts{}},
		{documented, fixtures.May, BehaviorCounts{Unproven: 1}},
		{observed, fixtures.Must, BehaviorCounts{Held: 1}},
		{observed, fixtures.Should, BehaviorCounts{Unproven: 1}},
		{observed, fixtures.May, BehaviorCounts{}},
	}
	if diff := cmp.Diff(want, New(sampleRun(passing()...)).Coverage); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNewOrder(t *testing.T) {
	run := sampleRun(passing()...)
	stranger := Result{ID: "zoo/a/b", Area: "zoo", Outcome: Pass}
	run.Results = append([]Result{stranger}, run.Results...)
	slices.Reverse(run.Results)
	r := New(run)
	var ids, areas []string
	for _, result := range r.Results {
		ids = append(ids, result.ID)
	}
	for _, a := range r.Areas {
		areas = append(areas, a.ID)
	}
	if want := []string{"matching-rules/operations/create", "matching-rules/operations/namespaced", "invocation-order/names/by-name", "zoo/a/b"}; !slices.Equal(ids, want) {
		t.Errorf("results %q, want %q", ids, want)
	}
	if want := []string{"matching-rules", "invocation-order", "webhook-contract", "zoo"}; !slices.Equal(areas, want) {
		t.Errorf("areas %q, want %q", areas, want)
	}
}

// TestNewIsPure: the run is left as it was, and a place on earth does not show.
func TestNewIsPure(t *testing.T) {
	run, same := badRun(), badRun()
	slices.Reverse(run.Results)
	slices.Reverse(same.Results)
	zone := time.FixedZone("NPT", 5*3600+45*60)
	r := New(run)
	if diff := cmp.Diff(same, run); diff != "" {
		t.Errorf("New changed the run (-before +after):\n%s", diff)
	}
	run.Start, run.End = run.Start.In(zone), run.End.In(zone)
	for i := range run.Results {
		run.Results[i].Start = run.Results[i].Start.In(zone)
	}
	one, err := marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	other, err := marshal(New(run))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(one), string(other)); diff != "" {
		t.Errorf("the time zone shows (-UTC +NPT):\n%s", diff)
	}
}
