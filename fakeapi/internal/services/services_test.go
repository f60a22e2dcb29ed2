package services_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/services"
)

func TestResolve(t *testing.T) {
	ports := []corev1.ServicePort{{Port: 443}, {Port: 8443}}
	stored := map[string]corev1.ServiceSpec{
		"a/cluster":  {Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.0.0.1", Ports: ports},
		"a/headless": {Type: corev1.ServiceTypeClusterIP, ClusterIP: corev1.ClusterIPNone, Ports: ports},
		"a/node":     {Type: corev1.ServiceTypeNodePort, ClusterIP: "10.0.0.2", Ports: ports},
		"a/external": {Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
		"a/odd":      {Type: "Odd"},
		"a/mapped":   {Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.0.0.3", Ports: ports},
	}
	resolver := services.Resolver{
		Addresses: map[string]string{"a/mapped": "127.0.0.1:1", "a/mapped:8443": "127.0.0.1:2", "b/unknown": "127.0.0.1:3"},
		Lookup: func(_ context.Context, namespace, name string) (*corev1.Service, error) {
			spec, ok := stored[namespace+"/"+name]
			if !ok {
				return nil, apierrors.NewNotFound(corev1.Resource("services"), name)
			}
			return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}, nil
		},
	}
	for _, tt := range []struct {
		namespace, name string
		port            int32
		want, err       string
	}{
		{"a", "cluster", 443, "10.0.0.1:443", ""},
		{"a", "cluster", 8443, "10.0.0.1:8443", ""},
		{"a", "cluster", 80, "", `no service port 80 found for service "cluster"`},
		{"a", "headless", 443, "", `cannot route to service with ClusterIP "None"`},
		{"a", "node", 443, "10.0.0.2:443", ""},
		{"a", "external", 99, "localhost:99", ""},
		{"a", "odd", 443, "", `unsupported service type "Odd"`},
		{"a", "missing", 443, "", `service "missing" not found`},
		{"a", "mapped", 443, "127.0.0.1:1", ""},
		{"a", "mapped", 8443, "127.0.0.1:2", ""},
		{"b", "unknown", 443, "127.0.0.1:3", ""},
	} {
		got, err := resolver.Resolve(t.Context(), tt.namespace, tt.name, tt.port)
		if got != tt.want || errorText(err) != tt.err {
			t.Errorf("%s/%s:%d: %q, %v; want %q, %q", tt.namespace, tt.name, tt.port, got, err, tt.want, tt.err)
		}
	}
}

func TestResolveWithoutServices(t *testing.T) {
	if _, err := (services.Resolver{}).Resolve(t.Context(), "a", "x", 443); errorText(err) != `service "x" not found` {
		t.Errorf("%v", err)
	}
}

func TestResolveEndpoint(t *testing.T) {
	resolver := services.Resolver{Addresses: map[string]string{"a/known": "127.0.0.1:1"}}
	endpoint, err := resolver.ResolveEndpoint("a", "known", 443)
	if err != nil || endpoint.String() != "https://127.0.0.1:1" {
		t.Errorf("%v, %v; want https://127.0.0.1:1", endpoint, err)
	}
	if endpoint, err := resolver.ResolveEndpoint("a", "unknown", 443); errorText(err) != `service "unknown" not found` {
		t.Errorf("%v, %v; want an error", endpoint, err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
