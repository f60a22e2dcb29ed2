package admission_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
	chain "github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/record"
)

// answer is what a webhook of a test says to a review.
type answer func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse

// allow allows the request.
func allow(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Allowed: true}
}

// deny denies it with a message.
func deny(message string) answer {
	return func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: message, Code: http.StatusForbidden}}
	}
}

// patch allows it with a JSON patch.
func patch(operations string) answer {
	return func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		jsonPatch := admissionv1.PatchTypeJSONPatch
		return &admissionv1.AdmissionResponse{Allowed: true, Patch: []byte(operations), PatchType: &jsonPatch}
	}
}

// label patches a label in.
func label(key, value string) answer {
	return patch(fmt.Sprintf(`[{"op":"add","path":"/metadata/labels/%s","value":%q}]`, key, value))
}

// when answers with then where the object has the label, else it allows.
func when(key, value string, then answer) answer {
	return func(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(request.Object.Raw, &object); err != nil || object.Labels[key] != value {
			return allow(request)
		}
		return then(request)
	}
}

// hookServer is an HTTPS server at whose paths the webhooks of a test are.
type hookServer struct {
	*httptest.Server
	caBundle []byte
	answers  map[string]answer

	mu    sync.Mutex
	calls []call
}

type call struct {
	hook    string
	request *admissionv1.AdmissionRequest
	query   string
	proto   string
}

func newHookServer(t *testing.T, answers map[string]answer) *hookServer {
	s := &hookServer{answers: answers}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	s.caBundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return s
}

func (s *hookServer) serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	body, err := io.ReadAll(r.Body)
	var review admissionv1.AdmissionReview
	if err == nil {
		err = json.Unmarshal(body, &review)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.calls = append(s.calls, call{hook: name, request: review.Request, query: r.URL.RawQuery, proto: r.Proto})
	s.mu.Unlock()
	response := s.answers[name](review.Request)
	if response == nil {
		http.Error(w, "broken", http.StatusInternalServerError)
		return
	}
	if response.UID == "" {
		response.UID = review.Request.UID
	}
	_ = json.NewEncoder(w).Encode(&admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: response})
}

func (s *hookServer) called() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, len(s.calls))
	for i, c := range s.calls {
		names[i] = c.hook
	}
	return names
}

// mutating is a configuration of one webhook for all ConfigMaps, called at the path of its configuration's name.
func (s *hookServer) mutating(name string, change ...func(*admissionregistrationv1.MutatingWebhook)) *admissionregistrationv1.MutatingWebhookConfiguration {
	url := s.URL + "/" + name
	webhook := admissionregistrationv1.MutatingWebhook{
		Name:                    name + ".example.com",
		ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: s.caBundle},
		Rules:                   everyConfigMap(),
		NamespaceSelector:       &metav1.LabelSelector{},
		ObjectSelector:          &metav1.LabelSelector{},
		SideEffects:             ptr(admissionregistrationv1.SideEffectClassNone),
		TimeoutSeconds:          ptr(int32(10)),
		AdmissionReviewVersions: []string{"v1"},
	}
	for _, c := range change {
		c(&webhook)
	}
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: []admissionregistrationv1.MutatingWebhook{webhook},
	}
}

func (s *hookServer) validating(name string, change ...func(*admissionregistrationv1.ValidatingWebhook)) *admissionregistrationv1.ValidatingWebhookConfiguration {
	m := s.mutating(name).Webhooks[0]
	webhook := admissionregistrationv1.ValidatingWebhook{
		Name: m.Name, ClientConfig: m.ClientConfig, Rules: m.Rules, NamespaceSelector: m.NamespaceSelector, ObjectSelector: m.ObjectSelector,
		SideEffects: m.SideEffects, TimeoutSeconds: m.TimeoutSeconds, AdmissionReviewVersions: m.AdmissionReviewVersions,
	}
	for _, c := range change {
		c(&webhook)
	}
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: []admissionregistrationv1.ValidatingWebhook{webhook},
	}
}

