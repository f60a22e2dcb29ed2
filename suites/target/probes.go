package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// probe finds out whether an API server has followed one kind of objects up to now.
type probe struct {
	// name tells the probe from others, and what is settled.
	name string
	// lanes is how many rounds may run side by side; 0 means one.
	lanes int
	// rehearse makes a round before the first one, so that this one changes a sentinel which the server knows.
	rehearse bool
	// write gives the sentinel of the lane the token, making it when it is not there.
	write func(ctx context.Context, lane, token string) error
	// look tells whether the sentinel of the lane acts with the token, and what the server answered.
	look func(ctx context.Context, lane, token string) (acts bool, answer string)
	// remove, where it is set, removes the sentinel at the end of each round.
	remove func(ctx context.Context, lane string) error
}

// The resources of sentinels and of requests.
var (
	namespaces          = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	leases              = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	pods                = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	priorityClasses     = schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"}
	validatingWebhooks  = admissionregistrationv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations")
	mutatingWebhooks    = admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations")
	validatingPolicies  = admissionregistrationv1.SchemeGroupVersion.WithResource("validatingadmissionpolicies")
	validatingBindings  = admissionregistrationv1.SchemeGroupVersion.WithResource("validatingadmissionpolicybindings")
	mutatingPolicies    = admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingadmissionpolicies")
	mutatingBindings    = admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingadmissionpolicybindings")
	roles               = rbacv1.SchemeGroupVersion.WithResource("roles")
	roleBindings        = rbacv1.SchemeGroupVersion.WithResource("rolebindings")
	clusterRoles        = rbacv1.SchemeGroupVersion.WithResource("clusterroles")
	clusterRoleBindings = rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings")
	definitions         = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	accessReviews       = schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"}
)

// probesOf returns the probes that settle the resources, each once.
func (s *settler) probesOf(ctx context.Context, resources []schema.GroupResource) ([]probe, error) {
	byName := map[string]probe{}
	add := func(probes ...probe) {
		for _, p := range probes {
			byName[p.name] = p
		}
	}
	var params []schema.GroupResource
	for _, resource := range resources {
		switch resource {
		case namespaces.GroupResource():
			add(s.namespaceProbe())
		case validatingWebhooks.GroupResource():
			add(s.webhookProbe(validatingWebhooks, "ValidatingWebhookConfiguration"))
		case mutatingWebhooks.GroupResource():
			add(s.webhookProbe(mutatingWebhooks, "MutatingWebhookConfiguration"))
		case validatingPolicies.GroupResource(), validatingBindings.GroupResource():
			add(s.policyProbe(validating))
		case mutatingPolicies.GroupResource(), mutatingBindings.GroupResource():
			add(s.policyProbe(mutating))
		case clusterRoles.GroupResource(), clusterRoleBindings.GroupResource():
			add(s.clusterRoleProbe())
		case roles.GroupResource(), roleBindings.GroupResource():
			add(s.roleProbe())
		case priorityClasses.GroupResource():
			add(s.priorityProbe())
		case definitions.GroupResource():
			add(s.definitionProbe())
		default:
			params = append(params, resource)
		}
	}
	if len(params) > 0 {
		probes, err := s.paramProbes(ctx, params)
		if err != nil {
			return nil, err
		}
		add(probes...)
	}
	probes := make([]probe, 0, len(byName))
	for _, p := range byName {
		probes = append(probes, p)
	}
	return probes, nil
}

// object makes an object of the settler's.
func (s *settler) object(apiVersion, kind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	for field, value := range content {
		object.Object[field] = value
	}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	object.SetLabels(map[string]string{managedByLabel: "gatehouse", ownerLabel: s.name})
	return object
}

func setLabel(object *unstructured.Unstructured, key, value string) {
	labels := object.GetLabels()
	labels[key] = value
	object.SetLabels(labels)
}

// sentinel is the name of a lane's sentinel.
func (s *settler) sentinel(lane string) string { return s.name + "-" + lane }

