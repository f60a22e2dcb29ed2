package policy_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// testCase is a case of a table in testdata. Names default to p and b; the policy matches everything; the binding is of
// the policy p, with the action Deny; the request is the create of a ConfigMap ns/probe with the label app=a and the data
// x=1, by alice; params are ConfigMaps in the namespace ns.
type testCase[P, B any] struct {
	Name     string     `json:"name"`
	Ours     string     `json:"ours"` // why upstream is not asked
	Policies []named[P] `json:"policies"`
	Bindings []named[B] `json:"bindings"`
	Params   []struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
		Data      map[string]string `json:"data"`
	} `json:"params"`
	Request struct {
		Operation admission.Operation `json:"operation"`
		Kind      string              `json:"kind"`
		Object    map[string]any      `json:"object"`
	} `json:"request"`
	Want outcome `json:"want"`
}

type named[S any] struct {
	Name string `json:"name"`
	Spec S      `json:"spec"`
}

// outcome is what a client and the audit log see. Causes are only looked at where they are wanted.
type outcome struct {
	Code        int32               `json:"code"`
	Reason      metav1.StatusReason `json:"reason"`
	Message     string              `json:"message"`
	Causes      []string            `json:"causes"`
	Warnings    []string            `json:"warnings"`
	Annotations map[string]string   `json:"annotations"`
	Object      map[string]any      `json:"object"`
}

func readTable[P, B any](t testing.TB, file string) []testCase[P, B] {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []testCase[P, B]
	if err := yaml.UnmarshalStrict(content, &cases); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return cases
}

// world is what the stages look things up in.
type world struct {
	validatingPolicies []*admissionregistrationv1.ValidatingAdmissionPolicy
	validatingBindings []*admissionregistrationv1.ValidatingAdmissionPolicyBinding
	mutatingPolicies   []*admissionregistrationv1.MutatingAdmissionPolicy
	mutatingBindings   []*admissionregistrationv1.MutatingAdmissionPolicyBinding
	params             []*corev1.ConfigMap
}

// newWorld makes a world of a case, with bindings and policies made by the given functions.
func newWorld[P, B any](c *testCase[P, B], addPolicy func(*world, metav1.ObjectMeta, P), addBinding func(*world, metav1.ObjectMeta, B)) *world {
	w := &world{}
	for _, p := range c.Policies {
		addPolicy(w, metav1.ObjectMeta{Name: or(p.Name, "p"), ResourceVersion: "1"}, p.Spec)
	}
	if c.Bindings == nil {
		c.Bindings = []named[B]{{}}
	}
	for _, b := range c.Bindings {
		addBinding(w, metav1.ObjectMeta{Name: or(b.Name, "b"), ResourceVersion: "1"}, b.Spec)
	}
	for _, p := range c.Params {
		w.params = append(w.params, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: or(p.Namespace, "ns"), Labels: p.Labels},
			Data:       p.Data,
		})
	}
	return w
}

func or(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}

// everything matches every request.
func everything() *admissionregistrationv1.MatchResources {
	return &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{"*"},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}},
		},
	}}}
}

func testNamespace() *corev1.Namespace {
	return &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: "ns", Labels: map[string]string{"env": "test"}},
		Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
	}
}

func (w *world) Namespace(_ context.Context, name string) (*corev1.Namespace, error) {
	if name != "ns" {
		return nil, apierrors.NewNotFound(corev1.Resource("namespaces"), name)
	}
	return testNamespace(), nil
}

func (w *world) ValidatingPolicies() []*admissionregistrationv1.ValidatingAdmissionPolicy {
	return w.validatingPolicies
}

func (w *world) ValidatingPolicyBindings() []*admissionregistrationv1.ValidatingAdmissionPolicyBinding {
	return w.validatingBindings
}

func (w *world) MutatingPolicies() []*admissionregistrationv1.MutatingAdmissionPolicy {
	return w.mutatingPolicies
}

func (w *world) MutatingPolicyBindings() []*admissionregistrationv1.MutatingAdmissionPolicyBinding {
	return w.mutatingBindings
}

func (w *world) Scope(kind schema.GroupVersionKind) (namespaced, served bool) {
	switch kind {
	case corev1.SchemeGroupVersion.WithKind("ConfigMap"):
		return true, true
	case corev1.SchemeGroupVersion.WithKind("Node"):
		return false, true
	}
	return false, false
}

func (w *world) Param(_ context.Context, _ schema.GroupVersionKind, namespace, name string) (runtime.Object, error) {
	for _, p := range w.params {
		if p.Namespace == namespace && p.Name == name {
			return p, nil
		}
	}
	return nil, apierrors.NewNotFound(corev1.Resource("configmaps"), name)
}

