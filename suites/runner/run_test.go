package runner

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
)

func TestRun(t *testing.T) {
	const configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: y}}"
	const node = "{apiVersion: v1, kind: Node, metadata: {name: '${case}-node', labels: '${caseLabels}'}}"
	for name, test := range map[string]struct {
		file    string
		prepare func(*apiServer, *fakeTarget)
		outcome reports.Outcome
		at      []string // step, path and line of the failures
		message string   // in the first one
		steps   []string // the transcript's
		settled []string
	}{
		"a case that passes": {
			file: `
setup:
- ` + node + `
steps:
- create: ` + configMap + `
  id: first
  expect: {code: 201, object: {data: {x: "y"}}, assert: [object.metadata.name == 'a'], stored: {data: {x: "y"}}}
- get: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
  expect: {object: {metadata: {uid: "${steps.first.object.metadata.uid}"}}}
- delete: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
  expect: {stored: false}
- get: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
  expect: {error: {code: 404, reason: NotFound, details: {name: a, kind: configmaps}}}
`,
			outcome: reports.Pass,
		},
		"a step that is not as expected ends the case": {
			file: `
steps:
- create: ` + configMap + `
- create: {apiVersion: v1, kind: Secret, metadata: {name: a}, data: {x: "y"}}
  expect:
    object: {data: {x: z}}
    stored: false
- delete: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			outcome: reports.Fail, at: []string{"steps[1] expect.object.data.x 6", "steps[1] expect.stored 7"}, message: "has another value",
			steps: []string{"steps[0]", "steps[1]"},
		},
		"a setup that is refused": {
			file: `
setup:
- ` + node + `
- ` + configMap + `
steps:
- get: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			prepare: func(s *apiServer, _ *fakeTarget) { s.refuse = "configmaps" },
			outcome: reports.Fail, at: []string{"setup[1]  4"}, message: "the object was refused with code 403: no", steps: []string{"setup[0]", "setup[1]"},
		},
		"a namespace that is refused": {
			file:    "steps: [{create: " + configMap + "}]",
			prepare: func(s *apiServer, _ *fakeTarget) { s.refuse = "namespaces" },
			outcome: reports.Error, at: []string{"namespace  4"}, message: "making the case's namespace: POST /api/v1/namespaces: code 403: no",
		},
		"a kind that is not served": {
			file:    "steps: [{create: {apiVersion: v1, kind: Thing, metadata: {name: '${case}'}}}]",
			outcome: reports.Error, at: []string{"steps[0]  2"}, message: "/v1, Kind=Thing is not served",
		},
		"a server that dies": {
			file:    "steps: [{create: " + configMap + "}]",
			prepare: func(s *apiServer, _ *fakeTarget) { s.dieAt = "configmaps" },
			outcome: reports.Error, at: []string{"steps[0]  2"}, message: "the API server no longer answers", steps: []string{"steps[0]"},
		},
		"a target that cannot settle": {
			file:    "steps: [{create: " + webhookConfiguration + "}]",
			prepare: func(_ *apiServer, t *fakeTarget) { t.settleErr = errors.New("too slow") },
			outcome: reports.Error, at: []string{"steps[0]  2"}, message: "waiting until configurations take effect: too slow", steps: []string{"steps[0]"},
			settled: []string{"validatingwebhookconfigurations.admissionregistration.k8s.io"},
		},
		"what the target cannot do": {
			file: "needs: [controllers]\nsteps: [{create: " + configMap + "}]", outcome: reports.NotRun, message: "controllers: the target cannot run kube-controller-manager",
		},
		"a later version": {
			file: "since: \"1.40\"\nsteps: [{create: " + configMap + "}]", outcome: reports.NotRun, message: "applies to Kubernetes 1.40 and later, the target is v1.37.2",
		},
		"a step that the target cannot do": {
			file: `
steps:
- {get: {apiVersion: v1, kind: Namespace, metadata: {name: "${namespace}"}}}
- {needs: [nodes], create: ` + configMap + `}
`,
			outcome: reports.Pass, message: "steps[1]: nodes: the target cannot run pods",
		},
		"writes that act late are waited for": {
			file: `
setup:
- ` + configMap + `
- {apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: "${case}"}, spec: {paramKind: {apiVersion: v1, kind: ConfigMap}, matchConstraints: {resourceRules: [], namespaceSelector: "${thisNamespace}"}}}
steps:
- create: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "${case}", labels: "${caseLabels}"}}
- create: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: "${case}", labels: "${caseLabels}"}}
- update: ` + configMap + `
- update: ` + configMap + `
  dryRun: true
- create: {apiVersion: v1, kind: Secret, metadata: {name: a}}
`,
			outcome: reports.Pass,
			settled: []string{
				"configmaps validatingadmissionpolicies.admissionregistration.k8s.io",
				"clusterrolebindings.rbac.authorization.k8s.io clusterroles.rbac.authorization.k8s.io roles.rbac.authorization.k8s.io",
				"configmaps",
			},
		},
		"a kind of params that is defined after the policy is waited for": {
			file: `
setup:
- {apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: "${case}"}, spec: {paramKind: {apiVersion: "${case}.example.com/v1", kind: Limit}, matchConstraints: {resourceRules: [], namespaceSelector: "${thisNamespace}"}}}
steps:
- create: ` + configMap + `
- create: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: "limits.${case}.example.com"}, spec: {group: "${case}.example.com", names: {plural: limits, kind: Limit}, versions: [{name: v1, served: true}]}}
- create: {apiVersion: v1, kind: Secret, metadata: {name: a}}
`,
			outcome: reports.Pass,
			settled: []string{
				"validatingadmissionpolicies.admissionregistration.k8s.io",
				"limits.${case}.example.com",
			},
		},
		"users get their rights": {
			file: `
steps:
- get: {apiVersion: v1, kind: Namespace, metadata: {name: "${namespace}"}}
  user: {name: "${case}-user", groups: [devs], extra: {example.com/a: [b]}}
  expect: {assert: ["headers['seen-user'][0].endsWith('-user') && headers['seen-group'][0] == 'devs'"]}
- get: {apiVersion: v1, kind: Namespace, metadata: {name: "${namespace}"}}
  user: {name: "${case}-user", groups: [others]}
- get: {apiVersion: v1, kind: Namespace, metadata: {name: "${namespace}"}}
  user: {name: "${case}-user", allow: [{verbs: [get], apiGroups: [""], resources: [namespaces]}]}
- get: {apiVersion: v1, kind: Namespace, metadata: {name: "${namespace}"}}
  user: {name: '${case}-nobody', allow: []}
- get: {apiVersion: v1, kind: Namespace, metadata: {name: "${namespace}"}}
  user: {name: "${case}-root", groups: ["system:masters"]}
`,
			outcome: reports.Pass,
			settled: []string{
				"clusterrolebindings.rbac.authorization.k8s.io clusterroles.rbac.authorization.k8s.io",
				"clusterrolebindings.rbac.authorization.k8s.io clusterroles.rbac.authorization.k8s.io",
			},
		},
		"eventually": {
			file: `
steps:
- http: {path: /counter}
  eventually: true
  expect: {assert: [object.count >= 3]}
`,
			outcome: reports.Pass,
		},
		"audit annotations": {
			file: `
steps:
- create: ` + configMap + `
  expect: {auditAnnotations: {a: "1", b: null}}
- create: {apiVersion: v1, kind: Secret, metadata: {name: a}}
  expect: {auditAnnotations: {a: "2"}}
`,
			outcome: reports.Fail, at: []string{"steps[1] expect.auditAnnotations.a 6"}, message: "is 1", steps: []string{"steps[0]", "steps[1]"},
		},
		"an object past the API": {
			file: `
steps:
- raw: ` + configMap + `
- get: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
  expect: {object: {data: {x: "y"}}}
`,
			outcome: reports.Pass,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server, under := newAPIServer(t)
			if test.prepare != nil {
				test.prepare(server, under)
			}
			s, err := New(under, nil)
			if err != nil {
				t.Fatal(err)
			}
			result := Run(t.Context(), s, caseOf(t, test.file))
			checkResult(t, result, test.outcome, test.at, test.message)
			var steps []string
			for _, step := range result.Transcript {
				steps = append(steps, step.Step)
				if step.Code != 0 && step.Decision != "decided on "+step.AuditID {
					t.Errorf("%s: decision %q on %s", step.Step, step.Decision, step.AuditID)
				}
			}
			if diff := cmp.Diff(test.steps, steps); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
			for i, resources := range under.settled { // a group may have the case's name in its own
				under.settled[i] = regexp.MustCompile(`\bone-[a-z0-9]{6}`).ReplaceAllLiteralString(resources, "${case}")
			}
			if diff := cmp.Diff(test.settled, under.settled); diff != "" {
				t.Errorf("waited for (-want +got):\n%s", diff)
			}
			if left := server.left(); len(left) > 0 && server.dieAt == "" {
				t.Errorf("left over: %v", left)
			}
		})
	}
}