// lookup makes a dry-run request to create a Lease for the sentinel of the lane, and returns what the server answers.
// The sentinel fails it with a message about a missing annotation that it asks for.
func (s *settler) lookup(ctx context.Context, lane, round string) string {
	lease := s.object(leases.GroupVersion().String(), "Lease", s.name, s.name, nil)
	setLabel(lease, laneLabel, lane)
	setLabel(lease, roundLabel, round)
	lease.SetAnnotations(map[string]string{"settle.gatehouse.dev/none": ""})
	_, err := s.client.Resource(leases).Namespace(s.name).Create(ctx, lease, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err == nil {
		return "the request was admitted"
	}
	// The message may be another policy's, which fails the request too; then the sentinel's is among the causes.
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		if whole, err := json.Marshal(status.Status()); err == nil {
			return string(whole)
		}
	}
	return err.Error()
}

// fails tells whether the answer to a lookup is that of a sentinel which asks for the annotation.
func fails(answer, annotation string) bool {
	return strings.Contains(answer, "no such key: "+annotation)
}

// failing is a match condition that fails because the annotation is missing.
func failing(annotation string) []any {
	return []any{map[string]any{
		"name":       "settled",
		"expression": fmt.Sprintf("object.metadata.annotations['%s'] == ''", annotation),
	}}
}

// scope adds what a sentinel matches, the lookups of its lane: rules under that name and two selectors.
func (s *settler) scope(lane string, into map[string]any, rules string) map[string]any {
	into[rules] = []any{map[string]any{
		"apiGroups":   []any{leases.Group},
		"apiVersions": []any{leases.Version},
		"operations":  []any{"CREATE"},
		"resources":   []any{leases.Resource},
	}}
	into["namespaceSelector"] = map[string]any{"matchLabels": map[string]any{corev1.LabelMetadataName: s.name}}
	into["objectSelector"] = map[string]any{"matchLabels": map[string]any{laneLabel: lane}}
	return into
}

// webhook is a webhook that no request reaches, for its match condition fails.
func (s *settler) webhook(lane, name, annotation string) map[string]any {
	return s.scope(lane, map[string]any{
		"name":                    name + ".settle.gatehouse.dev",
		"clientConfig":            map[string]any{"url": "https://127.0.0.1:1/"},
		"matchConditions":         failing(annotation),
		"failurePolicy":           "Fail",
		"sideEffects":             "None",
		"timeoutSeconds":          int64(1),
		"admissionReviewVersions": []any{"v1"},
	}, "rules")
}

// lookForToken is the look of sentinels that ask for an annotation called like the token.
func (s *settler) lookForToken(ctx context.Context, lane, token string) (bool, string) {
	answer := s.lookup(ctx, lane, token)
	return fails(answer, token), answer
}

// webhookProbe settles webhook configurations of one kind.
func (s *settler) webhookProbe(resource schema.GroupVersionResource, kind string) probe {
	return probe{
		name:     resource.Resource,
		rehearse: true,
		write: func(ctx context.Context, lane, token string) error {
			return s.apply(ctx, resource, s.object(resource.GroupVersion().String(), kind, "", s.sentinel(lane), map[string]any{
				"webhooks": []any{s.webhook(lane, "sentinel", token)},
			}))
		},
		look: s.lookForToken,
	}
}

