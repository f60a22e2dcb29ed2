package admission_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
)

func TestHalvesInOrder(t *testing.T) {
	server := newHookServer(t, map[string]answer{"m": label("m", "1"), "v": when("m", "1", allow), "w": when("m", "1", deny("seen"))})
	c := newChain(t, &sources{
		mutating:   []*admissionregistrationv1.MutatingWebhookConfiguration{server.mutating("m")},
		validating: []*admissionregistrationv1.ValidatingWebhookConfiguration{server.validating("w")},
	})
	got := run(t, c, request{object: configMap()})
	if calls := server.called(); !slices.Equal(calls, []string{"m", "w"}) {
		t.Errorf("called %v", calls)
	}
	if !strings.Contains(errorText(got.err), "seen") {
		t.Errorf("error %v: the validating webhook did not see the mutating one's change", got.err)
	}
}

func TestReview(t *testing.T) {
	server := newHookServer(t, map[string]answer{"m": allow})
	c := newChain(t, &sources{mutating: []*admissionregistrationv1.MutatingWebhookConfiguration{server.mutating("m")}})
	run(t, c, request{operation: admission.Update, object: configMap("new", "1"), old: configMap("old", "1"), dryRun: true})
	run(t, c, request{operation: admission.Delete, old: configMap("old", "1")})

	if len(server.calls) != 2 {
		t.Fatalf("%d calls, want 2", len(server.calls))
	}
	got := server.calls[0].request
	want := map[string]any{
		"uid": "review-1", "operation": "UPDATE", "name": "probe", "namespace": "default", "dryRun": true,
		"kind":            map[string]any{"group": "", "version": "v1", "kind": "ConfigMap"},
		"requestKind":     map[string]any{"group": "", "version": "v1", "kind": "ConfigMap"},
		"resource":        map[string]any{"group": "", "version": "v1", "resource": "configmaps"},
		"requestResource": map[string]any{"group": "", "version": "v1", "resource": "configmaps"},
		"userInfo":        map[string]any{"username": "alice", "groups": []any{"system:authenticated"}},
		"options":         map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions"},
		"object": map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
			"name": "probe", "namespace": "default", "labels": map[string]any{"kept": "1", "new": "1"}}},
		"oldObject": map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
			"name": "probe", "namespace": "default", "labels": map[string]any{"kept": "1", "old": "1"}}},
	}
	if diff := cmp.Diff(want, asMap(t, got)); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if server.calls[0].query != "timeout=10s" || server.calls[0].proto != "HTTP/2.0" {
		t.Errorf("query %q over %s", server.calls[0].query, server.calls[0].proto)
	}
	deletion := asMap(t, server.calls[1].request)
	if deletion["object"] != nil || deletion["oldObject"] == nil || deletion["dryRun"] != false || deletion["uid"] != "review-2" {
		t.Errorf("request of the deletion: %v", deletion)
	}
}

func asMap(t *testing.T, value any) map[string]any {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var decoded map[string]any
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}

