package resource_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

// TestAPIServices registers API servers. The answers are those of a kube-apiserver v1.37.2.
func TestAPIServices(t *testing.T) {
	const path = "/apis/apiregistration.k8s.io/v1/apiservices"
	service := func(name string, spec object) object {
		spec["version"], spec["versionPriority"] = "v1", 5
		return object{
			"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": object{"name": name}, "spec": spec,
			"status": object{"conditions": []any{object{"type": "Available", "status": "Unknown"}}},
		}
	}
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	for name, test := range map[string]struct {
		service      object
		spec, status any
	}{
		"local": {
			service("v1.local.example.com", object{"group": "local.example.com", "groupPriorityMinimum": 10}),
			object{"group": "local.example.com", "version": "v1", "groupPriorityMinimum": int64(10), "versionPriority": int64(5)},
			object{"conditions": []any{object{
				"type": "Available", "status": "True", "lastTransitionTime": "2024-05-06T07:08:09Z",
				"reason": "Local", "message": "Local APIServices are always available",
			}}},
		},
		"remote": {
			service("v1.remote.example.com", object{"group": "remote.example.com", "groupPriorityMinimum": 10, "service": object{"namespace": "a", "name": "b"}}),
			object{
				"group": "remote.example.com", "version": "v1", "groupPriorityMinimum": int64(10), "versionPriority": int64(5),
				"service": object{"namespace": "a", "name": "b", "port": int64(443)},
			},
			object{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			created := a.do(http.MethodPost, path, test.service)
			if diff := cmp.Diff([]any{test.spec, test.status}, []any{nested(created, "spec"), nested(created, "status")}); diff != "" {
				t.Errorf("spec and status (-want +got):\n%s", diff)
			}
		})
	}
	code, refused := a.call(http.MethodPost, path, "application/json",
		service("x", object{"group": "g.example.com", "groupPriorityMinimum": 0, "service": object{"namespace": "a", "name": "b", "port": 0}}))
	const want = `APIService.apiregistration.k8s.io "x" is invalid: [metadata.name: Invalid value: "x": must be ` +
		"`spec.version+\".\"+spec.group`: \"v1.g.example.com\", spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000, " +
		"spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive]"
	if code != http.StatusUnprocessableEntity || nested(refused, "message") != want {
		t.Errorf("%d %v, want 422 %s", code, nested(refused, "message"), want)
	}
}
