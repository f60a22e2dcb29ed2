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

// TestParts shows of which expressions the record tells the parts.
func TestParts(t *testing.T) {
	const policies = `policies: [{spec: {
  matchConditions: [{name: a, expression: "1 < 2"}],
  variables: [{name: two, expression: "1 + 1"}],
  validations: [
    {expression: "variables.two == 2", messageExpression: "'a' + 'b'"},
    {expression: "variables.two == 3"},
    {expression: "object.data.missing == ''"}],
  auditAnnotations: [{key: k, valueExpression: "'a' + object.data.missing"}]}}]`
	for _, tt := range []struct {
		all  bool
		want []string
	}{
		{false, []string{
			"spec.validations[1].expression: variables.two == 3: 2 == 3 is false",
			`spec.validations[2].expression: object.data.missing == "" is no such key: missing`,
			`spec.auditAnnotations[0].valueExpression: "a" + object.data.missing is no such key: missing`,
		}},
		{true, []string{
			"spec.matchConditions[0].expression: 1 < 2 is true",
			"spec.variables[0].expression: 1 + 1 is 2",
			"spec.validations[0].expression: variables.two == 2: 2 == 2 is true",
			"spec.validations[1].expression: variables.two == 3: 2 == 3 is false",
			`spec.validations[2].expression: object.data.missing == "" is no such key: missing`,
			`spec.validations[0].messageExpression: "a" + "b" is "ab"`,
			`spec.auditAnnotations[0].valueExpression: "a" + object.data.missing is no such key: missing`,
		}},
	} {
		var c validatingCase
		if err := yaml.UnmarshalStrict([]byte(policies), &c); err != nil {
			t.Fatal(err)
		}
		configured := options(validatingWorld(&c))
		configured.TraceAll = tt.all
		stage := policy.NewValidating(configured)
		var got []string
		c.run(t, func(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
			return stage.Validate(ctx, a, o, func(steps ...decision.Step) {
				for _, step := range steps {
					for _, e := range step.Evaluations {
						for _, part := range e.Parts {
							text := strings.TrimSuffix(part.Expression+": "+part.Filled, ": ")
							got = append(got, e.Expression+": "+text+" is "+part.Value)
						}
					}
				}
			})
		})
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("all %v: parts (-want +got):\n%s", tt.all, diff)
		}
	}
}