func TestWarningsAndAnnotations(t *testing.T) {
	says := func(then answer, warning string, annotations map[string]string) answer {
		return func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			response := then(r)
			response.Warnings, response.AuditAnnotations = []string{warning}, annotations
			return response
		}
	}
	broken := func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{UID: "wrong", Allowed: true, Warnings: []string{"never seen"}}
	}
	server := newHookServer(t, map[string]answer{
		"a": says(label("a", "1"), "from a", map[string]string{"key": "1", "not a key": "2"}),
		"b": says(deny("never called"), "", nil),
		"c": broken,
		"v": says(allow, "from v", map[string]string{"key": "v"}),
		"w": says(deny("no"), "from w", map[string]string{"key": "w"}),
	})
	c := newChain(t, &sources{
		mutating: []*admissionregistrationv1.MutatingWebhookConfiguration{
			server.mutating("a", ifNeeded), server.mutating("b", selecting("never", "there")), server.mutating("c", ignoring),
		},
		validating: []*admissionregistrationv1.ValidatingWebhookConfiguration{
			server.validating("v"), server.validating("w"),
			server.validating("c", func(w *admissionregistrationv1.ValidatingWebhook) {
				w.FailurePolicy = ptr(admissionregistrationv1.Ignore)
			}),
		},
	})
	got := run(t, c, request{object: configMap()})
	if want := []string{"from a", "from v", "from w"}; !slices.Equal(got.warnings, want) {
		t.Errorf("warnings %q, want %q", got.warnings, want)
	}
	want := map[string]string{
		"a.example.com/key": "1",
		"v.example.com/key": "v",
		"w.example.com/key": "w",
		"mutation.webhook.admission.k8s.io/round_0_index_0":               `{"configuration":"a","webhook":"a.example.com","mutated":true}`,
		"mutation.webhook.admission.k8s.io/round_0_index_2":               `{"configuration":"c","webhook":"c.example.com","mutated":false}`,
		"patch.webhook.admission.k8s.io/round_0_index_0":                  `{"configuration":"a","webhook":"a.example.com","patch":[{"op":"add","path":"/metadata/labels/a","value":"1"}],"patchType":"JSONPatch"}`,
		"failed-open.mutation.webhook.admission.k8s.io/round_0_index_2":   "c.example.com",
		"failed-open.validating.webhook.admission.k8s.io/round_0_index_2": "c.example.com",
	}
	if diff := cmp.Diff(want, got.annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

func TestSecondRoundAnnotations(t *testing.T) {
	server := newHookServer(t, map[string]answer{"a": allow, "b": label("b", "1")})
	c := newChain(t, &sources{mutating: []*admissionregistrationv1.MutatingWebhookConfiguration{server.mutating("a", ifNeeded), server.mutating("b")}})
	got := run(t, c, request{object: configMap()})
	for key, want := range map[string]string{
		"mutation.webhook.admission.k8s.io/round_0_index_0": `{"configuration":"a","webhook":"a.example.com","mutated":false}`,
		"mutation.webhook.admission.k8s.io/round_0_index_1": `{"configuration":"b","webhook":"b.example.com","mutated":true}`,
		"mutation.webhook.admission.k8s.io/round_1_index_0": `{"configuration":"a","webhook":"a.example.com","mutated":false}`,
		"mutation.webhook.admission.k8s.io/round_1_index_1": "",
	} {
		if got := got.annotations[key]; got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	if server.calls[0].request.UID == server.calls[2].request.UID {
		t.Error("the second call has the uid of the first")
	}
	for _, step := range got.record.Steps {
		if step.Round == 1 && step.Name == "a.example.com" && !strings.Contains(step.Reinvoked, "webhook b.example.com (configuration b) changed the object") {
			t.Errorf("called again because %q", step.Reinvoked)
		}
	}
}

func TestExcludedResources(t *testing.T) {
	server := newHookServer(t, map[string]answer{"m": deny("no"), "v": deny("no")})
	all := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{"*"},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}},
	}}
	mutating, validating := server.mutating("m"), server.validating("v")
	mutating.Webhooks[0].Rules, validating.Webhooks[0].Rules = all, all
	c := newChain(t, &sources{
		mutating:   []*admissionregistrationv1.MutatingWebhookConfiguration{mutating},
		validating: []*admissionregistrationv1.ValidatingWebhookConfiguration{validating},
	})
	v1 := admissionregistrationv1.SchemeGroupVersion
	a := admission.NewAttributesRecord(nil, validating, v1.WithKind("ValidatingWebhookConfiguration"), "", "v",
		v1.WithResource("validatingwebhookconfigurations"), "", admission.Delete, &metav1.DeleteOptions{}, false, nil)
	if err := errors.Join(c.Admit(t.Context(), a, interfaces()), c.Validate(t.Context(), a, interfaces())); err != nil {
		t.Error(err)
	}
	if calls := server.called(); len(calls) > 0 {
		t.Errorf("called %v", calls)
	}
}

