package reports

import (
	"fmt"
	"strings"
)

// PolicyTests is what a run of policy tests adds to a report: how much of the policies the cases evaluated.
type PolicyTests struct {
	// CoverageMin is the expression coverage, in percent, that the run was to reach; 0 for none.
	CoverageMin int `json:"coverageMin,omitempty"`
	// Unrecorded says that the server keeps no record of its decisions: what was evaluated is not known.
	Unrecorded bool `json:"unrecorded,omitempty"`
	// Policies are the policies that were tested, by file and line; none where the server does not record its decisions.
	Policies []PolicyCoverage `json:"policies"`
}

// PolicyCoverage is a policy and what the cases evaluated of it.
type PolicyCoverage struct {
	// Kind is ValidatingAdmissionPolicy or MutatingAdmissionPolicy.
	Kind string `json:"kind"`
	// Name is the policy's name.
	Name string `json:"name"`
	// File is the manifest that the policy stands in, and Line its first line there.
	File string `json:"file"`
	Line int    `json:"line"`
	// Expressions are the policy's expressions, in the order of their evaluation.
	Expressions []ExpressionCoverage `json:"expressions"`
}

// ExpressionCoverage counts what an expression came to over all cases.
type ExpressionCoverage struct {
	// Path is where the expression stands in the policy, such as spec.validations[0].expression.
	Path string `json:"path"`
	// Line is the line of the policy's file on which the expression begins.
	Line int `json:"line"`
	// Expression is its text.
	Expression string `json:"expression"`
	// Boolean tells that the expression must be a boolean, or was one: it is covered when it was true and was false.
	// Another is covered when it had a value.
	Boolean bool `json:"boolean"`
	// True, False and Values count the evaluations that came to true, to false and to another value.
	True   int `json:"true"`
	False  int `json:"false"`
	Values int `json:"values"`
	// Errors counts the evaluations that failed.
	Errors int `json:"errors"`
}

// outcomes returns how many outcomes there are to cover, and how many of them were.
func (e ExpressionCoverage) outcomes() (covered, all int) {
	if !e.Boolean {
		return count(e.Values > 0), 1
	}
	return count(e.True > 0) + count(e.False > 0), 2
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// missing says what the expression never was; "" when it is covered.
func (e ExpressionCoverage) missing() string {
	what := ""
	switch {
	case e.True+e.False+e.Values+e.Errors == 0:
		return "never evaluated"
	case e.True+e.False+e.Values == 0:
		return "never without an error"
	case !e.Boolean || e.True > 0 && e.False > 0:
		return ""
	case e.True > 0:
		what = "never false"
	default:
		what = "never true"
	}
	if e.Errors > 0 {
		what += ", " + plural(e.Errors, "error", "errors")
	}
	return what
}

// tally says how often the expression came to what.
func (e ExpressionCoverage) tally() string {
	var parts []string
	for _, c := range []struct {
		name  string
		count int
		shown bool
	}{{"true", e.True, e.Boolean}, {"false", e.False, e.Boolean}, {"evaluated", e.Values, !e.Boolean}, {"error", e.Errors, e.Errors > 0}} {
		if c.shown {
			parts = append(parts, fmt.Sprintf("%s %d", c.name, c.count))
		}
	}
	return strings.Join(parts, ", ")
}

// Covered returns how many outcomes the expressions have, true and false of booleans and one of others, and how many of
// them the cases reached.
func (t PolicyTests) Covered() (covered, all int) {
	for _, p := range t.Policies {
		c, a := p.covered()
		covered, all = covered+c, all+a
	}
	return covered, all
}

func (p PolicyCoverage) covered() (covered, all int) {
	for _, e := range p.Expressions {
		c, a := e.outcomes()
		covered, all = covered+c, all+a
	}
	return covered, all
}

// percent is the expression coverage, rounded down; 100 where there is nothing to cover.
func percent(covered, all int) int {
	if all == 0 {
		return 100
	}
	return covered * 100 / all
}

// shortfall says that the coverage is less than it was to be; "" when it is not.
func (t PolicyTests) shortfall() string {
	covered, all := t.Covered()
	if all == 0 && t.CoverageMin > 0 {
		return fmt.Sprintf("there is no policy among the manifests, and an expression coverage of at least %d%% was wanted", t.CoverageMin)
	}
	if got := percent(covered, all); got < t.CoverageMin {
		return fmt.Sprintf("expression coverage is %d%%, and at least %d%% was wanted", got, t.CoverageMin)
	}
	return ""
}

// Decided is what one policy decided on one request.
type Decided struct {
	// Step is the path of the step in the case, such as steps[1].
	Step string `json:"step"`
	// Policy is the policy's name.
	Policy string `json:"policy"`
	// Binding is the binding's name; empty where the policy itself did not apply.
	Binding string `json:"binding,omitempty"`
	// Ruling is what the policy did.
	Ruling Ruling `json:"ruling"`
	// Expressions are the paths of the expressions that decided, the decisive one first: those that were not true, or the
	// mutations. There are none for a request that was allowed, or that rules and selectors kept out.
	Expressions []string `json:"expressions,omitempty"`
	// File and Line are where the decisive expression stands, else the policy; empty for policies of no manifest.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Reason is the server's account, in words.
	Reason string `json:"reason"`
}

// Ruling is what a policy did about a request.
type Ruling string

const (
	// Denied: the request was refused.
	Denied Ruling = "denied"
	// Erred: the policy failed, and the request was refused for it.
	Erred Ruling = "failed"
	// ErredOpen: the policy failed, and its failurePolicy let the request pass.
	ErredOpen Ruling = "failed-open"
	// Warned: a validation was false, and the client was warned.
	Warned Ruling = "warned"
	// Audited: a validation was false, and the audit event says so.
	Audited Ruling = "audited"
	// Changed: the object was changed.
	Changed Ruling = "changed"
	// Passed: the policy let the request pass.
	Passed Ruling = "allowed"
	// Unconcerned: the policy did not apply.
	Unconcerned Ruling = "skipped"
)

// Values returns the closed list of rulings.
func (Ruling) Values() []string {
	return []string{
		string(Denied), string(Erred), string(ErredOpen), string(Warned), string(Audited), string(Changed), string(Passed), string(Unconcerned),
	}
}