const webhookConfiguration = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: "${case}"}, webhooks: []}`

func checkResult(t *testing.T, result reports.Result, outcome reports.Outcome, at []string, message string) {
	t.Helper()
	if result.Outcome != outcome {
		t.Fatalf("outcome %s, want %s; %+v", result.Outcome, outcome, result.Failures)
	}
	var places []string
	for _, f := range result.Failures {
		places = append(places, strings.Join([]string{f.Step, f.Path, itoa(f.Line)}, " "))
	}
	if diff := cmp.Diff(at, places); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	said := result.Reason + strings.Join(result.LeftOut, "")
	if len(result.Failures) > 0 {
		said = result.Failures[0].Message
	}
	if !strings.Contains(said, message) {
		t.Errorf("said %q, want %q in it", said, message)
	}
}

func TestRunInterrupted(t *testing.T) {
	server, under := newAPIServer(t)
	s, err := New(under, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	server.at = func(line string) {
		if strings.HasPrefix(line, "POST /api/v1/nodes") {
			cancel(errors.New("enough"))
		}
	}
	result := Run(ctx, s, caseOf(t, `
steps:
- create: {apiVersion: v1, kind: Node, metadata: {name: "${case}", labels: "${caseLabels}"}}
- create: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`))
	at := "steps[0]  3"
	if len(result.Failures) == 1 && result.Failures[0].Step == "steps[1]" {
		at = "steps[1]  4" // the answer came before the interruption was noticed
	}
	checkResult(t, result, reports.Error, []string{at}, "interrupted (enough)")
	if left := server.left(); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestRunLeavesSomethingOver(t *testing.T) {
	for _, test := range []struct {
		name, expect string
		outcome      reports.Outcome
		messages     []string
	}{
		{name: "nothing else is wrong", expect: "{code: 201}", outcome: reports.Error, messages: []string{"is left over"}},
		{name: "the case found a fault", expect: "{code: 200}", outcome: reports.Fail, messages: []string{"code", "is left over"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, under := newAPIServer(t)
			s, err := New(under, nil)
			if err != nil {
				t.Fatal(err)
			}
			server.at = func(line string) {
				if strings.HasPrefix(line, "DELETE /api/v1/nodes") {
					server.die()
				}
			}
			result := Run(t.Context(), s, caseOf(t, `
