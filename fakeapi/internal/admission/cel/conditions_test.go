package cel

import (
	"strconv"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	upstreamcel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
)

// dear costs about 700,000: two questions to the authorizer.
const dear = "authorizer.path('/x').check('get').errored() && authorizer.path('/x').check('get').errored()"

var conditionCases = []struct {
	name       string
	conditions []string // named c0, c1, ...
	matched    bool
	failed     string
	err        string
}{
	{name: "none", matched: true},
	{name: "all true", conditions: []string{"true", "object.data.x == 'new'", "request.operation == 'UPDATE'"}, matched: true},
	{name: "one false", conditions: []string{"true", "false", "true"}, failed: "c1"},
	{name: "two false", conditions: []string{"true", "false", "1 == 2"}, failed: "c1"},
	{
		name: "an error", conditions: []string{"true", "object.data.y == ''"},
		err: "expression 'object.data.y == ''' resulted in error: no such key: y",
	},
	{name: "false after an error", conditions: []string{"object.data.y == ''", "false"}, failed: "c1"},
	{name: "false before an error", conditions: []string{"false", "object.data.y == ''"}, failed: "c0"},
	{
		name: "two errors alike, one other", conditions: []string{"object.data.y == ''", "object.data.z == ''", "object.data.y == ''"},
		err: "[expression 'object.data.y == ''' resulted in error: no such key: y, expression 'object.data.z == ''' resulted in error: no such key: z]",
	},
	{
		name: "does not compile", conditions: []string{"nope"},
		err: "compilation error: compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')\n | nope\n | ^",
	},
	{name: "does not compile, and false", conditions: []string{"nope", "false"}, failed: "c1"},
	{name: "no bool", conditions: []string{"'true'"}, err: "compilation error: must evaluate to bool but got string"},
	{name: "newer than the previous version", conditions: []string{"[1].includes(1)"}, matched: true},
	{name: "no namespace object", conditions: []string{"namespaceObject == null"}, matched: true},
	{
		name: "field of the namespace object", conditions: []string{"namespaceObject.metadata.name == 'ns'"},
		err: "expression 'namespaceObject.metadata.name == 'ns'' resulted in error: no such key: metadata",
	},
	{name: "resource of the request, kind of the object", conditions: []string{"request.resource.resource == 'configmaps' && request.kind.kind == 'Map'"}, matched: true},
	{name: "authorizer", conditions: []string{"authorizer.requestResource.check('get').allowed()"}, matched: true},
	{name: "below the budget", conditions: []string{dear, dear, dear}, matched: true},
	{
		name: "above the budget, though one is false", conditions: []string{"false", dear, dear, dear, dear},
		err: "validation failed due to running out of cost budget, no further validation rules will be run",
	},
	{
		name: "above the limit of one", conditions: []string{dear + " && authorizer.path('/x').check('get').errored()"},
		err: "expression '" + dear + " && authorizer.path('/x').check('get').errored()' resulted in error: operation cancelled: actual cost limit exceeded",
	},
	{
		name: "a loop above the limit of one", conditions: []string{"[" + strings.Repeat("0, ", 99) + "0].all(a, [" + strings.Repeat("0, ", 99) + "0].all(b, [" + strings.Repeat("0, ", 99) + "0].all(c, a + b + c == 0)))"},
		err: "expression '[" + strings.Repeat("0, ", 99) + "0].all(a, [" + strings.Repeat("0, ", 99) + "0].all(b, [" + strings.Repeat("0, ", 99) + "0].all(c, a + b + c == 0)))' resulted in error: operation cancelled: actual cost limit exceeded",
	},
}

func conditions(expressions []string) []admissionregistrationv1.MatchCondition {
	list := make([]admissionregistrationv1.MatchCondition, len(expressions))
	for i, expression := range expressions {
		list[i] = admissionregistrationv1.MatchCondition{Name: "c" + strconv.Itoa(i), Expression: expression}
	}
	return list
}

func TestMatchConditions(t *testing.T) {
	for _, tt := range conditionCases {
		t.Run(tt.name, func(t *testing.T) {
			matched, failed, err := CompileMatchConditions(conditions(tt.conditions)).Match(t.Context(), probe())
			text := ""
			if err != nil {
				text = err.Error()
			}
			if matched != tt.matched || failed != tt.failed || text != tt.err {
				t.Errorf("matched %v, failed %q, error %q; want %v, %q, %q", matched, failed, text, tt.matched, tt.failed, tt.err)
			}
		})
	}
}

// TestMatchConditionsAsUpstream asks the API server's own code for a second opinion on the table.
func TestMatchConditionsAsUpstream(t *testing.T) {
	compiler := upstreamcel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	for _, tt := range conditionCases {
		t.Run(tt.name, func(t *testing.T) {
			list := conditions(tt.conditions)
			accessors := make([]upstreamcel.ExpressionAccessor, len(list))
			for i := range list {
				accessors[i] = (*matchconditions.MatchCondition)(&list[i])
			}
			in := probe()
			evaluator := compiler.CompileCondition(accessors, upstreamcel.OptionalVariableDeclarations{HasAuthorizer: true}, environment.StoredExpressions)
			result := matchconditions.NewMatcher(evaluator, nil, "webhook", "admit", "test").Match(t.Context(), in.Attributes, nil, in.Authorizer)
			text := ""
			if result.Error != nil {
				text = result.Error.Error()
			}
			if result.Matches != tt.matched || result.FailedConditionName != tt.failed || text != tt.err {
				t.Errorf("matched %v, failed %q, error %q; want %v, %q, %q", result.Matches, result.FailedConditionName, text, tt.matched, tt.failed, tt.err)
			}
		})
	}
}
