package target

import (
	"context"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// clusterRoleProbe settles cluster roles and their bindings.
func (s *settler) clusterRoleProbe() probe {
	return s.accessProbe("clusterroles", clusterRoles, "ClusterRole", clusterRoleBindings, "ClusterRoleBinding", "")
}

// roleProbe settles roles and their bindings.
func (s *settler) roleProbe() probe {
	return s.accessProbe("roles", roles, "Role", roleBindings, "RoleBinding", s.name)
}

// accessProbe settles roles and bindings: the role allows something named after the round, the binding gives it to a
// user of that name.
func (s *settler) accessProbe(
	name string, roles schema.GroupVersionResource, role string, bindings schema.GroupVersionResource, binding, namespace string,
) probe {
	const group = "settle.gatehouse.dev"
	return probe{
		name: name,
		write: func(ctx context.Context, lane, token string) error {
			err := s.apply(ctx, roles, s.object(roles.GroupVersion().String(), role, namespace, s.sentinel(lane), map[string]any{
				"rules": []any{map[string]any{
					"apiGroups": []any{group}, "resources": []any{name}, "resourceNames": []any{token}, "verbs": []any{"get"},
				}},
			}))
			if err != nil {
				return err
			}
			return s.apply(ctx, bindings, s.object(bindings.GroupVersion().String(), binding, namespace, s.sentinel(lane), map[string]any{
				"roleRef":  map[string]any{"apiGroup": rbacv1.GroupName, "kind": role, "name": s.sentinel(lane)},
				"subjects": []any{map[string]any{"apiGroup": rbacv1.GroupName, "kind": "User", "name": group + ":" + token}},
			}))
		},
		look: func(ctx context.Context, lane, token string) (bool, string) {
			attributes := map[string]any{"group": group, "resource": name, "name": token, "verb": "get"}
			if namespace != "" {
				attributes["namespace"] = namespace
			}
			review := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": accessReviews.GroupVersion().String(), "kind": "SubjectAccessReview",
				"spec": map[string]any{"user": group + ":" + token, "resourceAttributes": attributes},
			}}
			answer, err := s.client.Resource(accessReviews).Create(ctx, review, metav1.CreateOptions{})
			if err != nil {
				return false, err.Error()
			}
			allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed")
			return allowed, "access is not allowed"
		},
	}
}

// priorityProbe settles priority classes. Their values cannot change, so each round has one of its own; the Priority plugin
// reads them from its cache alone.
func (s *settler) priorityProbe() probe {
	last := "" // rounds run one at a time
	return probe{
		name: "priorityclasses",
		write: func(ctx context.Context, lane, token string) error {
			class := s.object(priorityClasses.GroupVersion().String(), "PriorityClass", "", s.sentinel(token), map[string]any{"value": int64(1)})
			if err := s.apply(ctx, priorityClasses, class); err != nil {
				return err
			}
			if last != "" {
				_ = s.client.Resource(priorityClasses).Delete(ctx, last, metav1.DeleteOptions{}) // close removes what stays
			}
			last = class.GetName()
			return nil
		},
		look: func(ctx context.Context, lane, token string) (bool, string) {
			pod := s.object("v1", "Pod", s.name, s.name, map[string]any{"spec": map[string]any{
				"priorityClassName": s.sentinel(token),
				"containers":        []any{map[string]any{"name": "none", "image": "none"}},
			}})
			_, err := s.client.Resource(pods).Namespace(s.name).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err == nil {
				return true, ""
			}
			// Whatever else refuses the pod comes after the Priority plugin or has nothing to do with it.
			return !strings.Contains(err.Error(), "no PriorityClass with name"), err.Error()
		},
	}
}
