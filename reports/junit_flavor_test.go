package reports

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// takeAway removes from a document what flavours add to a testcase.
func takeAway(n *node) {
	if strings.TrimSpace(n.text) == "" { // how a document is indented says nothing
		n.text = ""
	}
	if n.name == "testcase" {
		delete(n.attrs, "file")
		delete(n.attrs, "line")
		n.children = slices.DeleteFunc(n.children, func(c *node) bool { return c.name == "properties" })
	}
	for _, c := range n.children {
		takeAway(c)
	}
}

// TestJUnitFlavorsAdd: a flavour adds to what the portable one says, and changes nothing of it.
func TestJUnitFlavorsAdd(t *testing.T) {
	schema := loadXSD(t, "testdata/junit.xsd")
	for name, run := range junitRuns() {
		for _, flavor := range JUnitFlavor("").Values() {
			t.Run(name+", "+flavor, func(t *testing.T) {
				portable, _ := junit(t, New(run))
				root, _ := junitOf(t, New(run), JUnitOptions{Flavor: JUnitFlavor(flavor)})
				takeAway(portable)
				takeAway(root)
				for _, fault := range schema.validate(root, "") {
					t.Error(fault)
				}
				if diff := cmp.Diff(portable, root, cmp.AllowUnexported(node{}), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("(-portable +%s):\n%s", flavor, diff)
				}
			})
		}
	}
}

// TestJUnitGitLab: GitLab shows the file of a case, and links the bundle of one that failed.
func TestJUnitGitLab(t *testing.T) {
	for name, tc := range map[string]struct {
		bundles string
		want    map[string]string // by case
	}{
		"with bundles":    {"out/failures", map[string]string{"update": "out/failures/matching-rules/operations/update/README.md"}},
		"without bundles": {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			root, _ := junitOf(t, New(badRun()), JUnitOptions{Flavor: JUnitGitLab, Bundles: tc.bundles})
			cases, faults := readAsGitLab(root)
			if len(faults) > 0 {
				t.Error(faults)
			}
			for _, id := range []string{"create", "update", "exec", "delete", "connect"} {
				got := cases["matching-rules_gatehouse.matching-rules.operations_matching-rules/operations/"+id]
				if got.file != "fixtures/matching-rules/operations.yaml" || got.attachment != tc.want[id] {
					t.Errorf("%s: file %q, attachment %q; want %q", id, got.file, got.attachment, tc.want[id])
				}
			}
		})
	}
}

// TestJUnitGitHub: an annotation stands at the expectation that did not hold, or at the row of the case.
func TestJUnitGitHub(t *testing.T) {
	root, _ := junitOf(t, New(badRun()), JUnitOptions{Flavor: JUnitGitHub})
	cases, faults := readAsGitHub(root)
	if len(faults) > 0 {
		t.Error(faults)
	}
	const file = "fixtures/matching-rules/operations.yaml"
	for id, want := range map[string]seen{
		"create":  {status: "passed", line: 12},
		"update":  {status: "failed", line: 31, text: "webhook.match.scope.namespaced: label first is missing"},
		"exec":    {status: "skipped", line: 40},
		"delete":  {status: "skipped", line: 50},
		"connect": {status: "failed", line: 60, text: "webhook.order.by-name: connection refused"},
	} {
		got := cases[file+".matching-rules/operations/"+id]
		if got.status != want.status || got.line != want.line || got.text != want.text {
			t.Errorf("%s: got %+v, want %+v", id, got, want)
		}
	}
	if got := cases["verdict.verdict"]; got.status != "failed" {
		t.Errorf("the verdict: got %+v", got)
	}
}

// TestJUnitTestGrid: TestGrid draws latencies as metrics, and knows what a case is about.
func TestJUnitTestGrid(t *testing.T) {
	root, _ := junitOf(t, New(badRun()), JUnitOptions{Flavor: JUnitTestGrid})
	cases, faults := readAsTestGrid(root)
	if len(faults) > 0 {
		t.Error(faults)
	}
	update := cases["matching-rules.matching-rules/operations/update"]
	about := map[string][]string{
		"area": {"matching-rules"}, "behavior": {"webhook.match.scope.namespaced", "webhook.match.wildcard"}, "level": {"must"},
		"kubernetes-version": {"v1.37.2"}, "duration-seconds": {"0.010000"}, "slowest-request-seconds": {"0.001000"},
	}
	if diff := cmp.Diff(about, update.properties); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
	for name, want := range map[string]map[string]float64{
		"matching-rules.matching-rules/operations/update": {"duration-seconds": 0.01, "slowest-request-seconds": 0.001},
		"matching-rules.matching-rules/operations/exec":   {}, // it was not run
		"verdict.verdict": {"duration-seconds": 83, "case-p50-seconds": 0.01, "case-p90-seconds": 0.01, "case-p99-seconds": 0.01, "case-p100-seconds": 0.01},
	} {
		if diff := cmp.Diff(want, cases[name].metrics); diff != "" {
			t.Errorf("%s: metrics (-want +got):\n%s", name, diff)
		}
	}
}

func TestPercentiles(t *testing.T) {
	of := func(milliseconds ...int) Report {
		r := Report{Start: start, End: start.Add(time.Second)}
		for _, ms := range milliseconds {
			r.Results = append(r.Results, Result{Outcome: Pass, Duration: time.Duration(ms) * time.Millisecond})
		}
		return r
	}
	var hundred []int
	for i := range 100 {
		hundred = append(hundred, 100-i)
	}
	for name, tc := range map[string]struct {
		report Report
		want   string
	}{
		"none":      {of(), ""},
		"one":       {of(7), "1.000000 0.007000 0.007000 0.007000 0.007000"},
		"two":       {of(9, 7), "1.000000 0.007000 0.009000 0.009000 0.009000"},
		"a hundred": {of(hundred...), "1.000000 0.050000 0.090000 0.099000 0.100000"},
	} {
		t.Run(name, func(t *testing.T) {
			var values []string
			for _, p := range percentiles(tc.report) {
				values = append(values, p.Value)
			}
			if got := strings.Join(values, " "); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
