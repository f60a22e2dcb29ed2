package resource_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

// workload is a manifest that leaves out what legacy versions fill in.
func workload(name string, spec object) object {
	template := object{"metadata": object{"labels": object{"app": name}}, "spec": object{"containers": []any{object{"name": "c", "image": "i"}}}}
	merged := object{"template": template}
	for key, value := range spec {
		merged[key] = value
	}
	return object{"metadata": object{"name": name}, "spec": merged}
}

func legacyAPI(t *testing.T) api {
	return api{t: t, catalogue: newCatalogue(t, resource.Options{LegacyWorkloads: true})}
}

const namespaced = "/namespaces/default/"

// TestLegacyDefaults makes workloads in each version and reads them in apps/v1.
func TestLegacyDefaults(t *testing.T) {
	selector := object{"selector": object{"matchLabels": object{"app": "x"}}}
	rolling := func(unavailable, surge any) object {
		return object{"type": "RollingUpdate", "rollingUpdate": object{"maxUnavailable": unavailable, "maxSurge": surge}}
	}
	for _, test := range []struct {
		version, resource string
		spec              object
		want              object
		labelled          bool
	}{
		{"extensions/v1beta1", "deployments", nil, object{"strategy": rolling(int64(1), int64(1)), "revisionHistoryLimit": int64(2147483647), "progressDeadlineSeconds": int64(2147483647)}, true},
		{"apps/v1beta1", "deployments", nil, object{"strategy": rolling("25%", "25%"), "revisionHistoryLimit": int64(2), "progressDeadlineSeconds": int64(600)}, true},
		{"apps/v1beta2", "deployments", selector, object{"strategy": rolling("25%", "25%"), "revisionHistoryLimit": int64(10), "progressDeadlineSeconds": int64(600)}, false},
		{"extensions/v1beta1", "replicasets", nil, object{"replicas": int64(1)}, true},
		{"apps/v1beta2", "replicasets", selector, object{"replicas": int64(1)}, false},
		{"extensions/v1beta1", "daemonsets", nil, object{"updateStrategy": object{"type": "OnDelete"}, "revisionHistoryLimit": int64(10)}, true},
		{"apps/v1beta2", "daemonsets", selector, object{"updateStrategy": rolling(int64(1), int64(0))}, false},
		{"apps/v1beta1", "statefulsets", object{"serviceName": "s"}, object{"updateStrategy": object{"type": "OnDelete"}, "podManagementPolicy": "OrderedReady"}, true},
		{"apps/v1beta2", "statefulsets", selector, object{"updateStrategy": object{"type": "RollingUpdate", "rollingUpdate": object{"partition": int64(0), "maxUnavailable": int64(1)}}}, false},
	} {
		t.Run(test.version+" "+test.resource, func(t *testing.T) {
			a := legacyAPI(t)
			a.do("POST", "/apis/"+test.version+namespaced+test.resource, workload("x", test.spec))
			got := a.do("GET", "/apis/apps/v1"+namespaced+test.resource+"/x", nil)
			test.want["selector"] = selector["selector"]
			for field, want := range test.want {
				if diff := cmp.Diff(want, nested(got, "spec", field)); diff != "" {
					t.Errorf("spec.%s (-want +got):\n%s", field, diff)
				}
			}
			if labelled := got.GetLabels()["app"] == "x"; labelled != test.labelled {
				t.Errorf("labels are %v", got.GetLabels())
			}
		})
	}
}

