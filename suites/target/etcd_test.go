package target

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestStorageKey(t *testing.T) {
	for _, test := range []struct {
		group, resource string
		scope           meta.RESTScope
		want            string
	}{
		{"", "configmaps", meta.RESTScopeNamespace, "/registry/configmaps/ns/name"},
		{"", "services", meta.RESTScopeNamespace, "/registry/services/specs/ns/name"},
		{"", "nodes", meta.RESTScopeRoot, "/registry/minions/name"},
		{"networking.k8s.io", "ingresses", meta.RESTScopeNamespace, "/registry/ingress/ns/name"},
		{"apps", "deployments", meta.RESTScopeNamespace, "/registry/deployments/ns/name"},
		{"admissionregistration.k8s.io", "validatingwebhookconfigurations", meta.RESTScopeRoot, "/registry/validatingwebhookconfigurations/name"},
		{"apiextensions.k8s.io", "customresourcedefinitions", meta.RESTScopeRoot, "/registry/apiextensions.k8s.io/customresourcedefinitions/name"},
		{"example.com", "limits", meta.RESTScopeNamespace, "/registry/example.com/limits/ns/name"},
		{"example.com", "limits", meta.RESTScopeRoot, "/registry/example.com/limits/name"},
	} {
		mapping := &meta.RESTMapping{Resource: schema.GroupVersionResource{Group: test.group, Version: "v1", Resource: test.resource}, Scope: test.scope}
		if got := storageKey(mapping, "ns", "name"); got != test.want {
			t.Errorf("%s.%s: %s, want %s", test.resource, test.group, got, test.want)
		}
	}
}