func (w *world) ListParams(_ context.Context, _ schema.GroupVersionKind, namespace string, selector labels.Selector) ([]runtime.Object, error) {
	var found []runtime.Object
	for _, p := range w.params {
		if p.Namespace == namespace && selector.Matches(labels.Set(p.Labels)) {
			found = append(found, p)
		}
	}
	return found, nil
}

// mayRead allows get, and nothing else.
var mayRead = authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetVerb() == "get" {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "not a get", nil
})

// attributes are those of the case's request.
func (c *testCase[P, B]) attributes(t testing.TB) admission.Attributes {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "probe", Labels: map[string]string{"app": "a"}}
	var object runtime.Object
	var resource schema.GroupVersionResource
	namespace := ""
	switch c.Request.Kind {
	case "", "ConfigMap":
		namespace, meta.Namespace = "ns", "ns"
		object = &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"x": "1"}}
		resource = corev1.SchemeGroupVersion.WithResource("configmaps")
	case "Pod":
		namespace, meta.Namespace = "ns", "ns"
		object = &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "main:1"}}}}
		resource = corev1.SchemeGroupVersion.WithResource("pods")
	case "Node":
		object = &corev1.Node{ObjectMeta: meta}
		resource = corev1.SchemeGroupVersion.WithResource("nodes")
	case "MutatingWebhookConfiguration":
		object = &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta}
		resource = admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations")
	case "ValidatingAdmissionPolicy":
		object = &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta}
		resource = admissionregistrationv1.SchemeGroupVersion.WithResource("validatingadmissionpolicies")
	default:
		t.Fatalf("unknown kind %q", c.Request.Kind)
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		t.Fatal(err)
	}
	operation := admission.Operation(or(string(c.Request.Operation), string(admission.Create)))
	options := map[admission.Operation]runtime.Object{
		admission.Create: &metav1.CreateOptions{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "CreateOptions"}},
		admission.Update: &metav1.UpdateOptions{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "UpdateOptions"}},
		admission.Delete: &metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "DeleteOptions"}},
	}[operation]
	var old runtime.Object
	if operation != admission.Create {
		old = object.DeepCopyObject()
	}
	if operation == admission.Delete {
		object = nil
	}
	alice := &user.DefaultInfo{Name: "alice", Groups: []string{"g"}, Extra: map[string][]string{"k": {"v"}}}
	return admission.NewAttributesRecord(object, old, kinds[0], namespace, "probe", resource, "", operation, options, false, alice)
}

// run runs a stage on the case's request.
func (c *testCase[P, B]) run(t *testing.T, stage func(context.Context, admission.Attributes, admission.ObjectInterfaces) error) outcome {
	t.Helper()
	a := &annotated{Attributes: c.attributes(t)}
	recorder := &warnings{}
	var err error
	if stage != nil {
		err = stage(warning.WithWarningRecorder(t.Context(), recorder), a, admission.NewObjectInterfacesFromScheme(scheme.Scheme))
	}
	got := outcome{Warnings: recorder.texts, Annotations: a.annotations}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		s := status.Status()
		got.Code, got.Reason, got.Message = s.Code, s.Reason, s.Message
		if s.Details != nil {
			for _, cause := range s.Details.Causes {
				got.Causes = append(got.Causes, cause.Message)
			}
		}
	} else if err != nil {
		t.Fatal(err)
	}
	if object := a.GetObject(); object != nil && err == nil {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			t.Fatal(err)
		}
		got.Object = content
	}
	return got
}

// check compares what came of a case with what is wanted.
func (c *testCase[P, B]) check(t *testing.T, got outcome) {
	t.Helper()
	if c.Want.Causes == nil {
		got.Causes = nil
	}
	want := c.Want
	want.Object, got.Object = nil, parts(c.Want.Object, got.Object)
	if diff := cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Object" }, cmp.Ignore())); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(c.Want.Object, got.Object); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
}

// parts is got without the fields that want says nothing of.
func parts(want, got map[string]any) map[string]any {
	if want == nil {
		return nil
	}
	left := map[string]any{}
	for key, value := range got {
		wanted, ok := want[key]
		if !ok {
			continue
		}
		if inner, ok := wanted.(map[string]any); ok {
			if value, ok := value.(map[string]any); ok {
				left[key] = parts(inner, value)
				continue
			}
		}
		left[key] = value
	}
	return left
}

// annotated keeps the audit annotations, the first of each key.
type annotated struct {
	admission.Attributes
	annotations map[string]string
}

func (a *annotated) AddAnnotation(key, value string) error {
	if _, ok := a.annotations[key]; ok {
		return errors.New("annotated already")
	}
	if a.annotations == nil {
		a.annotations = map[string]string{}
	}
	a.annotations[key] = value
	return nil
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
