package lifecycle

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
)

type namespaces map[string]corev1.NamespacePhase

func (n namespaces) Namespace(_ context.Context, name string) (*corev1.Namespace, error) {
	if name == "broken" {
		return nil, errors.New("the store is on fire")
	}
	phase, ok := n[name]
	if !ok {
		return nil, apierrors.NewNotFound(corev1.Resource("namespaces"), name)
	}
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NamespaceStatus{Phase: phase}}, nil
}

func TestLifecycle(t *testing.T) {
	stored := namespaces{"active": corev1.NamespaceActive, "dying": corev1.NamespaceTerminating, "new": ""}
	core := func(kind string) schema.GroupVersionKind { return corev1.SchemeGroupVersion.WithKind(kind) }
	pods, spaces := corev1.SchemeGroupVersion.WithResource("pods"), corev1.SchemeGroupVersion.WithResource("namespaces")
	review := schema.GroupVersion{Group: "authorization.k8s.io", Version: "v1"}
	tests := []struct {
		name      string
		operation admission.Operation
		kind      schema.GroupVersionKind
		resource  schema.GroupVersionResource
		namespace string
		object    string
		err       string
	}{
		{"create in an active namespace", admission.Create, core("Pod"), pods, "active", "p", ""},
		{"create in a namespace without a phase", admission.Create, core("Pod"), pods, "new", "p", ""},
		{"create in a terminating one", admission.Create, core("Pod"), pods, "dying", "p",
			`pods "p" is forbidden: unable to create new content in namespace dying because it is being terminated`},
		{"create in a missing one", admission.Create, core("Pod"), pods, "missing", "p", `namespaces "missing" not found`},
		{"lookup fails", admission.Create, core("Pod"), pods, "broken", "p", "Internal error occurred: the store is on fire"},
		{"update in a terminating one", admission.Update, core("Pod"), pods, "dying", "p", ""},
		{"delete in a missing one", admission.Delete, core("Pod"), pods, "missing", "p", ""},
		{"connect in a missing one", admission.Connect, core("PodExecOptions"), pods, "missing", "p", ""},
		{"cluster-scoped", admission.Create, core("Node"), corev1.SchemeGroupVersion.WithResource("nodes"), "", "n", ""},
		{"access review in a missing one", admission.Create, review.WithKind("LocalSubjectAccessReview"), review.WithResource("localsubjectaccessreviews"), "missing", "", ""},
		{"create of a namespace", admission.Create, core("Namespace"), spaces, "missing", "missing", ""},
		{"delete of a namespace", admission.Delete, core("Namespace"), spaces, "active", "active", ""},
		{"delete of default", admission.Delete, core("Namespace"), spaces, "default", "default", `namespaces "default" is forbidden: this namespace may not be deleted`},
		{"delete of kube-system", admission.Delete, core("Namespace"), spaces, "kube-system", "kube-system", `namespaces "kube-system" is forbidden: this namespace may not be deleted`},
		{"delete of kube-public", admission.Delete, core("Namespace"), spaces, "kube-public", "kube-public", `namespaces "kube-public" is forbidden: this namespace may not be deleted`},
		{"delete of kube-node-lease", admission.Delete, core("Namespace"), spaces, "kube-node-lease", "kube-node-lease", ""},
		{"update of default", admission.Update, core("Namespace"), spaces, "default", "default", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := admission.NewAttributesRecord(nil, nil, tt.kind, tt.namespace, tt.object, tt.resource, "", tt.operation, nil, false, nil)
			var steps []decision.Step
			err := New(stored).Admit(t.Context(), a, nil, func(reported ...decision.Step) { steps = append(steps, reported...) })
			if (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
				t.Fatalf("error %v, want %q", err, tt.err)
			}
			if (len(steps) == 1) != (err != nil) {
				t.Errorf("steps %+v", steps)
			}
			if tt.namespace == "dying" && err != nil && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
				t.Errorf("error %#v has no cause NamespaceTerminating", err)
			}
		})
	}
}
