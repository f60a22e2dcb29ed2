package cel

import (
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	upstreamcel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/environment"
)

// costs are what expressions cost, function by function, in units of which one expression may spend a million. What is not
// charged by the size of its arguments costs one unit, and so does each comparison and each field that is read.
var costs = []struct {
	expression string
	cost       int64
}{
	{"'ABCDEFGHIJKLMNOPQRSTUVWXYZ'.lowerAscii() != ''", 3},
	{"'abcdefghijklmnopqrstuvwxyz'.upperAscii() != ''", 3},
	{"'abcdefghijklmnopqrstuvwxyz'.replace('a', 'b') != ''", 6},
	{"'abcdefghijklmnopqrstuvwxyz'.split('k').size() == 2", 8},
	{"['abcdefghijklm', 'nopqrstuvwxyz'].join() != ''", 6},
	{"'abcdefghijklmnopqrstuvwxyz'.substring(1) != ''", 3},
	{"'abcdefghijklmnopqrstuvwxyz'.trim() != ''", 3},
	{"'abcdefghijklmnopqrstuvwxyz'.charAt(1) == 'b'", 2},
	{"'abcdefghijklmnopqrstuvwxyz'.indexOf('z') == 25", 3},
	{"'abcdefghijklmnopqrstuvwxyz'.lastIndexOf('a') == 0", 3},
	{"'abcdefghijklmnopqrstuvwxyz'.contains('z')", 3},
	{"'abcdefghijklmnopqrstuvwxyz'.startsWith('abcdefghijkl')", 2},
	{"'abcdefghijklmnopqrstuvwxyz'.matches('^[a-z]+$')", 6},
	{"'abcdefghijklmnopqrstuvwxyz'.find('[m-z]+') != ''", 6},
	{"'abcdefghijklmnopqrstuvwxyz'.findAll('[m-z]+').size() == 1", 8},
	{"'%s and %d'.format(['abcdefghijklmnopqrstuvwxyz', 1]) != ''", 1},
	{"[1, 2, 3, 4].sum() == 10", 5},
	{"[1, 2, 3, 4].min() == 1", 5},
	{"[1, 2, 3, 4].max() == 4", 5},
	{"[1, 2, 3, 4].isSorted()", 4},
	{"['abcdefghijklm', 'nopqrstuvwxyz'].isSorted()", 2},
	{"[1, 2, 3, 4].indexOf(3) == 2", 5},
	{"[1, 2, 3, 4].lastIndexOf(3) == 2", 5},
	{"[1, 2, 3, 4].slice(1, 3).size() == 2", 15},
	{"[1, 2, 3, 4].distinct().size() == 4", 45},
	{"[1, 2, 3, 4].reverse().size() == 4", 17},
	{"[1, 2, 3, 4].sort().size() == 4", 45},
	{"[[1, 2], [3, 4]].flatten().size() == 4", 15},
	{"lists.range(4).size() == 4", 17},
	{"sets.contains([1, 2, 3, 4], [1, 2])", 9},
	{"sets.intersects([1, 2, 3, 4], [4, 5])", 9},
	{"sets.equivalent([1, 2, 3, 4], [4, 3, 2, 1])", 33},
	{"[1, 2, 3, 4].all(i, v, i < v)", 25},
	{"[1, 2, 3, 4].transformList(i, v, i + v).size() == 4", 63},
	{"{'a': 1, 'b': 2}.transformMap(k, v, v + 1).size() == 2", 13},
	{"isURL('https://example.com:80/path')", 1},
	{"url('https://example.com:80/path').getHost() != ''", 4},
	{"isQuantity('1000000000000Gi')", 2},
	{"quantity('1000000000000').isGreaterThan(quantity('1'))", 4},
	{"quantity('1').add(quantity('2')).sub(1).asInteger() == 2", 6},
	{"isIP('2001:db8:0:0:0:0:0:1')", 2},
	{"ip('2001:db8:0:0:0:0:0:1').family() == 6", 4},
	{"ip.isCanonical('2001:db8::1')", 3},
	{"isCIDR('2001:db8::/32')", 2},
	{"cidr('2001:db8::/32').containsIP('2001:db8::1')", 5},
	{"cidr('2001:db8::/32').containsIP(ip('2001:db8::1'))", 5},
	{"cidr('2001:db8::/32').containsCIDR('2001:db8::/64')", 7},
	{"cidr('2001:db8::/32').masked().prefixLength() == 32", 5},
	{"format.dns1123Label().validate('abcdefghijklmnopqrstuvwxyz').hasValue()", 26},
	{"format.named('uuid').hasValue()", 2},
	{"isSemver('1.2.3-alpha.1')", 2},
	{"semver('1.2.3').isLessThan(semver('1.2.4'))", 3},
	{"semver('1.2.3').minor() == 2", 3},
	{"object.?data.x.orValue('') == 'new'", 4},
	{"[1, 2][?2].hasValue()", 2},
	{"authorizer.path('/x').check('get').errored()", 350003},
	{"authorizer.group('').resource('pods').fieldSelector('a=b').namespace('ns').check('list').allowed()", 350116},
	{"authorizer.group('').resource('pods').labelSelector('a=b,c').namespace('ns').check('list').allowed()", 350166},
	{"authorizer.serviceAccount('ns', 'sa').path('/x').check('get').reason() == ''", 350004},
	{"timestamp('2001-02-03T04:05:06Z').getFullYear() == 2001", 2},
	{"duration('90s').getSeconds() == 90", 2},
	{"string(object.metadata.name) == 'probe'", 5},
	{"object.metadata.name.size() == 5 && object.data.x != oldObject.data.x", 12},
}

func TestCosts(t *testing.T) {
	var scope *Scope
	for _, tt := range costs {
		compiled := NewScope(false).Compile(tt.expression, Validation, Stored)
		if compiled.Err != nil {
			t.Errorf("%s: %v", tt.expression, compiled.Err)
			continue
		}
		evaluation := scope.Evaluate(t.Context(), probe(), PolicyBudget)
		if result, err := evaluation.Eval(t.Context(), compiled); err != nil || result.Err != nil {
			t.Errorf("%s: %v, %v", tt.expression, result.Err, err)
		}
		if cost := PolicyBudget - evaluation.Budget(); cost != tt.cost {
			t.Errorf("%s costs %d, want %d", tt.expression, cost, tt.cost)
		}
	}
}

// TestCostsAsUpstream asks the API server's own code for a second opinion on the table.
func TestCostsAsUpstream(t *testing.T) {
	compiler := upstreamcel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	in := probe()
	for _, tt := range costs {
		accessors := []upstreamcel.ExpressionAccessor{&validating.ValidationCondition{Expression: tt.expression}}
		evaluator := compiler.CompileCondition(accessors, upstreamcel.OptionalVariableDeclarations{HasAuthorizer: true}, environment.StoredExpressions)
		results, left, err := evaluator.ForInput(t.Context(), in.Attributes, &admissionv1.AdmissionRequest{},
			upstreamcel.OptionalVariableBindings{Authorizer: in.Authorizer}, in.Namespace, PolicyBudget)
		if err != nil || len(results) != 1 || results[0].Error != nil {
			t.Errorf("%s: %+v, %v", tt.expression, results, err)
		}
		if cost := PolicyBudget - left; cost != tt.cost {
			t.Errorf("%s costs %d, want %d", tt.expression, cost, tt.cost)
		}
	}
}