// namespaceProbe settles what admission knows of namespaces, which all admission plugins take from one cache: two webhooks
// select the settler's namespace by the parity of the round, its label tells it.
func (s *settler) namespaceProbe() probe {
	parity := func(token string) string {
		if strings.ContainsAny(token[len(token)-1:], "02468") {
			return "even"
		}
		return "odd"
	}
	written := false // rounds run one at a time
	return probe{
		name: namespaces.Resource,
		write: func(ctx context.Context, lane, token string) error {
			if !written {
				var webhooks []any
				for _, value := range []string{"even", "odd"} {
					webhook := s.webhook(lane, value, value)
					webhook["namespaceSelector"] = map[string]any{"matchLabels": map[string]any{corev1.LabelMetadataName: s.name, roundLabel: value}}
					webhooks = append(webhooks, webhook)
				}
				configuration := s.object(validatingWebhooks.GroupVersion().String(), "ValidatingWebhookConfiguration", "", s.sentinel(lane),
					map[string]any{"webhooks": webhooks})
				if err := s.apply(ctx, validatingWebhooks, configuration); err != nil {
					return err
				}
				written = true
			}
			namespace := s.object("v1", "Namespace", "", s.name, nil)
			setLabel(namespace, roundLabel, parity(token))
			return s.apply(ctx, namespaces, namespace)
		},
		look: func(ctx context.Context, lane, token string) (bool, string) {
			answer := s.lookup(ctx, lane, token)
			return fails(answer, parity(token)), answer
		},
	}
}

// policyLanes is how many rounds of policies may run side by side. They are long, for the server looks for changes once a
// second, and all that run then end at once.
const policyLanes = 4

// policyKind is one of the two kinds of policies with its bindings.
type policyKind struct {
	policies, bindings schema.GroupVersionResource
	policy, binding    string         // kinds
	spec               map[string]any // what a policy of that kind must have
	bindingSpec        map[string]any
}

var (
	validating = policyKind{
		policies: validatingPolicies, bindings: validatingBindings,
		policy: "ValidatingAdmissionPolicy", binding: "ValidatingAdmissionPolicyBinding",
		spec:        map[string]any{"validations": []any{map[string]any{"expression": "true"}}},
		bindingSpec: map[string]any{"validationActions": []any{"Deny"}},
	}
	mutating = policyKind{
		policies: mutatingPolicies, bindings: mutatingBindings,
		policy: "MutatingAdmissionPolicy", binding: "MutatingAdmissionPolicyBinding",
		spec: map[string]any{
			"reinvocationPolicy": "Never",
			"mutations": []any{map[string]any{
				"patchType":          "ApplyConfiguration",
				"applyConfiguration": map[string]any{"expression": "Object{}"},
			}},
		},
	}
)

// writePolicy writes a lane's sentinel policy and its binding, whose fields are added to those that every one needs.
func (s *settler) writePolicy(ctx context.Context, kind policyKind, lane string, spec, bindingSpec map[string]any) error {
	name := s.sentinel(lane)
	err := s.apply(ctx, kind.policies, s.object(kind.policies.GroupVersion().String(), kind.policy, "", name, map[string]any{
		"spec": merged(kind.spec, map[string]any{
			"failurePolicy":    "Fail",
			"matchConstraints": s.scope(lane, map[string]any{}, "resourceRules"),
		}, spec),
	}))
	if err != nil {
		return err
	}
	return s.apply(ctx, kind.bindings, s.object(kind.bindings.GroupVersion().String(), kind.binding, "", name, map[string]any{
		"spec": merged(kind.bindingSpec, map[string]any{"policyName": name}, bindingSpec),
	}))
}

// merged returns the fields of all; later ones win.
func merged(all ...map[string]any) map[string]any {
	result := map[string]any{}
	for _, fields := range all {
		for field, value := range fields {
			result[field] = value
		}
	}
	return result
}

// policyProbe settles policies and bindings of one kind. The policy tells the round by its match condition, the binding
// by matching that round's requests alone.
func (s *settler) policyProbe(kind policyKind) probe {
	return probe{
		name:  kind.policies.Resource,
		lanes: policyLanes,
		write: func(ctx context.Context, lane, token string) error {
			return s.writePolicy(ctx, kind, lane,
				map[string]any{"matchConditions": failing(token)},
				map[string]any{"matchResources": map[string]any{
					"objectSelector": map[string]any{"matchLabels": map[string]any{roundLabel: token}},
				}})
		},
		look: s.lookForToken,
	}
}
