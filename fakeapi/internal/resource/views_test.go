package resource_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

func TestEventsAreServedByTwoGroups(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	core, events := "/api/v1/namespaces/default/events", "/apis/events.k8s.io/v1/namespaces/default/events"
	a.do("POST", core, object{
		"metadata": object{"name": "old"}, "involvedObject": object{"kind": "Pod", "name": "p", "namespace": "default"},
		"message": "hello", "count": 3, "source": object{"component": "c"},
	})
	a.do("POST", events, object{
		"metadata": object{"name": "new"}, "regarding": object{"kind": "Pod", "name": "p", "namespace": "default"},
		"note": "hi", "type": "Normal", "reason": "Greeted", "action": "Greeting",
		"reportingController": "example.com/c", "reportingInstance": "c-1", "eventTime": "2024-01-01T00:00:00.000000Z",
	})
	for path, want := range map[string]map[string]any{
		events + "/old": {"note": "hello", "deprecatedCount": int64(3)},
		core + "/new":   {"message": "hi", "reportingComponent": "example.com/c"},
	} {
		got := a.do("GET", path, nil)
		for field, value := range want {
			if got.Object[field] != value {
				t.Errorf("%s: %s is %v, want %v", path, field, got.Object[field], value)
			}
		}
	}
	for path, want := range map[string]int{
		core + "?fieldSelector=involvedObject.name%3Dp":   200,
		core + "?fieldSelector=regarding.name%3Dp":        400,
		events + "?fieldSelector=regarding.name%3Dp":      200,
		events + "?fieldSelector=involvedObject.name%3Dp": 400,
	} {
		code, list := a.call("GET", path, "", nil)
		if code != want {
			t.Errorf("GET %s: %d, want %d", path, code, want)
		}
		if items, _ := list.Object["items"].([]any); code == 200 && len(items) != 2 {
			t.Errorf("GET %s: %d items, want 2", path, len(items))
		}
	}
}