func everyConfigMap() []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{"*"},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"configmaps"}},
	}}
}

func ifNeeded(w *admissionregistrationv1.MutatingWebhook) {
	w.ReinvocationPolicy = ptr(admissionregistrationv1.IfNeededReinvocationPolicy)
}

func ignoring(w *admissionregistrationv1.MutatingWebhook) {
	w.FailurePolicy = ptr(admissionregistrationv1.Ignore)
}

func selecting(key, value string) func(*admissionregistrationv1.MutatingWebhook) {
	return func(w *admissionregistrationv1.MutatingWebhook) {
		w.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
}

func condition(name, expression string) func(*admissionregistrationv1.MutatingWebhook) {
	return func(w *admissionregistrationv1.MutatingWebhook) {
		w.MatchConditions = append(w.MatchConditions, admissionregistrationv1.MatchCondition{Name: name, Expression: expression})
	}
}

func sideEffects(class admissionregistrationv1.SideEffectClass) func(*admissionregistrationv1.MutatingWebhook) {
	return func(w *admissionregistrationv1.MutatingWebhook) { w.SideEffects = &class }
}

func ptr[T any](value T) *T { return &value }

// sources are what the chain looks up.
type sources struct {
	mutating   []*admissionregistrationv1.MutatingWebhookConfiguration
	validating []*admissionregistrationv1.ValidatingWebhookConfiguration
	namespaces map[string]*corev1.Namespace
	// stored are the other objects, by kind, namespace and name.
	stored map[string]runtime.Object
}

func (s *sources) Namespace(_ context.Context, name string) (*corev1.Namespace, error) {
	if namespace, ok := s.namespaces[name]; ok {
		return namespace, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("namespaces"), name)
}
func (s *sources) MutatingWebhooks() []*admissionregistrationv1.MutatingWebhookConfiguration {
	return s.mutating
}
func (s *sources) ValidatingWebhooks() []*admissionregistrationv1.ValidatingWebhookConfiguration {
	return s.validating
}
func (*sources) ValidatingPolicies() []*admissionregistrationv1.ValidatingAdmissionPolicy { return nil }
func (*sources) ValidatingPolicyBindings() []*admissionregistrationv1.ValidatingAdmissionPolicyBinding {
	return nil
}
func (*sources) MutatingPolicies() []*admissionregistrationv1.MutatingAdmissionPolicy { return nil }
func (*sources) MutatingPolicyBindings() []*admissionregistrationv1.MutatingAdmissionPolicyBinding {
	return nil
}
func (*sources) Scope(schema.GroupVersionKind) (namespaced, served bool) { return false, false }
func (s *sources) Param(_ context.Context, kind schema.GroupVersionKind, namespace, name string) (runtime.Object, error) {
	if object, ok := s.stored[kind.Kind+" "+namespace+"/"+name]; ok {
		return object, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, name)
}
func (s *sources) ListParams(_ context.Context, kind schema.GroupVersionKind, namespace string, _ labels.Selector) ([]runtime.Object, error) {
	var list []runtime.Object
	for _, key := range slices.Sorted(maps.Keys(s.stored)) {
		if strings.HasPrefix(key, kind.Kind+" "+namespace+"/") {
			list = append(list, s.stored[key])
		}
	}
	return list, nil
}

// configMap is the object of most tests.
func configMap(pairs ...string) *corev1.ConfigMap {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: "default", Labels: map[string]string{"kept": "1"}}}
	for i := 0; i < len(pairs); i += 2 {
		object.Labels[pairs[i]] = pairs[i+1]
	}
	return object
}

// request is one API request about a ConfigMap.
type request struct {
	operation   admission.Operation
	object, old runtime.Object
	namespace   string
	dryRun      bool
}

