package match

import (
	"context"
	"errors"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

// namespaces are the stored namespaces, by name, with their labels.
type namespaces map[string]map[string]string

func (n namespaces) Namespace(_ context.Context, name string) (*corev1.Namespace, error) {
	labels, ok := n[name]
	if !ok {
		return nil, apierrors.NewNotFound(corev1.Resource("namespaces"), name)
	}
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, nil
}

// ask is a request as a test row writes it.
type ask struct {
	operation         admission.Operation
	resource          string // group/version/resource/subresource; "v1/pods" for the core group
	namespace, name   string
	labels, oldLabels map[string]string
	object, oldObject runtime.Object
	noObject          bool
}

func (q ask) attributes() admission.Attributes {
	gvr, subresource := parseResource(q.resource)
	if q.operation == "" {
		q.operation = admission.Create
	}
	if q.object == nil && !q.noObject && q.operation != admission.Delete {
		q.object = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: q.name, Labels: q.labels}}
	}
	if q.oldObject == nil && (q.operation == admission.Update || q.operation == admission.Delete) {
		q.oldObject = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: q.name, Labels: q.oldLabels}}
	}
	return admission.NewAttributesRecord(q.object, q.oldObject, gvr.GroupVersion().WithKind("Thing"), q.namespace, q.name,
		gvr, subresource, q.operation, nil, false, nil)
}

// parseResource reads apps/v1/deployments/scale, or v1/pods for the core group.
func parseResource(text string) (schema.GroupVersionResource, string) {
	parts := strings.Split(text, "/")
	if strings.HasPrefix(parts[0], "v") {
		parts = append([]string{""}, parts...)
	}
	parts = append(parts, "")
	return schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]}, parts[3]
}

// served is a server on which deployments are the same objects in apps/v1, apps/v1beta1 and extensions/v1beta1.
func served() admission.ObjectInterfaces {
	registry := runtime.NewEquivalentResourceRegistryWithIdentity(func(resource schema.GroupResource) string {
		if resource.Resource == "deployments" {
			return "/deployments"
		}
		return ""
	})
	for _, version := range []string{"apps/v1/deployments", "apps/v1beta1/deployments", "extensions/v1beta1/deployments"} {
		gvr, _ := parseResource(version)
		registry.RegisterKindFor(gvr, "", gvr.GroupVersion().WithKind("Deployment"))
		registry.RegisterKindFor(gvr, "scale", schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"})
	}
	for _, version := range []string{"example.com/v1/widgets", "example.com/v2/widgets"} {
		gvr, _ := parseResource(version)
		registry.RegisterKindFor(gvr, "", schema.GroupVersionKind{}) // served, but of no known kind
	}
	return &admission.RuntimeObjectInterfaces{EquivalentResourceMapper: registry}
}

func rules(list ...admissionregistrationv1.RuleWithOperations) []admissionregistrationv1.RuleWithOperations {
	return list
}

// rulesOn is a rule for the operations (separated by commas) and the resources.
func rulesOn(operations, group, version string, resources ...string) admissionregistrationv1.RuleWithOperations {
	r := admissionregistrationv1.RuleWithOperations{Rule: admissionregistrationv1.Rule{
		APIGroups: []string{group}, APIVersions: []string{version}, Resources: resources,
	}}
	for _, operation := range strings.Split(operations, ",") {
		r.Operations = append(r.Operations, admissionregistrationv1.OperationType(operation))
	}
	return r
}

func scoped(r admissionregistrationv1.RuleWithOperations, scope admissionregistrationv1.ScopeType) admissionregistrationv1.RuleWithOperations {
	r.Scope = &scope
	return r
}

func matchLabels(pairs ...string) *metav1.LabelSelector {
	s := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		s.MatchLabels[pairs[i]] = pairs[i+1]
	}
	return s
}

func expression(key string, operator metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
}

