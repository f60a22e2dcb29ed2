package fakeapi

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/authz"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

// bootstrap writes what every API server starts with: its namespaces, its priority classes, and the roles and bindings by
// which it lets users in.
func bootstrap(ctx context.Context, catalogue *resource.Catalogue) error {
	var objects []runtime.Object
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease} {
		objects = append(objects, &corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}},
			Spec:       corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}},
			Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
		})
	}
	objects = append(objects,
		priorityClass("system-cluster-critical", 2000000000, "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."),
		priorityClass("system-node-critical", 2000001000, "Used for system critical pods that must not be moved from their current node."),
	)
	for _, role := range authz.BootstrapRoles() {
		objects = append(objects, role)
	}
	for _, binding := range authz.BootstrapBindings() {
		objects = append(objects, binding)
	}
	for _, object := range objects {
		if err := catalogue.Put(ctx, object); err != nil {
			return fmt.Errorf("writing what the server starts with: %w", err)
		}
	}
	return nil
}

func priorityClass(name string, value int32, description string) *schedulingv1.PriorityClass {
	policy := corev1.PreemptLowerPriority
	return &schedulingv1.PriorityClass{
		ObjectMeta:       metav1.ObjectMeta{Name: name},
		Value:            value,
		PreemptionPolicy: &policy,
		Description:      description,
	}
}

// roles reads roles and bindings from the catalogue.
type roles struct{ catalogue *resource.Catalogue }

var _ authz.Roles = roles{}

func (r roles) Role(_ context.Context, namespace, name string) (*rbacv1.Role, error) {
	return stored[*rbacv1.Role](r.catalogue, "roles", namespace, name)
}

func (r roles) ClusterRole(_ context.Context, name string) (*rbacv1.ClusterRole, error) {
	return stored[*rbacv1.ClusterRole](r.catalogue, "clusterroles", "", name)
}

func (r roles) RoleBindings(_ context.Context, namespace string) ([]*rbacv1.RoleBinding, error) {
	return allStored[*rbacv1.RoleBinding](r.catalogue, "rolebindings", namespace)
}

func (r roles) ClusterRoleBindings(context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	return allStored[*rbacv1.ClusterRoleBinding](r.catalogue, "clusterrolebindings", "")
}

func stored[T metav1.Object](catalogue *resource.Catalogue, plural, namespace, name string) (T, error) {
	all, err := allStored[T](catalogue, plural, namespace)
	if err == nil {
		for _, object := range all {
			if object.GetName() == name {
				return object, nil
			}
		}
		err = apierrors.NewNotFound(rbacv1.Resource(singular(plural)), name)
	}
	var none T
	return none, err
}

// singular is the name that the errors of listers have for a resource.
func singular(plural string) string { return plural[:len(plural)-1] }

func allStored[T metav1.Object](catalogue *resource.Catalogue, plural, namespace string) ([]T, error) {
	objects := catalogue.Stored(rbacv1.Resource(plural), namespace)
	all := make([]T, 0, len(objects))
	for _, object := range objects {
		typed, ok := object.(T)
		if !ok {
			return nil, fmt.Errorf("stored in %s: a %T", plural, object)
		}
		all = append(all, typed)
	}
	return all, nil
}