func (r request) attributes() admission.Attributes {
	if r.operation == "" {
		r.operation = admission.Create
	}
	if r.namespace == "" {
		r.namespace = "default"
	}
	options := map[admission.Operation]runtime.Object{
		admission.Create: &metav1.CreateOptions{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "CreateOptions"}},
		admission.Update: &metav1.UpdateOptions{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "UpdateOptions"}},
		admission.Delete: &metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "DeleteOptions"}},
	}[r.operation]
	return admission.NewAttributesRecord(r.object, r.old, corev1.SchemeGroupVersion.WithKind("ConfigMap"), r.namespace, "probe",
		corev1.SchemeGroupVersion.WithResource("configmaps"), "", r.operation, options, r.dryRun,
		&user.DefaultInfo{Name: "alice", Groups: []string{"system:authenticated"}})
}

func interfaces() admission.ObjectInterfaces {
	return &admission.RuntimeObjectInterfaces{
		ObjectCreater:            scheme.Scheme,
		ObjectTyper:              scheme.Scheme,
		ObjectDefaulter:          scheme.Scheme,
		ObjectConvertor:          scheme.Scheme,
		EquivalentResourceMapper: runtime.NewEquivalentResourceRegistry(),
	}
}

// outcome is what came of a request.
type outcome struct {
	err         error
	object      runtime.Object
	warnings    []string
	annotations map[string]string
	record      decision.Record
}

type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) AddWarning(_, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

type auditEverything struct{}

func (auditEverything) ProcessEvents(...*auditinternal.Event) bool { return true }
func (auditEverything) Run(<-chan struct{}) error                  { return nil }
func (auditEverything) Shutdown()                                  {}
func (auditEverything) String() string                             { return "test" }

// run takes a request through both halves of the chain.
func run(t *testing.T, c *chain.Chain, r request) outcome {
	t.Helper()
	return runIn(t, t.Context(), c, r)
}

func runIn(t *testing.T, ctx context.Context, c *chain.Chain, r request) outcome {
	t.Helper()
	ctx = audit.WithAuditContext(ctx)
	audit.WithAuditID(ctx, "audit-1")
	if err := audit.AuditContextFrom(ctx).Init(audit.RequestAuditConfig{Level: auditinternal.LevelRequest}, auditEverything{}); err != nil {
		t.Fatal(err)
	}
	sent := &warnings{}
	ctx = warning.WithWarningRecorder(ctx, sent)
	ctx, decisions := record.With(ctx)

	a := r.attributes()
	err := c.Admit(ctx, a, interfaces())
	if err == nil {
		err = c.Validate(ctx, a, interfaces())
	}
	records := decisions.Records()
	if len(records) != 1 {
		t.Fatalf("%d decision records, want 1", len(records))
	}
	return outcome{err: err, object: a.GetObject(), warnings: sent.texts, annotations: audit.AuditContextFrom(ctx).GetEventAnnotations(), record: records[0]}
}

func newChain(t *testing.T, s *sources) *chain.Chain {
	if s.namespaces == nil {
		s.namespaces = map[string]*corev1.Namespace{"default": {ObjectMeta: metav1.ObjectMeta{Name: "default"}}}
	}
	var mu sync.Mutex
	uids := 0
	c := chain.New(chain.Options{
		Namespaces: s, Configurations: s, Params: s,
		ReviewUIDs: func() types.UID {
			mu.Lock()
			defer mu.Unlock()
			uids++
			return types.UID(fmt.Sprintf("review-%d", uids))
		},
	})
	t.Cleanup(c.Close)
	return c
}

func labelsOf(object runtime.Object) map[string]string {
	if object, ok := object.(*corev1.ConfigMap); ok {
		return object.Labels
	}
	return nil
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func codeOf(err error) int32 {
	if status, ok := err.(apierrors.APIStatus); ok {
		return status.Status().Code
	}
	return 0
}

func stepsOf(record decision.Record) []string {
	var steps []string
	for _, step := range record.Steps {
		steps = append(steps, fmt.Sprintf("%s %d %s", step.Outcome, step.Round, step.Name))
	}
	return steps
}
