package policy_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/policy"
	"github.com/gatehouse-dev/gatehouse/suites/target"
)

// run tests the policies of a directory on fakeapi.
func run(ctx context.Context, t *testing.T, dir string) policy.Outcome {
	t.Helper()
	tables, err := fixtures.LoadTables(dir)
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := policy.Run(ctx, tables, policy.Options{Target: target.Options{Name: target.FakeAPI}, Procs: runtime.GOMAXPROCS(0)})
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

// TestExamples runs the examples: every case passes, and the cases evaluate every expression to all that it can be.
func TestExamples(t *testing.T) {
	outcome := run(t.Context(), t, "examples")
	for _, result := range outcome.Results {
		if result.Outcome != reports.Pass {
			t.Error(reports.Describe(result))
		}
	}
	if len(outcome.Unbound) > 0 {
		t.Errorf("without a binding: %q", outcome.Unbound)
	}
	if covered, all := (reports.PolicyTests{Policies: outcome.Policies}).Covered(); covered != all || len(outcome.Policies) < 12 {
		t.Errorf("%d of %d outcomes of %d policies are covered", covered, all, len(outcome.Policies))
	}
}

// lines are what was decided, one a line: the case and the rulings with their expressions. What rules and selectors kept
// out is left out.
func lines(results []reports.Result) []string {
	var all []string
	for _, r := range results {
		line := filepath.Base(r.ID) + " " + string(r.Outcome)
		for _, d := range r.Decided {
			if d.Ruling != reports.Unconcerned || len(d.Expressions) > 0 {
				line += "; " + strings.Join(append([]string{string(d.Ruling)}, d.Expressions...), " ")
			}
		}
		all = append(all, line)
	}
	return all
}

func TestDecided(t *testing.T) {
	outcome := run(t.Context(), t, "testdata/decided")
	want := []string{
		"refused-manifest fail",
		"skipped-by-rules pass",
		"skipped-by-a-condition pass; skipped spec.matchConditions[0].expression",
		"allowed pass; allowed",
		"denied pass; denied spec.validations[0].expression",
		"warned pass; warned spec.validations[1].expression",
		"audited pass; audited spec.validations[1].expression",
		"failed pass; failed spec.validations[1].expression spec.variables[0].expression",
		"changed pass; changed spec.mutations[0].jsonPatch.expression",
		"not-as-expected fail; denied spec.validations[0].expression",
	}
	if diff := cmp.Diff(want, lines(outcome.Results)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// TestRefusedManifests: it is said where the server found fault with a manifest. A field that the API does not know is a
// fault, as for kubectl.
func TestRefusedManifests(t *testing.T) {
	for _, tt := range []struct{ dir, step, message string }{
		{"testdata/misspelt", "testdata/misspelt/policy.yaml:2:1", `unknown field "spec.failurepolicy"`},
		{"testdata/decided/refused", "testdata/decided/refused/policy.yaml:2:1", "code 422, for testdata/decided/refused/policy.yaml:9:17: "},
	} {
		result := run(t.Context(), t, tt.dir).Results[0]
		if len(result.Failures) != 1 {
			t.Fatalf("%s: %s, %d failures", tt.dir, result.Outcome, len(result.Failures))
		}
		if f := result.Failures[0]; f.Step != tt.step || !strings.Contains(f.Message, tt.message) {
			t.Errorf("refused at %s with %s; want %s and %s", f.Step, f.Message, tt.step, tt.message)
		}
	}
}

func TestCoverage(t *testing.T) {
	outcome := run(t.Context(), t, "testdata/decided")
	got := map[string]reports.ExpressionCoverage{}
	for _, p := range outcome.Policies {
		for _, e := range p.Expressions {
			e.Expression = ""
			got[p.Name+" "+strings.TrimPrefix(e.Path, "spec.")] = e
		}
	}
	for name, want := range map[string]reports.ExpressionCoverage{
		"checks variables[0].expression":            {Path: "spec.variables[0].expression", Line: 14, Boolean: true, True: 1, False: 2, Errors: 1},
		"checks matchConditions[0].expression":      {Path: "spec.matchConditions[0].expression", Line: 11, Boolean: true, True: 6, False: 1},
		"checks validations[0].expression":          {Path: "spec.validations[0].expression", Line: 16, Boolean: true, True: 4, False: 2},
		"changes mutations[0].jsonPatch.expression": {Path: "spec.mutations[0].jsonPatch.expression", Line: 48, Values: 1},
		"broken validations[0].expression":          {Path: "spec.validations[0].expression", Line: 9, Boolean: true},
	} {
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestInterrupted: cases that had no turn have no result.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if outcome := run(ctx, t, "testdata/decided"); len(outcome.Results) > 0 {
		t.Errorf("%d results of a run that was over before it began", len(outcome.Results))
	}
}

// TestTogether runs cases one after the other on one server, as on a real one: what each makes is gone before the next.
func TestTogether(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS names no real API server")
	}
	tables, err := fixtures.LoadTables("examples/replica-limits", "examples/image-registries")
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := policy.Run(t.Context(), tables, policy.Options{Target: target.Options{Name: target.Envtest}})
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range outcome.Results {
		if result.Outcome != reports.Pass {
			t.Error(reports.Describe(result))
		}
	}
	if outcome.Policies != nil {
		t.Error("a real API server tells which expressions it evaluates")
	}
}