// TestLegacyFieldsBecomeAnnotations reads and writes what apps/v1 has in annotations and older versions in fields.
func TestLegacyFieldsBecomeAnnotations(t *testing.T) {
	a := legacyAPI(t)
	a.do("POST", "/apis/extensions/v1beta1"+namespaced+"deployments", workload("d", object{"rollbackTo": object{"revision": 3}}))
	if got := a.do("GET", "/apis/apps/v1"+namespaced+"deployments/d", nil).GetAnnotations()["deprecated.deployment.rollback.to"]; got != "3" {
		t.Errorf("the revision to roll back to is %q in apps/v1", got)
	}
	back := a.do("GET", "/apis/apps/v1beta1"+namespaced+"deployments/d", nil)
	if got := nested(back, "spec", "rollbackTo", "revision"); got != int64(3) || len(back.GetAnnotations()) > 0 {
		t.Errorf("rollbackTo in apps/v1beta1: %v, annotations %v", got, back.GetAnnotations())
	}

	a.do("POST", "/apis/extensions/v1beta1"+namespaced+"daemonsets", workload("s", nil))
	changed := a.do("PATCH", "/apis/extensions/v1beta1"+namespaced+"daemonsets/s", object{"spec": object{"template": object{"spec": object{"hostNetwork": true}}}})
	if got := nested(changed, "spec", "templateGeneration"); got != int64(2) {
		t.Errorf("templateGeneration after a change is %v, want 2", got)
	}
	if got := a.do("GET", "/apis/apps/v1"+namespaced+"daemonsets/s", nil).GetAnnotations()["deprecated.daemonset.template.generation"]; got != "2" {
		t.Errorf("the count of templates is %q in apps/v1", got)
	}
	broken := workload("broken", object{"selector": object{"matchLabels": object{"app": "broken"}}})
	broken["metadata"].(object)["annotations"] = object{"deprecated.deployment.rollback.to": "x"}
	a.do("POST", "/apis/apps/v1"+namespaced+"deployments", broken)
	if code, answer := a.call("GET", "/apis/apps/v1beta1"+namespaced+"deployments/broken", "", nil); code != 500 {
		t.Errorf("a deployment that cannot be converted: %d %v", code, answer.Object["message"])
	}
}

func TestLegacySelectorsAndDependents(t *testing.T) {
	a := legacyAPI(t)
	another := object{"spec": object{"selector": object{"matchLabels": object{"app": "d", "b": "c"}}, "template": object{"metadata": object{"labels": object{"b": "c"}}}}}
	for version, want := range map[string]int{"extensions/v1beta1": 200, "apps/v1beta1": 200, "apps/v1beta2": 422, "apps/v1": 422} {
		a.do("POST", "/apis/extensions/v1beta1"+namespaced+"deployments", workload("d", nil))
		if code, _ := a.call("PATCH", "/apis/"+version+namespaced+"deployments/d", "application/merge-patch+json", another); code != want {
			t.Errorf("another selector in %s: %d, want %d", version, code, want)
		}
		a.do("DELETE", "/apis/"+version+namespaced+"deployments/d", nil)
		code, left := a.call("GET", "/apis/apps/v1"+namespaced+"deployments/d", "", nil)
		if version == "apps/v1" {
			if code != 404 {
				t.Errorf("deleted in apps/v1: %d", code)
			}
			continue
		}
		if diff := cmp.Diff([]string{"orphan"}, left.GetFinalizers()); diff != "" {
			t.Errorf("finalizers after a deletion in %s (-want +got):\n%s", version, diff)
		}
		a.do("PATCH", "/apis/apps/v1"+namespaced+"deployments/d", object{"metadata": object{"finalizers": nil}})
	}
}

func TestLegacyScales(t *testing.T) {
	a := legacyAPI(t)
	a.do("POST", "/apis/apps/v1beta1"+namespaced+"deployments", workload("d", nil))
	for version, kind := range map[string]string{
		"apps/v1": "autoscaling/v1", "apps/v1beta2": "apps/v1beta2", "apps/v1beta1": "apps/v1beta1", "extensions/v1beta1": "extensions/v1beta1",
	} {
		path := "/apis/" + version + namespaced + "deployments/d/scale"
		got := a.do("GET", path, nil)
		if got.GetAPIVersion() != kind || got.GetKind() != "Scale" {
			t.Errorf("%s is a %s of %s, want Scale of %s", path, got.GetKind(), got.GetAPIVersion(), kind)
		}
		want := object{"replicas": int64(0), "selector": object{"app": "d"}, "targetSelector": "app=d"}
		if version == "apps/v1" {
			want = object{"replicas": int64(0), "selector": "app=d"}
		}
		if diff := cmp.Diff(any(want), got.Object["status"]); diff != "" {
			t.Errorf("status in %s (-want +got):\n%s", version, diff)
		}
		scaled := a.do("PATCH", path, object{"spec": object{"replicas": 4}})
		if replicas := nested(scaled, "spec", "replicas"); replicas != int64(4) || scaled.GetAPIVersion() != kind {
			t.Errorf("scaled in %s: %v replicas, a Scale of %s", version, replicas, scaled.GetAPIVersion())
		}
		got.Object["spec"] = object{"replicas": 2}
		a.do("PUT", path, object{"apiVersion": kind, "kind": "Scale", "metadata": object{"name": "d"}, "spec": object{"replicas": 2}})
		if replicas := nested(a.do("GET", "/apis/apps/v1"+namespaced+"deployments/d", nil), "spec", "replicas"); replicas != int64(2) {
			t.Errorf("scaled in %s: %v replicas, want 2", version, replicas)
		}
	}
}

