package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

// settleCase changes something in every round, and says what the creation of a ConfigMap must come to once the server acts
// by it. In its texts NAME is the worker's name and namespace, GROUP an API group of its own, and ROUND the round.
type settleCase struct {
	name    string
	settles string // the resource
	setup   string // written once
	write   string // written in every round; deleted in each third instead, if it removes
	removes bool
	probe   string // what is created in the place of a ConfigMap
	acts    string // what the answer holds after a write
	gone    string // what the answer holds after a deletion; "" for a ConfigMap that is admitted
}

var settleCases = []settleCase{
	{
		name: "custom resource definitions", settles: "customresourcedefinitions.apiextensions.k8s.io",
		write: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.GROUP}, spec: {
  group: GROUP, scope: Cluster, names: {plural: things, singular: thing, kind: Thing, listKind: ThingList},
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-validations: [{rule: "false", message: ROUND}]}}}]}}`,
		probe: "{apiVersion: GROUP/v1, kind: Thing, metadata: {name: probe}}", acts: "ROUND",
	},
	{
		name: "validating webhooks", settles: "validatingwebhookconfigurations.admissionregistration.k8s.io", removes: true,
		write: webhookConfiguration("ValidatingWebhookConfiguration", "ROUND"), acts: "no such key: ROUND",
	},
	{
		name: "mutating webhooks", settles: "mutatingwebhookconfigurations.admissionregistration.k8s.io", removes: true,
		write: webhookConfiguration("MutatingWebhookConfiguration", "ROUND"), acts: "no such key: ROUND",
	},
	{
		name: "validating policies", settles: "validatingadmissionpolicies.admissionregistration.k8s.io", removes: true,
		setup: binding("ValidatingAdmissionPolicyBinding", "validationActions: [Deny]"),
		write: policy("ValidatingAdmissionPolicy", `validations: [{expression: "false", message: ROUND}]`), acts: "denied request: ROUND",
	},
	{
		name: "validating bindings", settles: "validatingadmissionpolicybindings.admissionregistration.k8s.io", removes: true,
		setup: policy("ValidatingAdmissionPolicy", `validations: [{expression: "false"}]`),
		write: binding("ValidatingAdmissionPolicyBinding", "validationActions: [Deny], matchResources: {objectSelector: {matchLabels: {round: ROUND}}}"),
		acts:  "denied request",
	},
	{
		name: "mutating policies", settles: "mutatingadmissionpolicies.admissionregistration.k8s.io", removes: true,
		setup: binding("MutatingAdmissionPolicyBinding", ""),
		write: policy("MutatingAdmissionPolicy", `reinvocationPolicy: Never, failurePolicy: Fail,
  mutations: [{patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: 'test', path: '/metadata/name', value: object.metadata.annotations['ROUND']}]"}}]`),
		acts: "no such key: ROUND",
	},
	{
		name: "namespaces", settles: "namespaces",
		setup: policy("ValidatingAdmissionPolicy", `validations: [{expression: "false", messageExpression: "'label ' + namespaceObject.metadata.labels.round"}]`) +
			"\n---\n" + binding("ValidatingAdmissionPolicyBinding", "validationActions: [Deny]"),
		write: "{apiVersion: v1, kind: Namespace, metadata: {name: NAME, labels: {round: ROUND}}}",
		acts:  "denied request: label ROUND",
	},
	{
		name: "params", settles: "configmaps", removes: true,
		setup: policy("ValidatingAdmissionPolicy", `paramKind: {apiVersion: v1, kind: ConfigMap}, validations: [{expression: "false", messageExpression: "'param ' + params.data.round"}]`) +
			"\n---\n" + binding("ValidatingAdmissionPolicyBinding", "validationActions: [Deny], paramRef: {selector: {matchLabels: {param: NAME}}, parameterNotFoundAction: Deny}"),
		write: "{apiVersion: v1, kind: ConfigMap, metadata: {name: param, namespace: NAME, labels: {param: NAME}}, data: {round: ROUND}}",
		acts:  "denied request: param ROUND", gone: "no params found",
	},
	{
		name: "params of a custom resource", settles: "limits.GROUP", removes: true,
		setup: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: limits.GROUP}, spec: {
  group: GROUP, scope: Cluster, names: {plural: limits, singular: limit, kind: Limit, listKind: LimitList},
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {round: {type: string}}, required: [round]}}}]}}` +
			"\n---\n" + policy("MutatingAdmissionPolicy", `paramKind: {apiVersion: GROUP/v1, kind: Limit}, reinvocationPolicy: Never, failurePolicy: Fail,
  mutations: [{patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: 'test', path: '/metadata/name', value: object.metadata.annotations[params.round]}]"}}]`) +
			"\n---\n" + binding("MutatingAdmissionPolicyBinding", "paramRef: {selector: {matchLabels: {param: NAME}}, parameterNotFoundAction: Deny}"),
		write: "{apiVersion: GROUP/v1, kind: Limit, metadata: {name: param, labels: {param: NAME}}, round: ROUND}",
		acts:  "no such key: ROUND", gone: "no params found",
	},
}