func TestConfigurationsTakeEffectAtOnce(t *testing.T) {
	server := newHookServer(t, map[string]answer{"a": deny("a"), "b": deny("b")})
	s := &sources{}
	c := newChain(t, s)
	for _, tt := range []struct {
		configurations []*admissionregistrationv1.MutatingWebhookConfiguration
		err            string
	}{
		{nil, ""},
		{[]*admissionregistrationv1.MutatingWebhookConfiguration{server.mutating("a")}, `"a.example.com" denied`},
		{[]*admissionregistrationv1.MutatingWebhookConfiguration{server.mutating("b")}, `"b.example.com" denied`},
		{[]*admissionregistrationv1.MutatingWebhookConfiguration{}, ""},
	} {
		s.mutating = tt.configurations
		if got := run(t, c, request{object: configMap()}); !strings.Contains(errorText(got.err), tt.err) || (got.err == nil) != (tt.err == "") {
			t.Errorf("error %v, want %q", got.err, tt.err)
		}
	}
}

// When the time of the API request itself is up, or its client gone, no failure policy saves it.
func TestRequestEnds(t *testing.T) {
	ended := make(chan struct{})
	var endRequest context.CancelFunc
	stuck := func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		endRequest()
		<-ended
		return allow(r)
	}
	server := newHookServer(t, map[string]answer{"a": stuck, "b": allow})
	t.Cleanup(func() { close(ended) }) // before the server waits for its calls
	ignoringV := func(w *admissionregistrationv1.ValidatingWebhook) {
		w.FailurePolicy = ptr(admissionregistrationv1.Ignore)
	}
	for name, s := range map[string]*sources{
		"mutating":   {mutating: []*admissionregistrationv1.MutatingWebhookConfiguration{server.mutating("a", ignoring), server.mutating("b")}},
		"validating": {validating: []*admissionregistrationv1.ValidatingWebhookConfiguration{server.validating("a", ignoringV)}},
	} {
		t.Run(name, func(t *testing.T) {
			var ctx context.Context
			ctx, endRequest = context.WithTimeout(t.Context(), 9*time.Second)
			got := runIn(t, ctx, newChain(t, s), request{object: configMap()})
			if !apierrors.IsTimeout(got.err) || codeOf(got.err) != 504 {
				t.Errorf("error %v, want a timeout although the failure policy is Ignore", got.err)
			}
			if calls := server.called(); slices.Contains(calls, "b") {
				t.Errorf("called %v after the request had ended", calls)
			}
			if server.calls[0].query != "timeout=9s" {
				t.Errorf("query %q, want what is left of the request, rounded up", server.calls[0].query)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before := len(server.called())
	got := runIn(t, ctx, newChain(t, &sources{validating: []*admissionregistrationv1.ValidatingWebhookConfiguration{server.validating("a")}}), request{object: configMap()})
	if !apierrors.IsTimeout(got.err) || len(server.called()) != before {
		t.Errorf("error %v after %d calls; want none to be made for a request that has ended", got.err, len(server.called())-before)
	}
}

func TestNamespaceLifecycle(t *testing.T) {
	s := &sources{namespaces: map[string]*corev1.Namespace{
		"default": {ObjectMeta: metav1.ObjectMeta{Name: "default"}},
		"dying":   {ObjectMeta: metav1.ObjectMeta{Name: "dying"}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating}},
	}}
	server := newHookServer(t, map[string]answer{"m": allow})
	s.mutating = []*admissionregistrationv1.MutatingWebhookConfiguration{server.mutating("m")}
	c := newChain(t, s)

	got := run(t, c, request{object: configMap(), namespace: "missing"})
	if codeOf(got.err) != 404 || errorText(got.err) != `namespaces "missing" not found` {
		t.Errorf("missing namespace: %v", got.err)
	}
	got = run(t, c, request{object: configMap(), namespace: "dying"})
	if !apierrors.HasStatusCause(got.err, corev1.NamespaceTerminatingCause) || codeOf(got.err) != 403 {
		t.Errorf("terminating namespace: %v", got.err)
	}
	if calls := server.called(); len(calls) > 0 {
		t.Errorf("called %v", calls)
	}
	if steps := got.record.Steps; len(steps) != 1 || steps[0].Plugin != "NamespaceLifecycle" || steps[0].Outcome != decision.Denied {
		t.Errorf("steps %+v", steps)
	}
	got = run(t, c, request{operation: admission.Update, object: configMap(), old: configMap(), namespace: "dying"})
	if got.err != nil {
		t.Errorf("update in a terminating namespace: %v", got.err)
	}
}

// A built-in plugin acts before the webhooks and again after them, and what it changes then makes IfNeeded webhooks due.
func TestInTreePlugins(t *testing.T) {
	v1 := corev1.SchemeGroupVersion
	pods := func(w *admissionregistrationv1.MutatingWebhook) { w.Rules[0].Resources = []string{"pods"} }
	high := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100, PreemptionPolicy: ptr(corev1.PreemptLowerPriority)}
	sees := func(priority int32, then answer) answer {
		return func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			var pod corev1.Pod
			if err := json.Unmarshal(r.Object.Raw, &pod); err != nil || pod.Spec.Priority == nil || *pod.Spec.Priority != priority {
				return allow(r)
			}
			return then(r)
		}
	}
	tests := []struct {
		name     string
		patch    string
		calls    []string
		priority int32
		err      string
	}{
		{"the webhook leaves the priority to the plugin", `[{"op":"add","path":"/spec/priorityClassName","value":"high"},{"op":"remove","path":"/spec/priority"}]`,
			[]string{"a", "a"}, 100, ""},
		{"the plugin refuses what the webhook set", `[{"op":"add","path":"/spec/priorityClassName","value":"missing"}]`,
			[]string{"a"}, 0, "no PriorityClass with name missing was found"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := newHookServer(t, map[string]answer{"a": sees(0, patch(tt.patch))})
			c := newChain(t, &sources{
				stored:   map[string]runtime.Object{"PriorityClass /high": high},
				mutating: []*admissionregistrationv1.MutatingWebhookConfiguration{server.mutating("a", ifNeeded, pods)},
			})
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: "default"}}
			a := admission.NewAttributesRecord(pod, nil, v1.WithKind("Pod"), "default", "probe", v1.WithResource("pods"), "", admission.Create,
				&metav1.CreateOptions{}, false, nil)
			err := c.Admit(t.Context(), a, interfaces())
			if !strings.Contains(errorText(err), tt.err) || (err == nil) != (tt.err == "") {
				t.Fatalf("error %v, want %q", err, tt.err)
			}
			if calls := server.called(); !slices.Equal(calls, tt.calls) {
				t.Errorf("called %v, want %v", calls, tt.calls)
			}
			if err == nil && *pod.Spec.Priority != tt.priority {
				t.Errorf("priority %d, want %d", *pod.Spec.Priority, tt.priority)
			}
			if pod.Spec.ServiceAccountName != "" {
				t.Errorf("service account %q, although that plugin is off by default", pod.Spec.ServiceAccountName)
			}
		})
	}
}

// A webhook behind a service is called where the stored service leads.
func TestStoredServices(t *testing.T) {
	server := newHookServer(t, map[string]answer{"a": allow})
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	behind := func(w *admissionregistrationv1.MutatingWebhook) {
		w.ClientConfig.URL = nil
		w.ClientConfig.Service = &admissionregistrationv1.ServiceReference{Namespace: "ns", Name: "hook", Port: ptr(int32(number))}
	}
	for err, stored := range map[string]map[string]runtime.Object{
		`service "hook" not found`: nil,
		// The connection is made; the certificate is for another name.
		"x509: certificate is valid for example.com": {"Service ns/hook": &corev1.Service{Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeExternalName, ExternalName: "127.0.0.1"}}},
	} {
		c := newChain(t, &sources{stored: stored, mutating: []*admissionregistrationv1.MutatingWebhookConfiguration{server.mutating("a", behind)}})
		if got := run(t, c, request{object: configMap()}); !strings.Contains(errorText(got.err), err) {
			t.Errorf("error %v, want %s", got.err, err)
		}
	}
}
