package resource_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

func TestServicesGetAddressesAndPorts(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	path := "/api/v1/namespaces/default/services"
	port := func(number int) object { return object{"name": "p" + string(rune('a'+number)), "port": 80 + number} }
	for _, step := range []struct {
		name, method string
		spec         object
		address      any
		ports        []any
	}{
		{"the first address", "POST", object{"ports": []any{port(0)}}, "10.96.0.2", []any{nil}},
		{"its own address", "POST", object{"clusterIP": "10.96.0.3", "ports": []any{port(0)}}, "10.96.0.3", []any{nil}},
		{"the next one that is free", "POST", object{"type": "NodePort", "ports": []any{port(0), port(1)}}, "10.96.0.4", []any{int64(30000), int64(30001)}},
		{"a port of its own", "POST", object{"type": "NodePort", "ports": []any{object{"name": "x", "port": 1, "nodePort": 30002}, port(0)}}, "10.96.0.5", []any{int64(30002), int64(30003)}},
		{"none", "POST", object{"clusterIP": "None"}, "None", nil},
		{"another one that is outside", "POST", object{"type": "ExternalName", "externalName": "example.com"}, nil, nil},
	} {
		got := a.do("POST", path, object{"metadata": object{"generateName": "s-"}, "spec": step.spec})
		checkService(t, step.name, got.Object, step.address, step.ports)
	}

	// A client that writes the whole object need not know what the server assigned.
	a.do("POST", path, object{"metadata": object{"name": "kept"}, "spec": object{"type": "NodePort", "ports": []any{port(0)}}})
	got := a.do("PUT", path+"/kept", object{"metadata": object{"name": "kept"}, "spec": object{"type": "NodePort", "ports": []any{port(1), port(0)}}})
	checkService(t, "kept", got.Object, "10.96.0.6", []any{int64(30005), int64(30004)})

	got = a.do("PATCH", path+"/kept", object{"spec": object{"type": "ExternalName", "externalName": "example.com", "ports": nil}})
	checkService(t, "given back", got.Object, nil, nil)
	got = a.do("POST", path, object{"metadata": object{"name": "next"}, "spec": object{"ports": []any{port(0)}}})
	checkService(t, "what was given back", got.Object, "10.96.0.6", []any{nil})
}

func checkService(t *testing.T, name string, service object, address any, nodePorts []any) {
	t.Helper()
	spec := service["spec"].(object)
	if spec["clusterIP"] != address {
		t.Errorf("%s: address %v, want %v", name, spec["clusterIP"], address)
	}
	var got []any
	ports, _ := spec["ports"].([]any)
	for _, port := range ports {
		got = append(got, port.(object)["nodePort"])
	}
	if diff := cmp.Diff(nodePorts, got); diff != "" {
		t.Errorf("%s: node ports (-want +got):\n%s", name, diff)
	}
}