steps:
- create: {apiVersion: v1, kind: Node, metadata: {name: "${case}", labels: "${caseLabels}"}}
  expect: `+test.expect+`
`))
			if result.Outcome != test.outcome || len(result.Failures) != len(test.messages) {
				t.Fatalf("outcome %s, %+v; want %s with %d failures", result.Outcome, result.Failures, test.outcome, len(test.messages))
			}
			for i, message := range test.messages {
				if !strings.Contains(result.Failures[i].Message, message) {
					t.Errorf("failure %d is %q, want one about %q", i, result.Failures[i].Message, message)
				}
			}
		})
	}
}

func TestDeadError(t *testing.T) {
	server, under := newAPIServer(t)
	s, err := New(under, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Alive(t.Context()); err != nil {
		t.Errorf("a server that serves: %v", err)
	}
	server.die()
	var dead *DeadError
	if err := s.Alive(t.Context()); !errors.As(err, &dead) || dead.Log != "last line" {
		t.Errorf("a server that died: %v, want a *DeadError with the log", err)
	}
}

func TestNewRefusesAVersionThatIsNone(t *testing.T) {
	_, under := newAPIServer(t)
	under.version = "unknown"
	if _, err := New(under, nil); err == nil {
		t.Error("no error")
	}
}

func TestEveryNeedHasWords(t *testing.T) {
	needs := []fixtures.Need{
		fixtures.NeedHooks, fixtures.NeedAudit, fixtures.NeedRawStore, fixtures.NeedControllers, fixtures.NeedRestart,
		fixtures.NeedNodes, fixtures.NeedInTreePlugins, fixtures.NeedLegacyWorkloads, fixtures.NeedV1beta1Configurations,
	}
	for _, need := range needs {
		if abilities[need] == "" {
			t.Errorf("%s has none", need)
		}
	}
	if len(abilities) != len(needs) {
		t.Errorf("%d needs have words, want %d", len(abilities), len(needs))
	}
}
