package policy_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/yaml"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/policy"
)

// withoutEvaluations leaves out what evaluations_test.go is about.
var withoutEvaluations = cmpopts.IgnoreFields(decision.Step{}, "Evaluations")

func TestValidatingSteps(t *testing.T) {
	for _, tt := range []struct {
		name  string
		given string // policies, bindings, params and request, as in the tables
		want  []decision.Step
	}{
		{
			name:  "true",
			given: `policies: [{spec: {validations: [{expression: "true"}]}}]`,
			want: []decision.Step{{
				Configuration: "p", Name: "b", Outcome: decision.Allowed, Matched: "resourceRules[0]", Reason: "every validation is true",
			}},
		},
		{
			name: "not matched",
			given: `
policies:
- {name: p, spec: {matchConstraints: {objectSelector: {matchLabels: {app: z}}, resourceRules: [{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"]}]}, validations: [{expression: "false"}]}}
- {name: q, spec: {validations: [{expression: "false"}]}}
bindings: [{spec: {policyName: p}}, {name: c, spec: {policyName: q, matchResources: {objectSelector: {matchLabels: {app: z}}}}}]`,
			want: []decision.Step{
				{
					Configuration: "p", Outcome: decision.Skipped, Matched: "resourceRules[0]",
					Reason: "objectSelector app=z selects neither the object, whose labels are app=a, nor the old object, which is absent",
				},
				{
					Configuration: "q", Name: "c", Outcome: decision.Skipped, Matched: "resourceRules[0]",
					Reason: "the binding does not match: objectSelector app=z selects neither the object, whose labels are app=a, nor the old object, which is absent",
				},
			},
		},
		{
			name:  "a condition is false",
			given: `policies: [{spec: {matchConditions: [{name: never, expression: "false"}], validations: [{expression: "false"}]}}]`,
			want: []decision.Step{{
				Configuration: "p", Name: "b", Outcome: decision.Skipped, Matched: "resourceRules[0]", Reason: `matchConditions "never" is false`,
			}},
		},
		{
			name:  "denied",
			given: `policies: [{spec: {validations: [{expression: "true"}, {expression: "false", message: nope}, {expression: "object.data.y == ''"}]}}]`,
			want: []decision.Step{{
				Configuration: "p", Name: "b", Outcome: decision.Denied, Matched: "resourceRules[0]",
				Reason: "validations[1] failed: nope (validationActions [Deny]); " +
					"validations[2] failed: expression 'object.data.y == ''' resulted in error: no such key: y (validationActions [Deny])",
			}},
		},
		{
			name: "warned",
			given: `
policies: [{spec: {validations: [{expression: "false", message: nope}]}}]
bindings: [{spec: {validationActions: [Warn]}}]`,
			want: []decision.Step{{
				Configuration: "p", Name: "b", Outcome: decision.Allowed, Matched: "resourceRules[0]",
				Reason:   "validations[0] failed: nope (validationActions [Warn])",
				Warnings: []string{"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': nope"},
			}},
		},
		{
			name:  "an error",
			given: `policies: [{spec: {validations: [{expression: "object.data.y == ''"}]}}]`,
			want: []decision.Step{{
				Configuration: "p", Name: "b", Outcome: decision.Failed, Matched: "resourceRules[0]",
				Reason: "validations[0] failed: expression 'object.data.y == ''' resulted in error: no such key: y (validationActions [Deny])",
			}},
		},
		{
			name:  "an error under Ignore",
			given: `policies: [{spec: {failurePolicy: Ignore, validations: [{expression: "object.data.y == ''"}]}}]`,
			want: []decision.Step{{
				Configuration: "p", Name: "b", Outcome: decision.FailedOpen, Matched: "resourceRules[0]",
				Reason: "validations[0] failed: expression 'object.data.y == ''' resulted in error: no such key: y (failurePolicy Ignore)",
			}},
		},
		{
			name: "misconfigured",
			given: `
policies: [{spec: {paramKind: {apiVersion: v1, kind: ConfigMap}, validations: [{expression: "true"}]}}]
bindings: [{spec: {paramRef: {name: one, parameterNotFoundAction: Deny}}}]`,
			want: []decision.Step{{
				Configuration: "p", Name: "b", Outcome: decision.Failed, Matched: "resourceRules[0]",
				Reason: "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
			}},
		},
		{
			name: "for each param",
			given: `
policies: [{spec: {paramKind: {apiVersion: v1, kind: ConfigMap}, matchConditions: [{name: enabled, expression: "params.data.v != '0'"}], validations: [{expression: "params.data.v == '1'"}]}}]
bindings: [{spec: {paramRef: {selector: {}, parameterNotFoundAction: Allow}}}]
params: [{name: skipped, data: {v: "0"}}, {name: right, data: {v: "1"}}, {name: wrong, data: {v: "2"}}]`,
			want: []decision.Step{{
				Configuration: "p", Name: "b", Outcome: decision.Denied, Matched: "resourceRules[0]",
				Reason: `param ns/skipped: matchConditions "enabled" is false; param ns/right: every validation is true; ` +
					"param ns/wrong: validations[0] failed: failed expression: params.data.v == '1' (validationActions [Deny])",
			}},
		},
		{
			name: "no params, allowed",
			given: `
policies: [{spec: {paramKind: {apiVersion: v1, kind: ConfigMap}, validations: [{expression: "false"}]}}]
bindings: [{spec: {paramRef: {selector: {}, parameterNotFoundAction: Allow}}}]`,
			want: []decision.Step{{
				Configuration: "p", Name: "b", Outcome: decision.Skipped, Matched: "resourceRules[0]",
				Reason: "no params were found, and parameterNotFoundAction is Allow",
			}},
		},
		{
			name: "exempt",
			given: `
policies: [{spec: {validations: [{expression: "false"}]}}]
request: {kind: ValidatingAdmissionPolicy}`,
			want: []decision.Step{{
				Outcome: decision.Skipped,
				Reason:  "policies never apply to validatingadmissionpolicies, so that a broken one can always be mended",
			}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c validatingCase
			if err := yaml.UnmarshalStrict([]byte(tt.given), &c); err != nil {
				t.Fatal(err)
			}
			var steps []decision.Step
			stage := policy.NewValidating(options(validatingWorld(&c)))
			c.run(t, func(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
				return stage.Validate(ctx, a, o, func(reported ...decision.Step) { steps = append(steps, reported...) })
			})
			for i := range tt.want {
				tt.want[i].Plugin = "ValidatingAdmissionPolicy"
			}
			if diff := cmp.Diff(tt.want, steps, withoutEvaluations); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMutatingSteps(t *testing.T) {
	c := mutatingCase{}
	if err := yaml.UnmarshalStrict([]byte(`
policies:
- {name: always, spec: {reinvocationPolicy: IfNeeded, mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{data: {'x': object.data.x + 'a'}}"}}]}}
- {name: broken, spec: {failurePolicy: Ignore, mutations: [{patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: 'remove', path: '/data/y'}]"}}]}}
- {name: once, spec: {mutations: [{patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: 'add', path: '/data/y', value: 'b'}]"}}]}}
- {name: same, spec: {mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{}"}}]}}
bindings: [{name: b, spec: {policyName: always}}, {name: b, spec: {policyName: broken}}, {name: b, spec: {policyName: once}}, {name: b, spec: {policyName: same}}]
`), &c); err != nil {
		t.Fatal(err)
	}
	var steps []decision.Step
	stage := policy.NewMutating(options(mutatingWorld(&c)))
	c.run(t, twice(func(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
		return stage.Admit(ctx, a, o, func(reported ...decision.Step) { steps = append(steps, reported...) })
	}))
	const applied = "all mutations were applied"
	const never = "this is the second round, and its reinvocationPolicy is Never"
	want := []decision.Step{
		{Configuration: "always", Outcome: decision.Allowed, Reason: applied, Changes: []string{`replace /data/x "1a"`}},
		{Configuration: "broken", Outcome: decision.FailedOpen, Reason: "mutations[0] failed: JSON Patch: error in remove for path: '/data/y': Unable to remove nonexistent key: y: missing value"},
		{Configuration: "once", Outcome: decision.Allowed, Reason: applied, Changes: []string{`add /data/y "b"`}},
		{Configuration: "same", Outcome: decision.Allowed, Reason: applied},
		{
			Configuration: "always", Outcome: decision.Allowed, Reason: applied, Changes: []string{`replace /data/x "1aa"`},
			Reinvoked: "reinvocationPolicy is IfNeeded, and the object was mutated in the first round",
		},
		{Configuration: "broken", Outcome: decision.Skipped, Reason: never},
		{Configuration: "once", Outcome: decision.Skipped, Reason: never},
		{Configuration: "same", Outcome: decision.Skipped, Reason: never},
	}
	for i := range want {
		want[i].Plugin, want[i].Name, want[i].Matched = "MutatingAdmissionPolicy", "b", "resourceRules[0]"
	}
	if diff := cmp.Diff(want, steps, withoutEvaluations); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// TestConfigurationsTakeEffect changes what is stored between the requests of one stage.
func TestConfigurationsTakeEffect(t *testing.T) {
	c := validatingCase{}
	if err := yaml.UnmarshalStrict([]byte(`policies: [{spec: {validations: [{expression: "false", message: one}]}}]`), &c); err != nil {
		t.Fatal(err)
	}
	w := validatingWorld(&c)
	stage := policy.NewValidating(options(w))
	message := func() string {
		return c.run(t, func(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
			return stage.Validate(ctx, a, o, func(...decision.Step) {})
		}).Message
	}
	denied := func(binding, message string) string {
		return `configmaps "probe" is forbidden: ValidatingAdmissionPolicy 'p' with binding '` + binding + `' denied request: ` + message
	}
	check := func(when, want string) {
		t.Helper()
		if got := message(); got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	check("at first", denied("b", "one"))

	old, oldBinding := w.validatingPolicies[0], w.validatingBindings[0]
	changed := old.DeepCopy()
	changed.Spec.Validations[0].Message = "two"
	w.validatingPolicies = []*admissionregistrationv1.ValidatingAdmissionPolicy{changed}
	check("policy changed", denied("b", "two"))

	w.validatingBindings = nil
	check("binding deleted", "")

	another := oldBinding.DeepCopy()
	another.ObjectMeta = metav1.ObjectMeta{Name: "a"}
	w.validatingBindings = []*admissionregistrationv1.ValidatingAdmissionPolicyBinding{another, oldBinding}
	check("binding made", denied("a", "two"))

	w.validatingPolicies = nil
	check("policy deleted", "")

	w.validatingPolicies = []*admissionregistrationv1.ValidatingAdmissionPolicy{old}
	check("policy made again", denied("a", "one"))
}
