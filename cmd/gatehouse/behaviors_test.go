package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

func behaviorsSet(t *testing.T) *fixtures.Set {
	t.Helper()
	set, err := fixtures.Load(fstest.MapFS{
		"behaviors.yaml": {Data: []byte(`
areas:
- {id: rules, title: Rules, description: Which requests match.}
- {id: order, title: Order, description: What comes first.}
- {id: contract, title: Contract, description: What webhooks owe., witness: zoo}
behaviors:
- id: hook.rules.create
  area: rules
  statement: A rule for CREATE matches a create.
  level: must
  kind: documented
  sources: [k8s.io/api RuleWithOperations.operations, the server]
  api: [v1]
  since: "1.30"
  confirmed: v1.37.2
  notes: Not an update.
- {id: hook.rules.update, area: rules, statement: S., level: may, kind: observed, sources: [the server], api: [v1, v1beta1]}
- {id: hook.order, area: order, statement: S., level: must, kind: observed, sources: [the server], api: [v1]}
- {id: contract.generate-name, area: contract, statement: S., level: must, kind: documented, sources: [the server], api: [v1]}
- {id: contract.unseen, area: contract, statement: S., level: should, kind: documented, sources: [the server], api: [v1], notes: cannot be seen from outside.}
- {id: contract.unbroken, area: contract, statement: S., level: must, kind: documented, sources: [the server], api: [v1]}
`)},
		"rules/create.yaml": {Data: []byte(`title: Create
behaviors: [hook.rules.create]
steps:
- create: {apiVersion: v1, kind: ConfigMap, metadata: {name: probe}}
cases:
- name: one
- name: two
`)},
	}, fixtures.Options{Name: "dir"})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestBehaviors(t *testing.T) {
	set := behaviorsSet(t)
	for _, test := range []struct {
		name, area, id string
		want           string
	}{
		{name: "all", want: `rules: Which requests match. (must 1 of 1, may 0 of 1)
  hook.rules.create  must  documented  2 cases
  hook.rules.update  may   observed    no case

order: What comes first. (must 0 of 1)
  hook.order  must  observed  no case

contract: What webhooks owe. (must 1 of 2, should 0 of 1)
  contract.generate-name  must    documented  a webhook that reads the first letter of the name
  contract.unseen         should  documented  cannot be seen from outside
  contract.unbroken       must    documented  no webhook

shown in all: must 2 of 4, should 0 of 1, may 0 of 1
`},
		{name: "area", area: "order", want: `order: What comes first. (must 0 of 1)
  hook.order  must  observed  no case
`},
		{name: "beginning of ids", id: "hook.rules.", want: `rules: Which requests match. (must 1 of 1, may 0 of 1)
  hook.rules.create  must  documented  2 cases
  hook.rules.update  may   observed    no case
`},
		{name: "id", id: "hook.rules.create", want: `hook.rules.create

  A rule for CREATE matches a create.

Area:        rules (Rules)
Level:       must
Kind:        documented, confirmed on kube-apiserver v1.37.2
Applies to:  v1, since Kubernetes 1.30
Ledger:      dir/behaviors.yaml:7:3
Sources:     k8s.io/api RuleWithOperations.operations
             the server
Notes:       Not an update.
Cases:       rules/create/one (dir/rules/create.yaml:6)
             rules/create/two (dir/rules/create.yaml:7)
`},
		{name: "id of a rule", id: "contract.generate-name", want: `contract.generate-name

  S.

Area:        contract (Contract)
Level:       must
Kind:        documented
Applies to:  v1
Ledger:      dir/behaviors.yaml:19:3
Sources:     the server
Broken by:   a webhook that reads the first letter of the name
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := behaviors(set, test.area, test.id, &out); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != test.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, test.want)
			}
		})
	}
}

func TestBehaviorsCommand(t *testing.T) {
	for _, test := range []struct {
		name   string
		args   []string
		stdout string
		err    string
	}{
		{name: "built-in", args: []string{"webhook.rules.operation.create"}, stdout: "fixtures/matching-rules/"},
		{name: "unknown id", args: []string{"webhook.rules.operation.creat3"}, err: `did you mean "webhook.rules.operation.create"?`},
		{name: "unknown area", args: []string{"--area", "matching-rule"}, err: `--area: the ledger has no area "matching-rule"; did you mean "matching-rules"?`},
		{name: "no such directory", args: []string{"--fixtures", "testdata/none"}, err: "testdata/none"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			command := behaviorsCommand()
			command.SetArgs(test.args)
			command.SetOut(&out)
			command.SetErr(&out)
			command.SilenceErrors, command.SilenceUsage = true, true
			err := command.ExecuteContext(context.Background())
			switch {
			case test.err == "" && err != nil:
				t.Fatal(err)
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Fatalf("got error %v, want one with %q", err, test.err)
			case !strings.Contains(out.String(), test.stdout):
				t.Errorf("got:\n%s\nwant it to contain %q", out.String(), test.stdout)
			}
		})
	}
}
