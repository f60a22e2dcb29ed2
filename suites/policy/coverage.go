package policy

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
)

const (
	validatingPolicy = "ValidatingAdmissionPolicy"
	mutatingPolicy   = "MutatingAdmissionPolicy"
)

// coverage counts what the expressions of policies came to.
type coverage struct {
	order  []*fixtures.Manifest
	counts map[*fixtures.Manifest]*reports.PolicyCoverage
}

// newCoverage begins the count for the policies among the manifests.
func newCoverage(manifests []*fixtures.Manifest) *coverage {
	c := &coverage{counts: map[*fixtures.Manifest]*reports.PolicyCoverage{}}
	for _, m := range manifests {
		if !isPolicy(m) {
			continue
		}
		c.order = append(c.order, m)
		c.counts[m] = &reports.PolicyCoverage{
			Kind: m.Kind().Kind, Name: m.Object.Unstructured().GetName(),
			File: m.Position.File, Line: m.Position.Line, Expressions: expressionsOf(m),
		}
	}
	return c
}

func isPolicy(m *fixtures.Manifest) bool {
	return m.Acts() && (m.Kind().Kind == validatingPolicy || m.Kind().Kind == mutatingPolicy)
}

// policies returns the counts.
func (c *coverage) policies() []reports.PolicyCoverage {
	policies := make([]reports.PolicyCoverage, 0, len(c.order))
	for _, m := range c.order {
		policies = append(policies, *c.counts[m])
	}
	return policies
}

// unbound names the policies without a binding. The setup of a table may bind one: it decides then.
func unbound(manifests []*fixtures.Manifest, results []reports.Result) []string {
	bound := sets.New[string]()
	for _, m := range manifests {
		name, _, _ := unstructured.NestedString(m.Object, "spec", "policyName")
		bound.Insert(strings.TrimSuffix(m.Kind().Kind, "Binding") + " " + name)
	}
	for _, r := range results {
		for _, d := range r.Decided {
			bound.Insert(validatingPolicy+" "+d.Policy, mutatingPolicy+" "+d.Policy)
		}
	}
	var names []string
	for _, m := range manifests {
		if name := m.Object.Unstructured().GetName(); isPolicy(m) && !bound.Has(m.Kind().Kind+" "+name) {
			names = append(names, m.Position.String()+": "+name)
		}
	}
	return names
}

// lists are the lists of a policy that hold expressions, and where in an item of the list, in the order of evaluation.
var lists = []struct {
	list    string
	fields  [][]string
	boolean []bool
}{
	{"variables", [][]string{{"expression"}}, []bool{false}},
	{"matchConditions", [][]string{{"expression"}}, []bool{true}},
	{"validations", [][]string{{"expression"}, {"messageExpression"}}, []bool{true, false}},
	{"auditAnnotations", [][]string{{"valueExpression"}}, []bool{false}},
	{"mutations", [][]string{{"applyConfiguration", "expression"}, {"jsonPatch", "expression"}}, []bool{false, false}},
}

// expressionsOf lists the expressions of a policy.
func expressionsOf(m *fixtures.Manifest) []reports.ExpressionCoverage {
	found := []reports.ExpressionCoverage{}
	for _, l := range lists {
		items, _, _ := unstructured.NestedSlice(m.Object, "spec", l.list)
		for i, item := range items {
			fields, _ := item.(map[string]any)
			for j, field := range l.fields {
				text, _, _ := unstructured.NestedString(fields, field...)
				if text == "" {
					continue
				}
				path := fmt.Sprintf("spec.%s[%d].%s", l.list, i, strings.Join(field, "."))
				found = append(found, reports.ExpressionCoverage{
					Path: path, Line: m.At(path).Line, Expression: strings.TrimSpace(text), Boolean: l.boolean[j],
				})
			}
		}
	}
	return found
}