func TestRules(t *testing.T) {
	tests := []struct {
		name   string
		rules  []admissionregistrationv1.RuleWithOperations
		ask    ask
		match  string // the rule that matches; empty for none
		reason string // part of the reason
	}{
		{"no rules", nil, ask{resource: "v1/pods"}, "", "it has no rules"},
		{"all parts fit", rules(rulesOn("CREATE", "", "v1", "pods")), ask{resource: "v1/pods"}, "rules[0]", "rules[0] matches"},
		{"second rule", rules(rulesOn("CREATE", "", "v1", "secrets"), rulesOn("CREATE", "", "v1", "pods")), ask{resource: "v1/pods"}, "rules[1]", ""},
		{"first of several", rules(rulesOn("*", "*", "*", "*"), rulesOn("CREATE", "", "v1", "pods")), ask{resource: "v1/pods"}, "rules[0]", ""},
		{"other operation", rules(rulesOn("UPDATE,DELETE", "", "v1", "pods")), ask{resource: "v1/pods"}, "",
			"rules[0] wants operation UPDATE or DELETE, the request is CREATE"},
		{"all operations", rules(rulesOn("*", "", "v1", "pods/exec")), ask{resource: "v1/pods/exec", operation: admission.Connect}, "rules[0]", ""},
		{"other group", rules(rulesOn("*", "", "v1", "deployments")), ask{resource: "apps/v1/deployments"}, "",
			`rules[0] wants group "" (core), the request is for apps`},
		{"core group is no wildcard", rules(rulesOn("*", "apps", "v1", "pods")), ask{resource: "v1/pods"}, "",
			`rules[0] wants group apps, the request is for "" (core)`},
		{"all groups", rules(rulesOn("*", "*", "v1", "deployments")), ask{resource: "apps/v1/deployments"}, "rules[0]", ""},
		{"other version", rules(rulesOn("*", "apps", "v2", "deployments")), ask{resource: "apps/v1/deployments"}, "",
			"rules[0] wants version v2, the request is for v1"},
		{"all versions", rules(rulesOn("*", "apps", "*", "deployments")), ask{resource: "apps/v1/deployments"}, "rules[0]", ""},
		{"other resource", rules(rulesOn("*", "", "v1", "pods")), ask{resource: "v1/configmaps"}, "",
			"rules[0] wants resource pods, the request is for configmaps"},
		{"resource without its subresources", rules(rulesOn("*", "", "v1", "pods")), ask{resource: "v1/pods/status"}, "",
			"rules[0] wants resource pods, the request is for pods/status"},
		{"named subresource", rules(rulesOn("*", "", "v1", "pods/status")), ask{resource: "v1/pods/status"}, "rules[0]", ""},
		{"subresource without its resource", rules(rulesOn("*", "", "v1", "pods/status")), ask{resource: "v1/pods"}, "", "wants resource pods/status"},
		{"star is no subresource", rules(rulesOn("*", "*", "*", "*")), ask{resource: "v1/pods/status"}, "", "wants resource *, the request is for pods/status"},
		{"star is any resource", rules(rulesOn("*", "*", "*", "*")), ask{resource: "v1/pods"}, "rules[0]", ""},
		{"pods/* is a subresource", rules(rulesOn("*", "", "v1", "pods/*")), ask{resource: "v1/pods/exec"}, "rules[0]", ""},
		{"pods/* is pods too", rules(rulesOn("*", "", "v1", "pods/*")), ask{resource: "v1/pods"}, "rules[0]", ""},
		{"pods/* is nothing of others", rules(rulesOn("*", "", "v1", "pods/*")), ask{resource: "v1/services/status"}, "", "wants resource pods/*"},
		{"*/scale is any scale", rules(rulesOn("*", "*", "*", "*/scale")), ask{resource: "apps/v1/deployments/scale"}, "rules[0]", ""},
		{"*/scale is nothing else", rules(rulesOn("*", "*", "*", "*/scale")), ask{resource: "apps/v1/deployments"}, "", "wants resource */scale"},
		{"*/* is a resource", rules(rulesOn("*", "*", "*", "*/*")), ask{resource: "v1/pods"}, "rules[0]", ""},
		{"*/* is a subresource", rules(rulesOn("*", "*", "*", "*/*")), ask{resource: "v1/pods/status"}, "rules[0]", ""},
		{"scope star", rules(scoped(rulesOn("*", "*", "*", "*"), "*")), ask{resource: "v1/pods", namespace: "a"}, "rules[0]", ""},
		{"scope Namespaced", rules(scoped(rulesOn("*", "*", "*", "*"), "Namespaced")), ask{resource: "v1/pods", namespace: "a"}, "rules[0]", ""},
		{"scope Namespaced, cluster object", rules(scoped(rulesOn("*", "*", "*", "*"), "Namespaced")), ask{resource: "v1/nodes"}, "",
			"rules[0] wants scope Namespaced, the request is for a cluster-scoped object"},
		{"scope Cluster", rules(scoped(rulesOn("*", "*", "*", "*"), "Cluster")), ask{resource: "v1/nodes"}, "rules[0]", ""},
		{"scope Cluster, namespaced object", rules(scoped(rulesOn("*", "*", "*", "*"), "Cluster")), ask{resource: "v1/pods", namespace: "a"}, "",
			"rules[0] wants scope Cluster, the request is for a namespaced object"},
		{"scope Cluster, Namespace", rules(scoped(rulesOn("*", "*", "*", "*"), "Cluster")), ask{resource: "v1/namespaces", namespace: "a", name: "a"}, "rules[0]", ""},
		{"scope Namespaced, Namespace", rules(scoped(rulesOn("*", "*", "*", "*"), "Namespaced")), ask{resource: "v1/namespaces", namespace: "a", name: "a"}, "", "cluster-scoped"},
		{"scope Cluster, Namespace status", rules(scoped(rulesOn("*", "*", "*", "*/*"), "Cluster")), ask{resource: "v1/namespaces/status", namespace: "a", name: "a"}, "rules[0]", ""},
		{"many rules", rules(rulesOn("*", "", "v1", "a"), rulesOn("*", "", "v1", "b"), rulesOn("*", "", "v1", "c"), rulesOn("*", "", "v1", "d"), rulesOn("*", "", "v1", "e")),
			ask{resource: "v1/pods"}, "", "; 2 more rules do not match either"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			criteria := ForWebhook(tt.rules, nil, &metav1.LabelSelector{}, &metav1.LabelSelector{})
			outcome, err := criteria.Match(t.Context(), tt.ask.attributes(), served(), namespaces{"a": nil})
			if err != nil {
				t.Fatal(err)
			}
			if outcome.Matched != (tt.match != "") || outcome.Rule != tt.match {
				t.Errorf("matched %v by %q, want %q; reason: %s", outcome.Matched, outcome.Rule, tt.match, outcome.Reason)
			}
			if !strings.Contains(outcome.Reason, tt.reason) || outcome.Reason == "" {
				t.Errorf("reason %q, want it to contain %q", outcome.Reason, tt.reason)
			}
		})
	}
}

