package lint_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fakeapi/manifest"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/lint"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
)

// base is a configuration that nothing is wrong with; FIELDS stands for more fields of the webhook.
const base = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: test, annotations: {cert-manager.io/inject-ca-from: ns/webhook}}
webhooks:
- name: widgets.test.example.com
  clientConfig: {service: {name: webhook, namespace: ns, path: /validate}}
  sideEffects: None
  admissionReviewVersions: [v1]
  rules:
  - RULE
  FIELDS
`

// definition is a custom resource in two versions that are served, and one that is not.
const definition = `
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: knobs.knobs.example.com}
spec:
  group: knobs.example.com
  scope: Namespaced
  names: {plural: knobs, kind: Knob}
  versions:
  - {name: v1, served: true, storage: true}
  - {name: v1beta1, served: true, storage: false}
  - {name: v1alpha1, served: false, storage: false}
`

// The whole table of what each rule finds is the zoo; here is what they must not find.
func TestCheck(t *testing.T) {
	const widgets = `{operations: [CREATE], apiGroups: [example.com], apiVersions: [v1], resources: [widgets]}`
	const knobs = `{operations: [CREATE], apiGroups: [knobs.example.com], apiVersions: [v1], resources: [knobs]}`
	const pods = `{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}`
	for _, test := range []struct {
		name, rule, fields string
		want               []string // RULE: PATH
	}{
		{"custom resources need no excluded namespaces", widgets, "", nil},
		{"pods do", pods, "", []string{"does-not-block-itself: webhooks[0].namespaceSelector", "namespace-exclusion: webhooks[0].namespaceSelector"}},
		{"but not when the webhook fails open", pods, "failurePolicy: Ignore", nil},
		{"or when it selects namespaces that opt in", pods, "namespaceSelector: {matchLabels: {guarded: 'yes'}}", nil},
		{"or when both are excluded", pods, "namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [ns, kube-system]}]}", nil},
		{"or when a condition looks at the namespace", pods, "matchConditions: [{name: a, expression: \"!(request.namespace in ['ns', 'kube-system'])\"}]", nil},
		{"deletions do not keep anything from starting", strings.Replace(pods, "CREATE", "DELETE", 1), "", nil},
		{"cluster-scoped kinds are in no namespace", strings.Replace(pods, "pods", "namespaces", 1), "", nil},
		{"a rule of cluster scope matches nothing in one", strings.Replace(pods, "resources: [pods]", "resources: ['*'], scope: Cluster", 1), "", []string{"narrow-rules: webhooks[0].rules[0]"}},
		{"Exact with all versions is no gap", strings.Replace(widgets, "[v1]", "['*']", 1), "matchPolicy: Exact", nil},
		{"Equivalent is the default", widgets, "", nil},
		{"Exact with all versions that a custom resource is served in is no gap", strings.Replace(knobs, "[v1]", "[v1, v1beta1]", 1), "matchPolicy: Exact", nil},
		{"Exact with some is", knobs, "matchPolicy: Exact", []string{"match-policy-equivalent: webhooks[0].matchPolicy"}},
		{"Exact with versions that nobody can know all of is", widgets, "matchPolicy: Exact", []string{"match-policy-equivalent: webhooks[0].matchPolicy"}},
		{"Equivalent converts to the version that is named", knobs, "", nil},
		{"even when that is not served", strings.Replace(knobs, "[v1]", "[v1alpha1]", 1), "", nil},
		{"but not to one that is not there", strings.Replace(knobs, "[v1]", "[v2]", 1), "", []string{"versions-there: webhooks[0].rules[0].apiVersions"}},
		{"one that is there among others is enough", strings.Replace(knobs, "[v1]", "[v2, v1]", 1), "", nil},
		{"nothing is converted for Exact", strings.Replace(knobs, "[v1]", "[v1alpha1]", 1), "matchPolicy: Exact", []string{"match-policy-equivalent: webhooks[0].matchPolicy", "versions-there: webhooks[0].rules[0].apiVersions"}},
		{"an objectSelector of a webhook that fails open guards nothing", widgets, "failurePolicy: Ignore\n  objectSelector: {matchLabels: {a: b}}", nil},
		{"CONNECT for exec", `{operations: [CONNECT], apiGroups: [""], apiVersions: [v1], resources: [pods/exec]}`, "", nil},
		{"ten seconds are the default", widgets, "timeoutSeconds: 10", nil},
		{"eleven are long", widgets, "timeoutSeconds: 11", []string{"timeout-small: webhooks[0].timeoutSeconds"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := strings.NewReplacer("RULE", test.rule, "FIELDS", test.fields).Replace(base) + definition
			objects, err := manifest.Parse("test.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			set, err := manifests.Sort(objects)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range lint.Check(set, time.Now()) {
				got = append(got, strings.TrimPrefix(f.Rule, "contract.registration.")+": "+f.Path)
				if f.Place != "test.yaml:2" || f.Message == "" {
					t.Errorf("%+v", f)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