func webhookConfiguration(kind, annotation string) string {
	return fmt.Sprintf(`{apiVersion: admissionregistration.k8s.io/v1, kind: %s, metadata: {name: NAME}, webhooks: [{
  name: settle.example.com, clientConfig: {url: "https://127.0.0.1:1/"}, sideEffects: None, admissionReviewVersions: [v1],
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}],
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAME}},
  matchConditions: [{name: fails, expression: "object.metadata.annotations['%s'] == ''"}]}]}`, kind, annotation)
}

func policy(kind, spec string) string {
	return fmt.Sprintf(`{apiVersion: admissionregistration.k8s.io/v1, kind: %s, metadata: {name: NAME}, spec: {
  matchConstraints: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAME}},
    objectSelector: {matchExpressions: [{key: param, operator: DoesNotExist}]},
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]},
  %s}}`, kind, spec)
}

func binding(kind, spec string) string {
	return fmt.Sprintf("{apiVersion: admissionregistration.k8s.io/v1, kind: %s, metadata: {name: NAME}, spec: {policyName: NAME, %s}}", kind, spec)
}

// TestSettleNeverReturnsEarly has workers change things side by side on a real server, and asks after each Settle
// whether the server acts by the change. GATEHOUSE_SETTLE_ROUNDS makes it long.
func TestSettleNeverReturnsEarly(t *testing.T) {
	server := openForTest(t)
	checkSettle(t, server, settleCases, 3)
}

// TestSettleOnFakeAPI does the same with a server that needs no settling, as it is for users who test one by its kubeconfig.
func TestSettleOnFakeAPI(t *testing.T) {
	fake, err := fakeapi.Start(t.Context(), fakeapi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Stop()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, fake.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := Open(t.Context(), Options{Name: Kubeconfig, Kubeconfig: file})
	if err != nil {
		t.Fatal(err)
	}
	withoutCRDs := slices.DeleteFunc(slices.Clone(settleCases), func(c settleCase) bool { return strings.Contains(c.setup, "CustomResourceDefinition") })
	checkSettle(t, server, withoutCRDs, 1)
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	expectNoSentinels(t, dynamic.NewForConfigOrDie(server.RESTConfig()), server.(*clusterTarget).settler.name)
}

// checkSettle runs so many workers for each case, all at once.
func checkSettle(t *testing.T, server Target, cases []settleCase, workers int) {
	rounds := 3
	if text := os.Getenv("GATEHOUSE_SETTLE_ROUNDS"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatalf("GATEHOUSE_SETTLE_ROUNDS=%q: %v", text, err)
		}
	}
	client := dynamic.NewForConfigOrDie(server.RESTConfig())
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discovery.NewDiscoveryClientForConfigOrDie(server.RESTConfig())))
	var group sync.WaitGroup
	for i, test := range cases {
		for n := range workers {
			w := &settleWorker{target: server, client: client, mapper: mapper, name: fmt.Sprintf("settle-%d-%d", i, n), settleCase: test}
			group.Go(func() {
				if err := w.run(t.Context(), rounds); err != nil {
					t.Errorf("%s: %v", test.name, err)
				}
				t.Logf("%s: %v a Settle", test.name, w.took/time.Duration(rounds))
			})
		}
	}
	group.Wait()
}

// settleWorker is one client of a server.
type settleWorker struct {
	settleCase
	target Target
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
	name   string
	took   time.Duration
}