func TestMatchPolicy(t *testing.T) {
	exact, equivalent := admissionregistrationv1.Exact, admissionregistrationv1.Equivalent
	tests := []struct {
		name   string
		policy *admissionregistrationv1.MatchPolicyType
		rules  []admissionregistrationv1.RuleWithOperations
		ask    string
		want   string // version of the resource to send; empty for no match
		kind   schema.GroupVersionKind
		reason string
		err    string
	}{
		{name: "Exact skips another version", policy: &exact, rules: rules(rulesOn("*", "apps", "v1beta1", "deployments")), ask: "apps/v1/deployments",
			reason: "matchPolicy Exact"},
		{name: "no policy is Exact", rules: rules(rulesOn("*", "apps", "v1beta1", "deployments")), ask: "apps/v1/deployments"},
		{name: "Equivalent finds another version", policy: &equivalent, rules: rules(rulesOn("*", "apps", "v1beta1", "deployments")), ask: "apps/v1/deployments",
			want: "apps/v1beta1", kind: schema.GroupVersionKind{Group: "apps", Version: "v1beta1", Kind: "Deployment"},
			reason: "rules[0] matches apps/v1beta1 deployments, which is equivalent to apps/v1 deployments"},
		{name: "Equivalent finds another group", policy: &equivalent, rules: rules(rulesOn("*", "extensions", "*", "deployments")), ask: "apps/v1/deployments",
			want: "extensions/v1beta1", kind: schema.GroupVersionKind{Group: "extensions", Version: "v1beta1", Kind: "Deployment"}},
		{name: "the exact match comes first", policy: &equivalent, ask: "apps/v1/deployments",
			rules: rules(rulesOn("*", "extensions", "v1beta1", "deployments"), rulesOn("*", "apps", "v1", "deployments")),
			want:  "apps/v1", kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Thing"}},
		{name: "among equivalents the first rule comes first", policy: &equivalent, ask: "apps/v1/deployments",
			rules: rules(rulesOn("*", "extensions", "v1beta1", "deployments"), rulesOn("*", "apps", "v1beta1", "deployments")),
			want:  "extensions/v1beta1", kind: schema.GroupVersionKind{Group: "extensions", Version: "v1beta1", Kind: "Deployment"}},
		{name: "a wildcard version converts nothing", policy: &equivalent, rules: rules(rulesOn("*", "apps", "*", "deployments")), ask: "apps/v1/deployments",
			want: "apps/v1", kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Thing"}},
		{name: "the subresource stays", policy: &equivalent, rules: rules(rulesOn("*", "extensions", "v1beta1", "deployments/scale")), ask: "apps/v1/deployments/scale",
			want: "extensions/v1beta1", kind: schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}},
		{name: "the operation counts", policy: &equivalent, rules: rules(rulesOn("DELETE", "apps", "v1beta1", "deployments")), ask: "apps/v1/deployments"},
		{name: "nothing is equivalent to others", policy: &equivalent, rules: rules(rulesOn("*", "apps", "v1", "deployments")), ask: "apps/v1/replicasets"},
		{name: "unknown kind", policy: &equivalent, rules: rules(rulesOn("*", "example.com", "v1", "widgets")), ask: "example.com/v2/widgets",
			err: "unable to convert to example.com/v1, Resource=widgets: unknown kind"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			criteria := ForWebhook(tt.rules, tt.policy, &metav1.LabelSelector{}, &metav1.LabelSelector{})
			outcome, err := criteria.Match(t.Context(), ask{resource: tt.ask}.attributes(), served(), namespaces{})
			if text := errorText(err); text != tt.err {
				t.Fatalf("error %q, want %q", text, tt.err)
			}
			if outcome.Matched != (tt.want != "") {
				t.Fatalf("matched %v, want %q; reason: %s", outcome.Matched, tt.want, outcome.Reason)
			}
			if outcome.Matched && (outcome.Resource.GroupVersion().String() != tt.want || outcome.Kind != tt.kind) {
				t.Errorf("sent as %v, %v; want %s, %v", outcome.Resource, outcome.Kind, tt.want, tt.kind)
			}
			if !strings.Contains(outcome.Reason, tt.reason) {
				t.Errorf("reason %q, want it to contain %q", outcome.Reason, tt.reason)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestNamespaceSelector(t *testing.T) {
	stored := namespaces{"prod": {"env": "prod", "tier": "1"}, "bare": {corev1.LabelMetadataName: "bare"}}
	namespace := func(name string, labels map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	tests := []struct {
		name     string
		selector *metav1.LabelSelector
		ask      ask
		want     bool
		reason   string
	}{
		{"selected", matchLabels("env", "prod"), ask{resource: "v1/pods", namespace: "prod"}, true, ""},
		{"not selected", matchLabels("env", "dev"), ask{resource: "v1/pods", namespace: "prod"}, false,
			"namespaceSelector env=dev does not select namespace prod, whose labels are env=prod,tier=1"},
		{"every part must hold", matchLabels("env", "prod", "tier", "2"), ask{resource: "v1/pods", namespace: "prod"}, false, ""},
		{"In needs the label", expression("env", metav1.LabelSelectorOpIn, "prod"), ask{resource: "v1/pods", namespace: "bare"}, false, "which has no labels"},
		{"NotIn does not", expression("env", metav1.LabelSelectorOpNotIn, "prod"), ask{resource: "v1/pods", namespace: "bare"}, true, ""},
		{"by name", matchLabels(corev1.LabelMetadataName, "bare"), ask{resource: "v1/pods", namespace: "bare"}, true, ""},
		{"not by name", expression(corev1.LabelMetadataName, metav1.LabelSelectorOpNotIn, "bare"), ask{resource: "v1/pods", namespace: "bare"}, false,
			"does not select namespace bare, whose labels are kubernetes.io/metadata.name=bare"},
		{"an empty selector looks up nothing", &metav1.LabelSelector{}, ask{resource: "v1/pods", namespace: "missing"}, true, ""},
		{"a nil selector selects nothing", nil, ask{resource: "v1/pods", namespace: "prod"}, false, "(selects nothing)"},
		{"cluster-scoped objects are never kept back", matchLabels("env", "none"), ask{resource: "v1/nodes"}, true, ""},
		{"create of a Namespace: the submitted labels", matchLabels("env", "new"),
			ask{resource: "v1/namespaces", namespace: "n", name: "n", object: namespace("n", map[string]string{"env": "new"})}, true, ""},
		{"update of a Namespace: the submitted labels", matchLabels("env", "prod"),
			ask{resource: "v1/namespaces", operation: admission.Update, namespace: "prod", name: "prod", object: namespace("prod", nil)}, false, ""},
		{"delete of a Namespace: the stored labels", matchLabels("env", "prod"),
			ask{resource: "v1/namespaces", operation: admission.Delete, namespace: "prod", name: "prod"}, true, ""},
		{"status of a Namespace: the stored labels", matchLabels("env", "prod"),
			ask{resource: "v1/namespaces/status", operation: admission.Update, namespace: "prod", name: "prod", object: namespace("prod", nil)}, true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			criteria := ForWebhook(rules(rulesOn("*", "*", "*", "*/*")), nil, tt.selector, &metav1.LabelSelector{})
			outcome, err := criteria.Match(t.Context(), tt.ask.attributes(), served(), stored)
			if err != nil {
				t.Fatal(err)
			}
			if outcome.Matched != tt.want || !strings.Contains(outcome.Reason, tt.reason) {
				t.Errorf("matched %v, want %v; reason: %q, want part %q", outcome.Matched, tt.want, outcome.Reason, tt.reason)
			}
		})
	}
}

func TestObjectSelector(t *testing.T) {
	red, blue := map[string]string{"color": "red"}, map[string]string{"color": "blue"}
	tests := []struct {
		name     string
		selector *metav1.LabelSelector
		ask      ask
		want     bool
		reason   string
	}{
		{"new object", matchLabels("color", "red"), ask{labels: red}, true, ""},
		{"not the new object", matchLabels("color", "red"), ask{labels: blue}, false,
			"objectSelector color=red selects neither the object, whose labels are color=blue, nor the old object, which is absent"},
		{"update: the old object is enough", matchLabels("color", "red"), ask{operation: admission.Update, labels: blue, oldLabels: red}, true, ""},
		{"update: the new object is enough", matchLabels("color", "red"), ask{operation: admission.Update, labels: red, oldLabels: blue}, true, ""},
		{"update: neither", matchLabels("color", "red"), ask{operation: admission.Update, labels: blue, oldLabels: blue}, false, ""},
		{"delete: the old object", matchLabels("color", "red"), ask{operation: admission.Delete, oldLabels: red}, true, ""},
		{"delete: no new object counts", expression("color", metav1.LabelSelectorOpDoesNotExist), ask{operation: admission.Delete, oldLabels: red}, false, ""},
		{"DoesNotExist", expression("color", metav1.LabelSelectorOpDoesNotExist), ask{}, true, ""},
		{"NotIn without the label", expression("color", metav1.LabelSelectorOpNotIn, "red"), ask{}, true, ""},
		{"an object that cannot have labels", expression("color", metav1.LabelSelectorOpDoesNotExist),
			ask{operation: admission.Connect, object: &corev1.PodExecOptions{}}, false, "which cannot have labels"},
		{"an empty selector takes it", &metav1.LabelSelector{}, ask{operation: admission.Connect, object: &corev1.PodExecOptions{}}, true, ""},
		{"a nil selector selects nothing", nil, ask{labels: red}, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			criteria := ForWebhook(rules(rulesOn("*", "*", "*", "*/*")), nil, &metav1.LabelSelector{}, tt.selector)
			tt.ask.resource = "v1/configmaps"
			outcome, err := criteria.Match(t.Context(), tt.ask.attributes(), served(), namespaces{})
			if err != nil {
				t.Fatal(err)
			}
			if outcome.Matched != tt.want || !strings.Contains(outcome.Reason, tt.reason) {
				t.Errorf("matched %v, want %v; reason: %q, want part %q", outcome.Matched, tt.want, outcome.Reason, tt.reason)
			}
		})
	}
}

// What cannot be decided is an error only where nothing else decides.
func TestErrors(t *testing.T) {
	broken := expression("env", "Nonsense", "x")
	none := matchLabels("never", "there")
	tests := []struct {
		name              string
		resource          string
		namespace, object *metav1.LabelSelector
		check             func(error) bool
	}{
		{"missing namespace", "pods", matchLabels("a", "b"), &metav1.LabelSelector{}, apierrors.IsNotFound},
		{"missing namespace, but the rules do not match", "secrets", matchLabels("a", "b"), &metav1.LabelSelector{}, isNil},
		{"missing namespace, but the object is not selected", "pods", matchLabels("a", "b"), none, isNil},
		{"broken namespaceSelector", "pods", broken, &metav1.LabelSelector{}, apierrors.IsInternalError},
		{"broken namespaceSelector, but the rules do not match", "secrets", broken, &metav1.LabelSelector{}, isNil},
		{"broken objectSelector", "pods", &metav1.LabelSelector{}, broken, apierrors.IsInternalError},
		{"both broken: the namespace's comes first", "pods", matchLabels("a", "b"), broken, apierrors.IsNotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			criteria := ForWebhook(rules(rulesOn("*", "", "v1", tt.resource)), nil, tt.namespace, tt.object)
			outcome, err := criteria.Match(t.Context(), ask{resource: "v1/pods", namespace: "missing"}.attributes(), served(), namespaces{})
			if !tt.check(err) || outcome.Matched {
				t.Errorf("matched %v, error %v", outcome.Matched, err)
			}
		})
	}
}

func isNil(err error) bool { return err == nil }

// A lookup that fails in another way than by not finding is no 404.
func TestNamespaceLookupFails(t *testing.T) {
	criteria := ForWebhook(rules(rulesOn("*", "*", "*", "*")), nil, matchLabels("a", "b"), &metav1.LabelSelector{})
	_, err := criteria.Match(t.Context(), ask{resource: "v1/pods", namespace: "a"}.attributes(), served(), failing{})
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "the store is on fire") {
		t.Errorf("error %v, want an internal error with the cause", err)
	}
}

type failing struct{}

func (failing) Namespace(context.Context, string) (*corev1.Namespace, error) {
	return nil, errors.New("the store is on fire")
}