// TestManagersOfOtherGroups sees that a write through one group keeps what managers own that wrote through another.
func TestManagersOfOtherGroups(t *testing.T) {
	a := legacyAPI(t)
	a.do("POST", "/apis/extensions/v1beta1"+namespaced+"deployments", workload("d", nil))
	applied := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":3}}`
	code, answer := a.call("PATCH", "/apis/apps/v1"+namespaced+"deployments/d?fieldManager=applier&force=true", "application/apply-patch+yaml", applied)
	if code != 200 {
		t.Fatalf("apply: %d %v", code, answer.Object["message"])
	}
	a.do("PATCH", "/apis/extensions/v1beta1"+namespaced+"deployments/d", object{"metadata": object{"labels": object{"a": "b"}}})
	a.do("PATCH", "/apis/apps/v1beta1"+namespaced+"deployments/d/scale", object{"spec": object{"replicas": 3}})
	versions := map[string][]string{}
	for _, entry := range a.do("GET", "/apis/apps/v1"+namespaced+"deployments/d", nil).GetManagedFields() {
		versions[entry.Manager] = append(versions[entry.Manager], entry.APIVersion)
	}
	if diff := cmp.Diff(map[string][]string{"applier": {"apps/v1"}, "tester": {"extensions/v1beta1"}}, versions); diff != "" {
		t.Errorf("versions of managers (-want +got):\n%s", diff)
	}
}

func TestLegacyKindsOfEachVersion(t *testing.T) {
	c := newCatalogue(t, resource.Options{LegacyWorkloads: true})
	served := map[string][]string{}
	for _, r := range c.Resources() {
		version := r.GVR.GroupVersion().String()
		if version == "extensions/v1beta1" || r.GVR.Group == "apps" && r.GVR.Version != "v1" {
			name := r.GVR.Resource
			if r.Subresource != "" {
				name += "/" + r.Subresource
			}
			served[version] = append(served[version], name)
			if len(r.Warnings) == 0 {
				t.Errorf("%s %s does not warn that it is deprecated", version, name)
			}
		}
	}
	want := map[string][]string{
		"extensions/v1beta1": {"daemonsets", "daemonsets/status", "deployments", "deployments/scale", "deployments/status", "replicasets", "replicasets/scale", "replicasets/status"},
		"apps/v1beta1":       {"controllerrevisions", "deployments", "deployments/scale", "deployments/status", "statefulsets", "statefulsets/scale", "statefulsets/status"},
		"apps/v1beta2": {
			"controllerrevisions", "daemonsets", "daemonsets/status", "deployments", "deployments/scale", "deployments/status",
			"replicasets", "replicasets/scale", "replicasets/status", "statefulsets", "statefulsets/scale", "statefulsets/status",
		},
	}
	if diff := cmp.Diff(want, served); diff != "" {
		t.Errorf("served (-want +got):\n%s", diff)
	}
	deployments := lookup(t, c, schema.GroupVersionResource{Group: "extensions", Version: "v1beta1", Resource: "deployments"}, "")
	if len(deployments.Categories) > 0 {
		t.Errorf("categories in extensions: %v", deployments.Categories)
	}
}
