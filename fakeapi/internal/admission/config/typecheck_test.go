package config_test

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/config"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/openapi"
)

// kinds are some built-in ones, for CheckTypes and for the API's own type checker.
type kinds struct {
	*meta.DefaultRESTMapper
	types *config.Types
}

func newKinds() kinds {
	k := kinds{meta.NewDefaultRESTMapper(nil), config.NewTypes(openapi.Schema)}
	for _, known := range []struct{ group, version, kind, plural, singular string }{
		{"", "v1", "ConfigMap", "configmaps", "configmap"},
		{"", "v1", "Endpoints", "endpoints", "endpoints"},
		{"", "v1", "Event", "events", "event"},
		{"", "v1", "LimitRange", "limitranges", "limitrange"},
		{"", "v1", "Namespace", "namespaces", "namespace"},
		{"", "v1", "Node", "nodes", "node"},
		{"", "v1", "PersistentVolume", "persistentvolumes", "persistentvolume"},
		{"", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "persistentvolumeclaim"},
		{"", "v1", "Pod", "pods", "pod"},
		{"", "v1", "PodTemplate", "podtemplates", "podtemplate"},
		{"", "v1", "Secret", "secrets", "secret"},
		{"", "v1", "Service", "services", "service"},
		{"apps", "v1", "DaemonSet", "daemonsets", "daemonset"},
		{"apps", "v1", "Deployment", "deployments", "deployment"},
		{"autoscaling", "v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "horizontalpodautoscaler"},
		{"autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "horizontalpodautoscaler"},
		{"events.k8s.io", "v1", "Event", "events", "event"},
		{"none.example.com", "v1", "Unpublished", "unpublisheds", "unpublished"},
	} {
		gv := schema.GroupVersion{Group: known.group, Version: known.version}
		k.AddSpecific(gv.WithKind(known.kind), gv.WithResource(known.plural), gv.WithResource(known.singular), meta.RESTScopeNamespace)
	}
	return k
}

func (k kinds) KindsOf(resource schema.GroupVersionResource) []schema.GroupVersionKind {
	found, err := k.KindsFor(resource)
	if err != nil {
		return nil
	}
	return found
}

func (k kinds) Types(schema.GroupVersionKind) *config.Types { return k.types }

func (kinds) ResolveSchema(kind schema.GroupVersionKind) (*spec.Schema, error) {
	return openapi.Schema(kind)
}

// typeNumber is what makes the names of types differ, by the clock in the API's type checker.
var typeNumber = regexp.MustCompile(`(Deployment|ConfigMap)[0-9]+`)

func TestCheckTypes(t *testing.T) {
	deployments := "{apiGroups: [apps], apiVersions: [v1], resources: [deployments]}"
	for _, tt := range []struct {
		name, rules, spec string
		warnings          int
	}{
		{"nothing is wrong", deployments, "{validations: [{expression: object.spec.replicas > 1}]}", 0},
		{"types and fields", deployments, `{validations: [{expression: "object.spec.replicas > '1'"}, {expression: object.none == oldObject.none}, {expression: object == 1}, {expression: "object.metadata['a'] == 1"}]}`, 4},
		{"several faults", deployments, `{validations: [{expression: "object.a == 1 && object.b == 2", messageExpression: "'a' + object.spec.replicas"}]}`, 2},
		{"no faults but of syntax", deployments, `{validations: [{expression: "object."}]}`, 1},
		{"quantities and ports", deployments, `{validations: [{expression: "object.spec.template.spec.containers.all(c, c.resources.limits['cpu'] == 1)"}, {expression: object.spec.strategy.rollingUpdate.maxSurge == 1}, {expression: object.metadata.creationTimestamp == 1}]}`, 2},
		{"variables", deployments, `{variables: [{name: a, expression: object.metadata.name}, {name: b, expression: object.none}, {name: c, expression: "[variables.a]"}, {name: d, expression: object.spec}], validations: [{expression: variables.a == 1}, {expression: variables.b == 1}, {expression: "variables.c[0] == 1"}, {expression: variables.d.none == 1}, {expression: variables.none == 1}]}`, 3},
		{"request and authorizer", deployments, `{validations: [{expression: request.none}, {expression: namespaceObject.metadata.name == 1}, {expression: "authorizer.path('/').check('get').allowed()"}, {expression: "authorizer.requestResource.check('get').allowed()"}]}`, 3},
		{"params", deployments, `{paramKind: {apiVersion: v1, kind: ConfigMap}, validations: [{expression: "params.data['a'] == 1"}, {expression: params.none == 1}, {expression: params == 1}]}`, 3},
		{"params of the kind itself", deployments, `{paramKind: {apiVersion: apps/v1, kind: Deployment}, validations: [{expression: object == params}, {expression: object.spec.replicas == params.spec.replicas}]}`, 1},
		{"unknown params", deployments, `{paramKind: {apiVersion: example.com/v1, kind: None}, validations: [{expression: params.none == 1}]}`, 0},
		{"params without a kind", deployments, `{validations: [{expression: params.none == 1}]}`, 1},
		{"several kinds", "{apiGroups: [autoscaling, apps], apiVersions: [v2, v1], resources: [horizontalpodautoscalers, Daemonset, daemonsets/status]}", "{validations: [{expression: object.none == 1}]}", 1},
		{"every group", `{apiGroups: [""], apiVersions: [v1], resources: [events, deployments]}`, "{validations: [{expression: object.none == 1}]}", 1},
		{"wildcards", `{apiGroups: [apps], apiVersions: [v1, "*"], resources: [deployments]}`, "{validations: [{expression: object.none == 1}]}", 0},
		{"resource wildcards", `{apiGroups: [apps], apiVersions: [v1], resources: ["*", deployments/scale]}`, "{validations: [{expression: object.none == 1}]}", 0},
		{"nothing served", `{apiGroups: [apps], apiVersions: [v2], resources: [deployments]}`, "{validations: [{expression: object.none == 1}]}", 0},
		{"no schema", `{apiGroups: [none.example.com], apiVersions: [v1], resources: [unpublisheds]}`, "{validations: [{expression: object.none == 1}]}", 0},
		{"many kinds", `{apiGroups: [""], apiVersions: [v1], resources: [secrets, pods, nodes, namespaces, endpoints, limitranges, configmaps, persistentvolumes, persistentvolumeclaims, podtemplates, services]}, ` + deployments, "{validations: [{expression: object.none == 1}]}", 1},
		{"ten kinds by the eleventh name", `{apiGroups: [""], apiVersions: [v1], resources: [configmap, configmaps, secret, secrets, pod, pods, node, nodes, service, services, endpoints]}, ` + deployments, "{validations: [{expression: object.none == 1}]}", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
			decode(t, tt.spec, &policy.Spec)
			policy.Spec.MatchConstraints = &admissionregistrationv1.MatchResources{}
			decode(t, "["+tt.rules+"]", &policy.Spec.MatchConstraints.ResourceRules)
			before := policy.DeepCopy()

			got := config.CheckTypes(policy, newKinds())
			api := validating.TypeChecker{SchemaResolver: newKinds(), RestMapper: newKinds()}
			want := api.Check(policy.DeepCopy())
			if diff := cmp.Diff(unnumbered(want), unnumbered(got)); diff != "" {
				t.Errorf("warnings (-API +ours):\n%s", diff)
			}
			if len(got) != tt.warnings {
				t.Errorf("%d warnings, want %d: %v", len(got), tt.warnings, got)
			}
			if diff := cmp.Diff(before, policy); diff != "" {
				t.Errorf("the policy was changed:\n%s", diff)
			}
		})
	}
}

func unnumbered(warnings []admissionregistrationv1.ExpressionWarning) []admissionregistrationv1.ExpressionWarning {
	var list []admissionregistrationv1.ExpressionWarning
	for _, w := range warnings {
		w.Warning = typeNumber.ReplaceAllString(w.Warning, "$1#")
		list = append(list, w)
	}
	return list
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkCheckTypes(b *testing.B) {
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{Rule: admissionregistrationv1.Rule{
				APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"},
			}},
		}}},
		Validations: []admissionregistrationv1.Validation{{Expression: "object.spec.replicas > 1"}},
	}}
	known := newKinds()
	for b.Loop() {
		config.CheckTypes(policy, known)
	}
}
