package resource_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

func TestPolicyStatus(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
	stored := func() *admissionregistrationv1.ValidatingAdmissionPolicy {
		t.Helper()
		all := a.catalogue.Sources().ValidatingPolicies()
		if len(all) != 1 {
			t.Fatalf("%d policies are stored, want 1", len(all))
		}
		return all[0]
	}
	spec := func(group, expression string) object {
		return object{
			"matchConstraints": object{"resourceRules": []any{object{"operations": []any{"*"}, "apiGroups": []any{group}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps", "things"}}}},
			"validations":      []any{object{"expression": expression}},
		}
	}
	wrong := &admissionregistrationv1.TypeChecking{ExpressionWarnings: []admissionregistrationv1.ExpressionWarning{{
		FieldRef: "spec.validations[0].expression",
		Warning:  "/v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'none'\n | object.none == 1\n | ......^\n",
	}}}

	created := a.do("POST", policies, object{"metadata": object{"name": "p"}, "spec": spec("", "object.none == 1")})
	if status, ok := created.Object["status"].(map[string]any); !ok || len(status) > 0 {
		t.Errorf("the answer to the creation has the status %v, want none yet", created.Object["status"])
	}
	for _, step := range []struct {
		what       string
		change     object
		generation int64
		checking   *admissionregistrationv1.TypeChecking
	}{
		{"created", nil, 1, wrong},
		{"labelled", object{"metadata": object{"labels": object{"a": "b"}}}, 1, wrong},
		{"mended: server-side apply drops the struct that it empties", object{"spec": spec("", "object.kind == 'a'")}, 2, nil},
		{"changed", object{"spec": spec("", "object.kind == 'b'")}, 3, &admissionregistrationv1.TypeChecking{}},
		{"of a custom kind that is not there", object{"spec": spec("example.com", "object.none == 1")}, 4, &admissionregistrationv1.TypeChecking{}},
		{"wrong again", object{"spec": spec("", "object.none == 1")}, 5, wrong},
	} {
		before := a.catalogue.Sources().ValidatingPolicies()[0].ResourceVersion
		if step.change != nil {
			a.do("PATCH", policies+"/p", step.change)
		}
		policy := stored()
		if policy.Generation != step.generation || policy.Status.ObservedGeneration != step.generation {
			t.Errorf("%s: generation %d, observed %d, want %d", step.what, policy.Generation, policy.Status.ObservedGeneration, step.generation)
		}
		if diff := cmp.Diff(step.checking, policy.Status.TypeChecking); diff != "" {
			t.Errorf("%s: typeChecking (-want +got):\n%s", step.what, diff)
		}
		if step.change != nil && policy.ResourceVersion == before {
			t.Errorf("%s: the resource version stays", step.what)
		}
	}

	var managers []string
	for _, entry := range stored().ManagedFields {
		managers = append(managers, entry.Manager+" "+string(entry.Operation)+" "+entry.Subresource)
		if at := metav1.NewTime(start); !entry.Time.Equal(&at) {
			t.Errorf("%s is of %v, want the clock's time", entry.Manager, entry.Time)
		}
	}
	if want := "validatingadmissionpolicy-status Apply status"; !slices.Contains(managers, want) {
		t.Errorf("managers %q, want %q among them", managers, want)
	}
}

// TestPolicyStatusIsWrittenByItself shows what a watch sees: the policy as the client wrote it, then its status.
func TestPolicyStatusIsWrittenByItself(t *testing.T) {
	c := newCatalogue(t, resource.Options{})
	a := api{t: t, catalogue: c}
	policies := admissionregistrationv1.SchemeGroupVersion.WithResource("validatingadmissionpolicies")
	events, err := storageOf[rest.Watcher](t, c, policies, "").Watch(in(""), &metainternalversion.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	a.do("POST", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", object{"metadata": object{"name": "p"}, "spec": object{
		"matchConstraints": object{"resourceRules": []any{object{"operations": []any{"*"}, "apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps"}}}},
		"validations":      []any{object{"expression": "true"}},
	}})
	for _, want := range []int64{0, 1} {
		policy := (<-events.ResultChan()).Object.(*admissionregistrationv1.ValidatingAdmissionPolicy)
		if policy.Status.ObservedGeneration != want || policy.Generation != 1 {
			t.Errorf("observed generation %d of %d, want %d of 1", policy.Status.ObservedGeneration, policy.Generation, want)
		}
	}
}

// TestPolicyStatusIsNoConflict shows who may go on from what a write answered: it is out of date when another client wrote,
// not when the server wrote the status.
func TestPolicyStatusIsNoConflict(t *testing.T) {
	a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
	const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
	expression := func(value string) object {
		return object{
			"matchConstraints": object{"resourceRules": []any{object{"operations": []any{"*"}, "apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps"}}}},
			"validations":      []any{object{"expression": value}},
		}
	}
	mine := a.do("POST", policies, object{"metadata": object{"name": "p"}, "spec": expression("true")})
	first := mine.DeepCopy()
	for _, step := range []struct {
		what       string
		change     func()
		generation int64
	}{
		{"labels", func() { mine.SetLabels(map[string]string{"a": "b"}) }, 1},
		{"another expression", func() { mine.Object["spec"] = map[string]any(expression("1 == 1")) }, 2},
		{"and another", func() { mine.Object["spec"] = map[string]any(expression("2 == 2")) }, 3},
		{"other labels", func() { mine.SetLabels(nil) }, 3},
		{"nothing", func() {}, 3},
	} {
		step.change()
		mine = a.do("PUT", policies+"/p", mine.Object)
		policy := a.catalogue.Sources().ValidatingPolicies()[0]
		if policy.Generation != step.generation || policy.Status.ObservedGeneration != step.generation {
			t.Errorf("%s: generation %d, observed %d, want %d", step.what, policy.Generation, policy.Status.ObservedGeneration, step.generation)
		}
		var managers []string
		for _, entry := range policy.ManagedFields {
			managers = append(managers, entry.Manager+" "+string(entry.Operation))
		}
		if len(managers) != 2 || managers[0] != "validatingadmissionpolicy-status Apply" {
			t.Errorf("%s: managers %q, want that of the status and the client", step.what, managers)
		}
	}
	a.do("PATCH", policies+"/p", object{"metadata": object{"labels": object{"by": "another"}}})
	for what, outdated := range map[string]*unstructured.Unstructured{"the first answer": first, "the latest but one": mine} {
		if code, answer := a.call("PUT", policies+"/p", "application/json", outdated.Object); code != 409 {
			t.Errorf("%s: %d: %v, want 409", what, code, answer.Object["message"])
		}
	}
}