func TestAutoscalersOfBothVersions(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	v1 := "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
	v2 := "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
	target := object{"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}

	a.do("POST", v1, object{"metadata": object{"name": "cpu"}, "spec": object{"scaleTargetRef": target, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50}})
	metrics := nested(a.do("GET", v2+"/cpu", nil), "spec", "metrics")
	want := []any{object{"type": "Resource", "resource": object{"name": "cpu", "target": object{"type": "Utilization", "averageUtilization": int64(50)}}}}
	if diff := cmp.Diff(any(want), metrics); diff != "" {
		t.Errorf("metrics of what was made in v1 (-want +got):\n%s", diff)
	}

	// What v1 has no field for survives a write through v1.
	memory := object{"type": "Resource", "resource": object{"name": "memory", "target": object{"type": "AverageValue", "averageValue": "1Gi"}}}
	a.do("POST", v2, object{"metadata": object{"name": "memory"}, "spec": object{
		"scaleTargetRef": target, "maxReplicas": 3, "metrics": []any{memory}, "behavior": object{"scaleDown": object{"selectPolicy": "Disabled"}},
	}})
	a.do("PATCH", v1+"/memory", object{"spec": object{"maxReplicas": 7}})
	got := a.do("GET", v2+"/memory", nil)
	if diff := cmp.Diff(any([]any{memory}), nested(got, "spec", "metrics")); diff != "" {
		t.Errorf("metrics after a write through v1 (-want +got):\n%s", diff)
	}
	if policy := nested(got, "spec", "behavior", "scaleDown", "selectPolicy"); policy != "Disabled" {
		t.Errorf("behavior after a write through v1: selectPolicy %v", policy)
	}
	if replicas := nested(got, "spec", "maxReplicas"); replicas != int64(7) {
		t.Errorf("maxReplicas %v, want 7", replicas)
	}
	if got.GetGeneration() != 2 {
		t.Errorf("generation %d, want 2", got.GetGeneration())
	}
	if annotations := got.GetAnnotations(); annotations != nil {
		t.Errorf("annotations that carry fields show in v2: %v", annotations)
	}
	if code, _ := a.call("POST", v1, "application/json", object{"metadata": object{"name": "none"}, "spec": object{"scaleTargetRef": target}}); code != 422 {
		t.Errorf("an autoscaler without maxReplicas: %d, want 422", code)
	}
}

func TestAVersionOfAnotherPathIsRefused(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	code, answer := a.call("POST", "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers", "application/json", object{
		"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": object{"name": "x"},
	})
	want := "the API version in the data (autoscaling/v2) does not match the expected API version (autoscaling/v1)"
	if code != 400 || answer.Object["message"] != want {
		t.Errorf("%d %v, want 400 %s", code, answer.Object["message"], want)
	}
}

func TestServerSideApplyKnowsTheSchemas(t *testing.T) {
	hook := func(name string, rules ...any) object {
		return object{
			"name": name, "clientConfig": object{"url": "https://example.com/"}, "sideEffects": "None",
			"admissionReviewVersions": []any{"v1"}, "rules": rules,
		}
	}
	rule := func(resource string) object {
		return object{"operations": []any{"CREATE"}, "apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{resource}}
	}
	configuration := func(webhooks ...any) object {
		return object{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
			"metadata": object{"name": "x"}, "webhooks": webhooks,
		}
	}
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	path := "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/x"
	for _, step := range []struct {
		manager string
		body    object
		code    int
		names   string
	}{
		{"one", configuration(hook("a.example.com", rule("pods"))), 201, "a.example.com"},
		// Webhooks are told apart by their names.
		{"two", configuration(hook("b.example.com", rule("pods"))), 200, "a.example.com b.example.com"},
		// Rules are one value, which two managers cannot have different.
		{"two", configuration(hook("a.example.com", rule("secrets"))), 409, ""},
		{"one", configuration(hook("a.example.com", rule("secrets"))), 200, "a.example.com b.example.com"},
		{"two", configuration(), 200, "a.example.com"},
	} {
		code, answer := a.apply(path, step.manager, step.body)
		if code != step.code {
			t.Fatalf("apply by %s: %d, want %d: %v", step.manager, code, step.code, answer.Object["message"])
		}
		if got := webhookNames(answer); code < 300 && got != step.names {
			t.Errorf("webhooks after apply by %s: %s, want %s", step.manager, got, step.names)
		}
	}
}

func webhookNames(u *unstructured.Unstructured) string {
	names := ""
	webhooks, _ := u.Object["webhooks"].([]any)
	for i, webhook := range webhooks {
		if i > 0 {
			names += " "
		}
		names += webhook.(object)["name"].(string)
	}
	return names
}

func TestScale(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	path := "/apis/apps/v1/namespaces/default/deployments"
	a.do("POST", path, object{"metadata": object{"name": "d"}, "spec": object{
		"selector": object{"matchLabels": object{"a": "b"}},
		"template": object{"metadata": object{"labels": object{"a": "b"}}, "spec": object{"containers": []any{object{"name": "c", "image": "x"}}}},
	}})
	scale := a.do("PATCH", path+"/d/scale", object{"spec": object{"replicas": 4}})
	if scale.GetKind() != "Scale" || scale.GetAPIVersion() != "autoscaling/v1" || nested(scale, "spec", "replicas") != int64(4) || nested(scale, "status", "selector") != "a=b" {
		t.Errorf("scale %v", scale.Object)
	}
	deployment := a.do("GET", path+"/d", nil)
	if nested(deployment, "spec", "replicas") != int64(4) || deployment.GetGeneration() != 2 {
		t.Errorf("replicas %v, generation %d", nested(deployment, "spec", "replicas"), deployment.GetGeneration())
	}
	subresources := map[string]string{}
	for _, entry := range deployment.GetManagedFields() {
		subresources[entry.Subresource] = entry.FieldsV1.String()
	}
	if subresources["scale"] != `{"f:spec":{"f:replicas":{}}}` {
		t.Errorf("managed fields by subresource: %v", subresources)
	}
	if code, _ := a.call("PATCH", path+"/d/scale", "application/merge-patch+json", object{"spec": object{"replicas": -1}}); code != 422 {
		t.Errorf("negative replicas: %d, want 422", code)
	}
}

func TestStatusAndTheRestAreWrittenApart(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	path := "/api/v1/namespaces/default/pods"
	pod := object{"metadata": object{"name": "p"}, "spec": object{"containers": []any{object{"name": "c", "image": "x"}}}, "status": object{"phase": "Running"}}
	if phase := nested(a.do("POST", path, pod), "status", "phase"); phase != "Pending" {
		t.Errorf("a new pod is %v", phase)
	}
	if phase := nested(a.do("PATCH", path+"/p", object{"status": object{"phase": "Running"}}), "status", "phase"); phase != "Pending" {
		t.Errorf("a write to the pod made it %v", phase)
	}
	got := a.do("PATCH", path+"/p/status", object{"status": object{"phase": "Running"}, "spec": object{"activeDeadlineSeconds": 5}})
	if nested(got, "status", "phase") != "Running" || nested(got, "spec", "activeDeadlineSeconds") != nil {
		t.Errorf("a write to the status: phase %v, deadline %v", nested(got, "status", "phase"), nested(got, "spec", "activeDeadlineSeconds"))
	}
}
