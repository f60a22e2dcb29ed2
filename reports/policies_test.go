package reports

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// policyRun is a run of policy tests that wanted that much coverage.
func policyRun(coverageMin int) Run {
	const file = "policies/owner/test.yaml"
	result := func(name string, line int, outcome Outcome, decided ...Decided) Result {
		return Result{
			ID: "policies/owner/test/" + name, Title: "Owners: " + name, Area: "policies/owner", File: file, Line: line, Outcome: outcome,
			Start: start, Duration: time.Millisecond, Decided: decided,
		}
	}
	decided := func(ruling Ruling, reason string, expressions ...string) Decided {
		return Decided{
			Step: "steps[0]", Policy: "owner", Binding: "all", Ruling: ruling, Expressions: expressions,
			File: "policies/owner/policy.yaml", Line: 12, Reason: reason,
		}
	}
	wrong := result("wrong", 9, Fail, decided(Passed, "every validation is true"))
	wrong.Failures = []Failure{{Step: "steps[0]", Path: "expect.error", Message: "the request succeeded with code 201", Line: 5}}
	return Run{
		Suite: "v0.1.0", Ledger: &fixtures.Ledger{}, Target: TargetInfo{Name: "fakeapi", Version: "v1.37.2"}, Start: start, End: start.Add(time.Second),
		Results: []Result{
			result("owned", 7, Pass, decided(Passed, "every validation is true")),
			result("no-owner", 8, Pass, decided(Denied, "validations[0] failed: no owner", "spec.validations[0].expression", "spec.validations[1].expression")),
			wrong,
			result("another-kind", 10, Pass, decided(Unconcerned, "resourceRules[0] wants resource pods, the request is for configmaps")),
			result("changed", 11, Pass,
				decided(Passed, "every validation is true"), decided(Changed, "", "spec.mutations[0].jsonPatch.expression"), decided(Warned, "", "spec.validations[0].expression")),
			result("no-params", 12, Pass, decided(Erred, "no params found")),
		},
		PolicyTests: &PolicyTests{CoverageMin: coverageMin, Policies: []PolicyCoverage{
			{Kind: "ValidatingAdmissionPolicy", Name: "owner", File: "policies/owner/policy.yaml", Line: 1, Expressions: []ExpressionCoverage{
				{Path: "spec.variables[0].expression", Line: 8, Expression: "object.metadata.labels", Values: 3},
				{Path: "spec.validations[0].expression", Line: 12, Expression: "'owner' in variables.labels", Boolean: true, True: 2, False: 1},
				{Path: "spec.validations[0].messageExpression", Line: 13, Expression: "'no'", Values: 3},
				{Path: "spec.validations[1].expression", Line: 14, Expression: "true", Boolean: true, True: 2, Errors: 1},
			}},
			{Kind: "MutatingAdmissionPolicy", Name: "idle", File: "policies/idle.yaml", Line: 1, Expressions: []ExpressionCoverage{
				{Path: "spec.mutations[0].jsonPatch.expression", Line: 9, Expression: "[]"},
			}},
		}},
	}
}

func TestCoverageOfExpressions(t *testing.T) {
	for _, tt := range []struct {
		name         string
		e            ExpressionCoverage
		covered, all int
		missing      string
		tally        string
	}{
		{"a boolean that was both", ExpressionCoverage{Boolean: true, True: 2, False: 1}, 2, 2, "", "true 2, false 1"},
		{"only true", ExpressionCoverage{Boolean: true, True: 2}, 1, 2, "never false", "true 2, false 0"},
		{"only false, and errors", ExpressionCoverage{Boolean: true, False: 1, Errors: 2}, 1, 2, "never true, 2 errors", "true 0, false 1, error 2"},
		{"a boolean that was never evaluated", ExpressionCoverage{Boolean: true}, 0, 2, "never evaluated", "true 0, false 0"},
		{"only errors", ExpressionCoverage{Boolean: true, Errors: 1}, 0, 2, "never without an error", "true 0, false 0, error 1"},
		{"another value", ExpressionCoverage{Values: 4}, 1, 1, "", "evaluated 4"},
		{"another that only failed", ExpressionCoverage{Errors: 1}, 0, 1, "never without an error", "evaluated 0, error 1"},
		{"another that was never evaluated", ExpressionCoverage{}, 0, 1, "never evaluated", "evaluated 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			covered, all := tt.e.outcomes()
			if covered != tt.covered || all != tt.all || tt.e.missing() != tt.missing || tt.e.tally() != tt.tally {
				t.Errorf("%d of %d, %q, %q; want %d of %d, %q, %q", covered, all, tt.e.missing(), tt.e.tally(), tt.covered, tt.all, tt.missing, tt.tally)
			}
		})
	}
}