func (w *settleWorker) run(ctx context.Context, rounds int) error {
	for _, object := range strings.Split("{apiVersion: v1, kind: Namespace, metadata: {name: NAME}}\n---\n"+w.setup, "\n---\n") {
		if object == "" {
			continue
		}
		if err := w.apply(ctx, object, 0); err != nil {
			return err
		}
	}
	if err := w.target.Settle(ctx, validatingPolicies.GroupResource(), mutatingPolicies.GroupResource()); err != nil {
		return err
	}
	var errs []error
	for round := range rounds {
		if err := w.round(ctx, round); err != nil {
			errs = append(errs, fmt.Errorf("round %d: %w", round, err))
		}
	}
	return errors.Join(errs...)
}

// round changes something, settles, and asks once.
func (w *settleWorker) round(ctx context.Context, round int) error {
	change, want := w.apply, w.acts
	if w.removes && round%3 == 2 {
		change, want = w.remove, w.gone
	}
	if err := change(ctx, w.write, round); err != nil {
		return err
	}
	began := time.Now()
	if err := w.target.Settle(ctx, schema.ParseGroupResource(w.fill(w.settles, 0))); err != nil {
		return err
	}
	w.took += time.Since(began)

	probe := "{apiVersion: v1, kind: ConfigMap, metadata: {name: probe, namespace: NAME, labels: {round: ROUND}, annotations: {none: ''}}}"
	if w.probe != "" {
		probe = w.probe
	}
	resource, object, err := w.resource(ctx, probe, round)
	if err != nil {
		return err
	}
	_, err = resource.Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	got := ""
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		whole, _ := json.Marshal(status.Status())
		got = string(whole)
	} else if err != nil {
		return err
	}
	if want = w.fill(want, round); !strings.Contains(got, want) || want == "" && got != "" {
		return fmt.Errorf("the server answers %q, want %q", got, want)
	}
	return nil
}

func (w *settleWorker) fill(text string, round int) string {
	group := w.name + ".a-group-whose-name-is-longer-than-what-labels-can-hold.example.com"
	return strings.NewReplacer("NAME", w.name, "GROUP", group, "ROUND", fmt.Sprintf("r%04d", round)).Replace(text)
}

func (w *settleWorker) resource(ctx context.Context, text string, round int) (dynamic.ResourceInterface, *unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(w.fill(text, round)), &object.Object); err != nil {
		return nil, nil, fmt.Errorf("%w in %s", err, text)
	}
	var mapping *meta.RESTMapping
	// A custom resource is served a moment late.
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		var err error
		gvk := object.GroupVersionKind()
		if mapping, err = w.mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
			w.mapper.Reset()
		}
		return err == nil, nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("find the resource of %s: %w", object.GroupVersionKind(), err)
	}
	return w.client.Resource(mapping.Resource).Namespace(object.GetNamespace()), object, nil
}

func (w *settleWorker) apply(ctx context.Context, text string, round int) error {
	resource, object, err := w.resource(ctx, text, round)
	if err == nil {
		_, err = resource.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "test", Force: true})
	}
	return err
}

func (w *settleWorker) remove(ctx context.Context, text string, round int) error {
	resource, object, err := w.resource(ctx, text, round)
	if err == nil {
		err = resource.Delete(ctx, object.GetName(), metav1.DeleteOptions{})
	}
	return err
}

// expectNoSentinels wants nothing of the settler to be left.
func expectNoSentinels(t *testing.T, client dynamic.Interface, settler string) {
	t.Helper()
	for _, gvr := range []schema.GroupVersionResource{namespaces, validatingWebhooks, mutatingWebhooks, validatingPolicies, validatingBindings, mutatingPolicies, mutatingBindings, clusterRoles, clusterRoleBindings, priorityClasses, definitions} {
		list, err := client.Resource(gvr).List(t.Context(), metav1.ListOptions{LabelSelector: ownerLabel + "=" + settler})
		if err != nil {
			t.Error(err)
			continue
		}
		for _, left := range list.Items {
			if left.GetDeletionTimestamp() == nil {
				t.Errorf("%s %s is left", gvr.Resource, left.GetName())
			}
		}
	}
}
