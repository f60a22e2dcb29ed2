package resource_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

const (
	configurationsV1      = "/apis/admissionregistration.k8s.io/v1/"
	configurationsV1beta1 = "/apis/admissionregistration.k8s.io/v1beta1/"
)

func configuration(name string, webhooks ...any) object {
	return object{"metadata": object{"name": name}, "webhooks": webhooks}
}

func TestConfigurationsOfV1beta1AreServedWhenAsked(t *testing.T) {
	for _, kind := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
		a := api{t: t, catalogue: newCatalogue(t, resource.Options{V1beta1Configurations: true})}
		minimal := object{"name": "hook.example.com", "clientConfig": object{"service": object{"name": "s", "namespace": "n"}},
			"rules": []any{object{"operations": []any{"CREATE"}, "apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"pods"}}}}
		want := object{
			"name": "hook.example.com", "clientConfig": object{"service": object{"name": "s", "namespace": "n", "port": int64(443)}},
			"rules":         []any{object{"operations": []any{"CREATE"}, "apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"pods"}, "scope": "*"}},
			"failurePolicy": "Ignore", "matchPolicy": "Exact", "sideEffects": "Unknown", "timeoutSeconds": int64(30),
			"namespaceSelector": object{}, "objectSelector": object{}, "admissionReviewVersions": []any{"v1beta1"},
		}
		if kind == "mutatingwebhookconfigurations" {
			want["reinvocationPolicy"] = "Never"
		}
		a.do("POST", configurationsV1beta1+kind, configuration("x", minimal))
		for _, path := range []string{configurationsV1beta1, configurationsV1} {
			if diff := cmp.Diff(any([]any{want}), a.do("GET", path+kind+"/x", nil).Object["webhooks"]); diff != "" {
				t.Errorf("%s%s (-want +got):\n%s", path, kind, diff)
			}
		}

		some := object{"name": "hook.example.com", "clientConfig": object{"url": "https://example.com/"}, "sideEffects": "Some", "admissionReviewVersions": []any{"v1"}}
		for path, want := range map[string]int{configurationsV1beta1: 201, configurationsV1: 422} {
			if code, _ := a.call("POST", path+kind, "application/json", configuration("twice", some, some)); code != want {
				t.Errorf("two webhooks of a name, with side effects: POST %s%s: %d, want %d", path, kind, code, want)
			}
		}
		// What is stored so may stay so.
		a.do("PATCH", configurationsV1+kind+"/twice", object{"metadata": object{"labels": object{"a": "b"}}})
		a.do("PATCH", configurationsV1beta1+kind+"/x", object{"webhooks": []any{some, some}})
	}
}
