package resource_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

// TestAggregatedRoles shows that a role with an aggregationRule follows the roles that it is made of, through others too.
func TestAggregatedRoles(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
	rule := func(verbs ...any) []any {
		return []any{object{"verbs": verbs, "apiGroups": []any{"example.com"}, "resources": []any{"things"}}}
	}
	selecting := func(labels ...object) object {
		var selectors []any
		for _, l := range labels {
			selectors = append(selectors, object{"matchLabels": l})
		}
		return object{"clusterRoleSelectors": selectors}
	}
	verbs := func(name string) []string {
		t.Helper()
		for _, stored := range a.catalogue.Stored(rbacv1.Resource("clusterroles"), "") {
			if role := stored.(*rbacv1.ClusterRole); role.Name == name {
				var verbs []string
				for _, r := range role.Rules {
					verbs = append(verbs, r.Verbs...)
				}
				return verbs
			}
		}
		t.Fatalf("there is no role %s", name)
		return nil
	}
	a.do("POST", roles, object{"metadata": object{"name": "whole"}, "rules": rule("delete"), "aggregationRule": selecting(object{"a": "b"}, object{"c": "d"})})
	a.do("POST", roles, object{"metadata": object{"name": "all"}, "aggregationRule": selecting(object{"whole": "yes"})})
	a.do("PATCH", roles+"/whole", object{"metadata": object{"labels": object{"whole": "yes"}}})
	for _, step := range []struct {
		what, method, path string
		body               object
		want               []string
	}{
		{"rules of its own stay until there are others", "PATCH", "/whole", object{"metadata": object{"labels": object{"x": "y"}}}, []string{"delete"}},
		{"a role that is selected", "POST", "", object{"metadata": object{"name": "z", "labels": object{"a": "b"}}, "rules": rule("get")}, []string{"get"}},
		{"selector by selector, in order of name", "POST", "", object{"metadata": object{"name": "y", "labels": object{"a": "b"}}, "rules": rule("list")}, []string{"list", "get"}},
		{"the second selector", "POST", "", object{"metadata": object{"name": "a", "labels": object{"c": "d"}}, "rules": rule("watch")}, []string{"list", "get", "watch"}},
		{"what is there already", "POST", "", object{"metadata": object{"name": "b", "labels": object{"a": "b", "c": "d"}}, "rules": rule("get")}, []string{"get", "list", "watch"}},
		{"other rules", "PATCH", "/z", object{"rules": rule("patch")}, []string{"get", "list", "patch", "watch"}},
		{"no label any more", "PATCH", "/b", object{"metadata": object{"labels": object{"a": nil, "c": nil}}}, []string{"list", "patch", "watch"}},
		{"rules of its own are replaced", "PATCH", "/whole", object{"rules": rule("delete")}, []string{"list", "patch", "watch"}},
		{"deleted", "DELETE", "/y", nil, []string{"patch", "watch"}},
		{"nothing is selected", "PATCH", "/whole", object{"aggregationRule": selecting(object{"none": "none"})}, nil},
	} {
		a.do(step.method, roles+step.path, bodyOf(step.body))
		for _, name := range []string{"whole", "all"} {
			if diff := cmp.Diff(step.want, verbs(name)); diff != "" {
				t.Errorf("%s: verbs of %s (-want +got):\n%s", step.what, name, diff)
			}
		}
	}
}

// TestAggregationIsNoConflict shows that a client can go on from the answer to a creation, although the role got its rules
// meanwhile.
func TestAggregationIsNoConflict(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
	rule := []any{object{"verbs": []any{"get"}, "apiGroups": []any{"example.com"}, "resources": []any{"things"}}}
	a.do("POST", roles, object{"metadata": object{"name": "part", "labels": object{"a": "b"}}, "rules": rule})
	created := a.do("POST", roles, object{"metadata": object{"name": "whole"}, "aggregationRule": object{"clusterRoleSelectors": []any{object{"matchLabels": object{"a": "b"}}}}})
	updated := created.DeepCopy()
	updated.SetLabels(map[string]string{"c": "d"})
	a.do("PUT", roles+"/whole", updated.Object)
	stored := a.do("GET", roles+"/whole", nil)
	if diff := cmp.Diff(rule, nested(stored, "rules")); diff != "" || stored.GetLabels()["c"] != "d" {
		t.Errorf("the role has the labels %v and the rules (-want +got):\n%s", stored.GetLabels(), diff)
	}
	if code, answer := a.call("PUT", roles+"/whole", "application/json", created.Object); code != 409 {
		t.Errorf("the answer to the creation, after another update: %d: %v, want 409", code, answer.Object["message"])
	}
}

func bodyOf(o object) any {
	if o == nil {
		return nil
	}
	return o
}