// decided counts the evaluations of the decisions on one request of a case, and returns what the policies decided.
func (c *coverage) decided(of *fixtures.LoadedCase, at string, records []decision.Record) []reports.Decided {
	var all []reports.Decided
	for _, record := range records {
		for _, step := range record.Steps {
			if step.Configuration == "" || step.Plugin != validatingPolicy && step.Plugin != mutatingPolicy {
				continue
			}
			manifest := policyOf(of, step)
			c.count(manifest, step.Evaluations)
			if strings.HasPrefix(at, "steps[") {
				all = append(all, rule(at, manifest, step))
			}
		}
	}
	return all
}

// policyOf finds the policy of a step among the case's manifests; nil when it is none of them.
func policyOf(c *fixtures.LoadedCase, step decision.Step) *fixtures.Manifest {
	for _, m := range c.Manifests {
		if m.Acts() && m.Kind().Kind == step.Plugin && m.Object.Unstructured().GetName() == step.Configuration {
			return m
		}
	}
	return nil
}

func (c *coverage) count(m *fixtures.Manifest, evaluations []decision.Evaluation) {
	policy := c.counts[m]
	if policy == nil {
		return
	}
	for _, evaluation := range evaluations {
		for i := range policy.Expressions {
			e := &policy.Expressions[i]
			if e.Path != evaluation.Expression {
				continue
			}
			switch evaluation.Result {
			case decision.True:
				e.True, e.Boolean = e.True+1, e.Boolean || isVariable(e.Path)
			case decision.False:
				e.False, e.Boolean = e.False+1, e.Boolean || isVariable(e.Path)
			case decision.Error:
				e.Errors++
			default:
				e.Values++
			}
		}
	}
}

// isVariable tells whether an expression may have any type: it is a boolean when its value is one.
func isVariable(path string) bool { return strings.HasPrefix(path, "spec.variables[") }

// rule says what a policy decided in a step.
func rule(at string, m *fixtures.Manifest, step decision.Step) reports.Decided {
	d := reports.Decided{Step: at, Policy: step.Configuration, Binding: step.Name, Reason: step.Reason}
	d.Ruling, d.Expressions = ruling(step)
	if m != nil {
		where := m.Position
		if len(d.Expressions) > 0 {
			where = m.At(d.Expressions[0])
		}
		d.File, d.Line = where.File, where.Line
	}
	return d
}

// ruling is what a policy did, and by which expressions.
func ruling(step decision.Step) (reports.Ruling, []string) {
	switch step.Outcome {
	case decision.Denied:
		return reports.Denied, expressions(step, "spec.validations[", decision.False, decision.Error)
	case decision.Failed:
		return reports.Erred, expressions(step, "spec.", decision.Error)
	case decision.FailedOpen:
		return reports.ErredOpen, expressions(step, "spec.", decision.Error)
	case decision.Skipped:
		return reports.Unconcerned, expressions(step, "spec.matchConditions[", decision.False)
	}
	if len(step.Changes) > 0 {
		return reports.Changed, expressions(step, "spec.mutations[", decision.Value)
	}
	if failed := expressions(step, "spec.validations[", decision.False); len(failed) > 0 {
		if len(step.Warnings) > 0 {
			return reports.Warned, failed
		}
		return reports.Audited, failed
	}
	return reports.Passed, nil
}

// expressions are the paths of the expressions of a kind that came to one of the results, each once. Variables stand
// behind others: they are a cause, not what decides.
func expressions(step decision.Step, prefix string, results ...decision.Result) []string {
	var found, variables []string
	seen := map[string]bool{}
	for _, e := range step.Evaluations {
		if seen[e.Expression] || !strings.HasPrefix(e.Expression, prefix) || strings.HasSuffix(e.Expression, ".messageExpression") {
			continue
		}
		for _, r := range results {
			if e.Result != r {
				continue
			}
			seen[e.Expression] = true
			if isVariable(e.Expression) {
				variables = append(variables, e.Expression)
			} else {
				found = append(found, e.Expression)
			}
		}
	}
	return append(found, variables...)
}
