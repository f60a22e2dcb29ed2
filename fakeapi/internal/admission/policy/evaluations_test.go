package policy_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/yaml"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/policy"
)

// lines are evaluations, one a line: the param, the expression without spec., and what it came to.
func lines(steps []decision.Step) []string {
	var all []string
	for _, step := range steps {
		for _, e := range step.Evaluations {
			words := []string{e.Param, strings.TrimPrefix(e.Expression, "spec."), string(e.Result), e.Error}
			all = append(all, strings.Join(strings.Fields(strings.Join(words, " ")), " "))
		}
	}
	return all
}

func TestEvaluations(t *testing.T) {
	for _, tt := range []struct {
		name       string
		validating string // policies, bindings, params and request, as in the tables
		mutating   string
		want       []string
	}{
		{
			name: "what is false, and what is not reached",
			validating: `policies: [{spec: {
  variables: [{name: unread, expression: "1"}],
  matchConditions: [{name: a, expression: "true"}, {name: b, expression: "false"}], validations: [{expression: "true"}]}}]`,
			want: []string{"matchConditions[0].expression true", "matchConditions[1].expression false"},
		},
		{
			name: "variables, messages and annotations",
			validating: `policies: [{spec: {
  variables: [{name: fine, expression: "true"}, {name: both, expression: "[variables.fine]"}],
  validations: [{expression: "variables.both == [true]", messageExpression: "'no'"}, {expression: "object.data.missing == ''"}],
  auditAnnotations: [{key: k, valueExpression: "null"}]}}]`,
			want: []string{
				"variables[0].expression true", "variables[1].expression value", "validations[0].expression true",
				"validations[1].expression error expression 'object.data.missing == ''' resulted in error: no such key: missing",
				"validations[0].messageExpression value", "auditAnnotations[0].valueExpression value",
			},
		},
		{
			name: "each param",
			validating: `
policies: [{spec: {paramKind: {apiVersion: v1, kind: ConfigMap}, validations: [{expression: "params.data.v == '1'"}]}}]
bindings: [{spec: {paramRef: {selector: {}, parameterNotFoundAction: Allow}}}]
params: [{name: one, data: {v: "1"}}, {name: two, data: {v: "2"}}]`,
			want: []string{"ns/one validations[0].expression true", "ns/two validations[0].expression false"},
		},
		{
			name: "mutations",
			mutating: `
policies: [{name: p, spec: {
  matchConditions: [{name: a, expression: "has(object.data)"}],
  mutations: [
    {patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{data: {'y': '1'}}"}},
    {patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: 'add', path: '/data/z', value: object.data.y}]"}},
    {patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: 'add', path: '/data/z', value: object.data.missing}]"}}]}}]
bindings: [{name: b, spec: {policyName: p}}]`,
			want: []string{
				"matchConditions[0].expression true", "mutations[0].applyConfiguration.expression value", "mutations[1].jsonPatch.expression value",
				"mutations[2].jsonPatch.expression error expression '[JSONPatch{op: 'add', path: '/data/z', value: object.data.missing}]' resulted in error: no such key: missing",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var steps []decision.Step
			report := func(reported ...decision.Step) { steps = append(steps, reported...) }
			if tt.validating != "" {
				var c validatingCase
				if err := yaml.UnmarshalStrict([]byte(tt.validating), &c); err != nil {
					t.Fatal(err)
				}
				stage := policy.NewValidating(options(validatingWorld(&c)))
				c.run(t, func(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
					return stage.Validate(ctx, a, o, report)
				})
			} else {
				var c mutatingCase
				if err := yaml.UnmarshalStrict([]byte(tt.mutating), &c); err != nil {
					t.Fatal(err)
				}
				stage := policy.NewMutating(options(mutatingWorld(&c)))
				c.run(t, func(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
					return stage.Admit(ctx, a, o, report)
				})
			}
			if diff := cmp.Diff(tt.want, lines(steps)); diff != "" {
				t.Errorf("evaluations (-want +got):\n%s", diff)
			}
		})
	}
}