func TestPolicyVerdict(t *testing.T) {
	passing := func(run Run) Run {
		run.Results = slices.DeleteFunc(run.Results, func(r Result) bool { return r.Outcome == Fail })
		return run
	}
	selected := passing(policyRun(90))
	selected.Selection.Focus = "x"
	interrupted := passing(policyRun(0))
	interrupted.Interrupted = "signal"
	none := policyRun(0)
	none.Results = nil
	without := func(coverageMin int) Run {
		return Run{Ledger: &fixtures.Ledger{}, Results: []Result{{ID: "a", Outcome: Pass}}, PolicyTests: &PolicyTests{CoverageMin: coverageMin}}
	}
	for name, tt := range map[string]struct {
		run     Run
		verdict Verdict
		status  int
		reason  string // the first
	}{
		"all passed":                   {passing(policyRun(0)), TestsPassed, 0, ""},
		"just enough coverage":         {passing(policyRun(71)), TestsPassed, 0, ""},
		"too little coverage":          {passing(policyRun(72)), TestsFailed, 1, "expression coverage is 71%, and at least 72% was wanted"},
		"a case failed":                {policyRun(0), TestsFailed, 1, "1 case failed: policies/owner/test/wrong"},
		"a selection covers no less":   {selected, Partial, 0, "only a part of the cases was to run: --focus x"},
		"interrupted":                  {interrupted, Broken, 3, "the run was interrupted: signal"},
		"none was executed":            {none, Broken, 3, "no case was executed"},
		"no policies, none wanted":     {without(0), TestsPassed, 0, ""},
		"no policies, where some were": {without(1), TestsFailed, 1, "there is no policy among the manifests, and an expression coverage of at least 1% was wanted"},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(tt.run)
			if r.Verdict != tt.verdict || r.ExitStatus != tt.status || tt.reason != strings.Join(r.Reasons[:min(len(r.Reasons), 1)], "") {
				t.Errorf("%s, %d, %q; want %s, %d, %q", r.Verdict, r.ExitStatus, r.Reasons, tt.verdict, tt.status, tt.reason)
			}
		})
	}
}

func TestPolicyReportReadsBack(t *testing.T) {
	r := New(policyRun(90))
	var out bytes.Buffer
	if err := WriteJSON(&out, r); err != nil {
		t.Fatal(err)
	}
	read, err := ReadJSON("report.json", out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.PolicyTests, read.PolicyTests); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
	broken := strings.Replace(out.String(), `"ruling": "denied"`, `"ruling": "rejected"`, 1)
	if _, err := ReadJSON("report.json", []byte(broken)); err == nil || !strings.Contains(err.Error(), `decided[0].ruling: "rejected" is none of`) {
		t.Errorf("error %v of a ruling that does not exist", err)
	}
}

func TestPolicyProperties(t *testing.T) {
	root, _ := junit(t, New(policyRun(0)))
	found := map[string]string{}
	for _, p := range root.all("testsuite")[0].child("properties").all("property") {
		found[p.attrs["name"]] = p.attrs["value"]
	}
	for name, want := range map[string]string{
		"expression-coverage": "71%: 5 of 7 outcomes",
		"expression/ValidatingAdmissionPolicy/owner/validations[0].expression":        "true 2, false 1 (policies/owner/policy.yaml:12)",
		"expression/ValidatingAdmissionPolicy/owner/validations[1].expression":        "never false, 1 error: true 2, false 0, error 1 (policies/owner/policy.yaml:14)",
		"expression/MutatingAdmissionPolicy/idle/mutations[0].jsonPatch.expression":   "never evaluated: evaluated 0 (policies/idle.yaml:9)",
		"expression/ValidatingAdmissionPolicy/owner/validations[0].messageExpression": "evaluated 3 (policies/owner/policy.yaml:13)",
	} {
		if found[name] != want {
			t.Errorf("property %s is %q, want %q", name, found[name], want)
		}
	}
}
