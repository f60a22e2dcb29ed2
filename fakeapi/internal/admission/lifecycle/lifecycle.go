// Package lifecycle keeps requests in step with the lives of namespaces.
//
// The API promises that nothing can be created in a namespace that does not exist (404 NotFound) or that is being
// terminated (403 Forbidden, with a cause NamespaceTerminating), that updates and deletions are always let through, so
// that a terminating namespace can be emptied, and that the namespaces default, kube-system and kube-public cannot be
// deleted.
package lifecycle

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
)

const plugin = "NamespaceLifecycle"

// Namespaces looks up namespaces as they are stored now.
type Namespaces interface {
	Namespace(ctx context.Context, name string) (*corev1.Namespace, error)
}

// Stage is the admission plugin NamespaceLifecycle.
type Stage struct {
	namespaces Namespaces
}

// New returns the stage.
func New(namespaces Namespaces) *Stage {
	return &Stage{namespaces: namespaces}
}

// Admit refuses what the life of a namespace does not allow, and reports a step when it does.
func (s *Stage) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces, report func(...decision.Step)) error {
	err := s.check(ctx, a)
	if err != nil {
		report(decision.Step{Plugin: plugin, Outcome: decision.Denied, Reason: err.Error()})
	}
	return err
}

func (s *Stage) check(ctx context.Context, a admission.Attributes) error {
	if a.GetKind().GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
		if a.GetOperation() == admission.Delete && immortal(a.GetName()) {
			return apierrors.NewForbidden(a.GetResource().GroupResource(), a.GetName(), errors.New("this namespace may not be deleted"))
		}
		return nil
	}
	if a.GetOperation() != admission.Create || a.GetNamespace() == "" || isAccessReview(a.GetResource().GroupResource()) {
		return nil
	}
	namespace, err := s.namespaces.Namespace(ctx, a.GetNamespace())
	switch {
	case apierrors.IsNotFound(err):
		return err
	case err != nil:
		return apierrors.NewInternalError(err)
	case namespace.Status.Phase == corev1.NamespaceTerminating:
		return terminating(a)
	}
	return nil
}

func immortal(namespace string) bool {
	switch namespace {
	case metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic:
		return true
	}
	return false
}

// isAccessReview excepts the review that asks what is allowed in a namespace: a 404 would tell those who may not know
// which namespaces exist.
func isAccessReview(resource schema.GroupResource) bool {
	return resource == schema.GroupResource{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}
}

func terminating(a admission.Attributes) error {
	err := admission.NewForbidden(a, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", a.GetNamespace()))
	if status := (*apierrors.StatusError)(nil); errors.As(err, &status) {
		status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{
			Type:    corev1.NamespaceTerminatingCause,
			Message: fmt.Sprintf("namespace %s is being terminated", a.GetNamespace()),
			Field:   "metadata.namespace",
		})
	}
	return err
}
