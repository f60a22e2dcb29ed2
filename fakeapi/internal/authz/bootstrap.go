package authz

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

var (
	read      = []string{"get", "list", "watch"}
	write     = []string{"create", "delete", "deletecollection", "patch", "update"}
	readWrite = slices.Concat(read, write)
)

// BootstrapRoles returns the cluster roles that a new server starts with: those of a kube-apiserver, but for the roles
// of nodes and controllers. The rules of admin, edit and view are filled in as a cluster's role aggregation does it.
func BootstrapRoles() []*rbacv1.ClusterRole {
	view := viewRules()
	edit := editRules()
	admin := []rbacv1.PolicyRule{
		resourceRule([]string{"create"}, []string{"authorization.k8s.io"}, "localsubjectaccessreviews"),
		resourceRule(readWrite, []string{"rbac.authorization.k8s.io"}, "roles", "rolebindings"),
	}
	editAndView := slices.Concat(edit, view)
	return []*rbacv1.ClusterRole{
		clusterRole("cluster-admin",
			resourceRule([]string{"*"}, []string{"*"}, "*"),
			urlRule("*", "*")),
		clusterRole("system:discovery",
			urlRule("get", "/livez", "/readyz", "/healthz", "/version", "/version/", "/openapi", "/openapi/*", "/api", "/api/*", "/apis", "/apis/*")),
		clusterRole("system:monitoring",
			urlRule("get", "/metrics", "/metrics/slis", "/livez", "/readyz", "/healthz", "/livez/*", "/readyz/*", "/healthz/*", "/flagz", "/statusz"),
			resourceRule([]string{"get"}, []string{""}, "nodes/metrics")),
		clusterRole("system:basic-user",
			resourceRule([]string{"create"}, []string{"authorization.k8s.io"}, "selfsubjectaccessreviews", "selfsubjectrulesreviews"),
			resourceRule([]string{"create"}, []string{"authentication.k8s.io"}, "selfsubjectreviews")),
		clusterRole("system:public-info-viewer",
			urlRule("get", "/livez", "/readyz", "/healthz", "/version", "/version/")),
		clusterRole("system:auth-delegator",
			resourceRule([]string{"create"}, []string{"authentication.k8s.io"}, "tokenreviews"),
			resourceRule([]string{"create"}, []string{"authorization.k8s.io"}, "subjectaccessreviews")),
		clusterRole("system:service-account-issuer-discovery",
			urlRule("get", "/.well-known/openid-configuration", "/.well-known/openid-configuration/", "/openid/v1/jwks", "/openid/v1/jwks/")),
		aggregateTo("admin", clusterRole("system:aggregate-to-admin", admin...)),
		aggregateTo("edit", clusterRole("system:aggregate-to-edit", edit...)),
		aggregateTo("view", clusterRole("system:aggregate-to-view", view...)),
		// After what they are made of.
		aggregateTo("edit", aggregated("view", clusterRole("view", view...))),
		aggregateTo("admin", aggregated("edit", clusterRole("edit", editAndView...))),
		aggregated("admin", clusterRole("admin", slices.Concat(editAndView, admin)...)),
	}
}

// BootstrapBindings returns the cluster role bindings that a new server starts with.
func BootstrapBindings() []*rbacv1.ClusterRoleBinding {
	return []*rbacv1.ClusterRoleBinding{
		bindGroups("cluster-admin", user.SystemPrivilegedGroup),
		bindGroups("system:monitoring", user.MonitoringGroup),
		bindGroups("system:discovery", user.AllAuthenticated),
		bindGroups("system:basic-user", user.AllAuthenticated),
		bindGroups("system:public-info-viewer", user.AllAuthenticated, user.AllUnauthenticated),
		bindGroups("system:service-account-issuer-discovery", serviceaccount.AllServiceAccountsGroup),
	}
}

func viewRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		resourceRule(read, []string{""}, "pods", "replicationcontrollers", "replicationcontrollers/scale", "serviceaccounts", "services",
			"services/status", "endpoints", "persistentvolumeclaims", "persistentvolumeclaims/status", "configmaps"),
		resourceRule(read, []string{""}, "limitranges", "resourcequotas", "bindings", "pods/status", "resourcequotas/status",
			"namespaces/status", "replicationcontrollers/status", "pods/log"),
		resourceRule(read, []string{""}, "namespaces"),
		resourceRule(read, []string{"", "events.k8s.io"}, "events"),
		resourceRule(read, []string{"discovery.k8s.io"}, "endpointslices"),
		resourceRule(read, []string{"apps"}, "controllerrevisions", "statefulsets", "statefulsets/status", "statefulsets/scale",
			"daemonsets", "daemonsets/status", "deployments", "deployments/status", "deployments/scale",
			"replicasets", "replicasets/status", "replicasets/scale"),
		resourceRule(read, []string{"autoscaling"}, "horizontalpodautoscalers", "horizontalpodautoscalers/status"),
		resourceRule(read, []string{"batch"}, "jobs", "cronjobs", "cronjobs/status", "jobs/status"),
		resourceRule(read, []string{"extensions"}, "daemonsets", "daemonsets/status", "deployments", "deployments/scale", "deployments/status",
			"ingresses", "ingresses/status", "networkpolicies", "replicasets", "replicasets/scale", "replicasets/status",
			"replicationcontrollers/scale"),
		resourceRule(read, []string{"policy"}, "poddisruptionbudgets", "poddisruptionbudgets/status"),
		resourceRule(read, []string{"networking.k8s.io"}, "networkpolicies", "ingresses", "ingresses/status"),
		resourceRule(read, []string{"resource.k8s.io"}, "resourceclaims", "resourceclaims/status", "resourceclaimtemplates"),
	}
}

func editRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		resourceRule(read, []string{""}, "pods/attach", "pods/proxy", "pods/exec", "pods/portforward", "secrets", "services/proxy"),
		resourceRule([]string{"impersonate"}, []string{""}, "serviceaccounts"),
		resourceRule(write, []string{""}, "pods", "pods/attach", "pods/proxy", "pods/exec", "pods/portforward"),
		resourceRule([]string{"create"}, []string{""}, "pods/eviction"),
		resourceRule(write, []string{""}, "replicationcontrollers", "replicationcontrollers/scale", "serviceaccounts", "services",
			"services/proxy", "persistentvolumeclaims", "configmaps", "secrets"),
		resourceRule([]string{"create"}, []string{""}, "serviceaccounts/token"),
		resourceRule(write, []string{"", "events.k8s.io"}, "events"),
		resourceRule(write, []string{"apps"}, "statefulsets", "statefulsets/scale", "daemonsets", "deployments", "deployments/scale",
			"deployments/rollback", "replicasets", "replicasets/scale"),
		resourceRule(write, []string{"autoscaling"}, "horizontalpodautoscalers"),
		resourceRule(write, []string{"batch"}, "jobs", "cronjobs"),
		resourceRule(write, []string{"extensions"}, "daemonsets", "deployments", "deployments/rollback", "deployments/scale", "ingresses",
			"networkpolicies", "replicasets", "replicasets/scale", "replicationcontrollers/scale"),
		resourceRule(write, []string{"policy"}, "poddisruptionbudgets"),
		resourceRule(write, []string{"networking.k8s.io"}, "networkpolicies", "ingresses"),
		resourceRule(readWrite, []string{"coordination.k8s.io"}, "leases"),
		resourceRule(write, []string{"resource.k8s.io"}, "resourceclaims", "resourceclaimtemplates"),
	}
}

// resourceRule returns a rule for resources. As in a kube-apiserver's own rules, everything in it is in order.
func resourceRule(verbs, groups []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: sorted(verbs), APIGroups: sorted(groups), Resources: sorted(resources)}
}

func urlRule(verb string, urls ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, NonResourceURLs: sorted(urls)}
}

func sorted(words []string) []string { return slices.Sorted(slices.Values(words)) }

// bootstrapMeta is the metadata by which a kube-apiserver knows its own roles again.
func bootstrapMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:        name,
		Labels:      map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"},
		Annotations: map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"},
	}
}

func clusterRole(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: bootstrapMeta(name), Rules: rules}
}

const aggregateLabel = "rbac.authorization.k8s.io/aggregate-to-"

// aggregateTo marks a role's rules as part of another role.
func aggregateTo(role string, of *rbacv1.ClusterRole) *rbacv1.ClusterRole {
	of.Labels[aggregateLabel+role] = "true"
	return of
}

// aggregated marks a role as made of the rules of others.
func aggregated(role string, of *rbacv1.ClusterRole) *rbacv1.ClusterRole {
	of.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
		{MatchLabels: map[string]string{aggregateLabel + role: "true"}},
	}}
	return of
}

// bindGroups binds the cluster role of the same name to groups.
func bindGroups(role string, groups ...string) *rbacv1.ClusterRoleBinding {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: bootstrapMeta(role),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}
	for _, group := range groups {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group})
	}
	return binding
}
