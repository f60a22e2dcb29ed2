package record

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
)

func attributes(operation admission.Operation, name, oldName string) admission.Attributes {
	var old runtime.Object
	if oldName != "" {
		old = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: oldName}}
	}
	return admission.NewAttributesRecord(nil, old, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "default", name,
		corev1.SchemeGroupVersion.WithResource("configmaps"), "", operation, nil, true, &user.DefaultInfo{Name: "alice"})
}

// pass is one pass of the chain in a test.
type pass struct {
	phase         decision.Phase
	operation     admission.Operation
	name, oldName string
	err           error
}

func TestLog(t *testing.T) {
	step := func(attempt, round int, phase decision.Phase) decision.Step {
		return decision.Step{Attempt: attempt, Round: round, Phase: phase, Plugin: "x"}
	}
	create, update, remove := admission.Create, admission.Update, admission.Delete
	mutating, validating := decision.Mutating, decision.Validating
	type record struct {
		name    string
		allowed bool
		err     string
		steps   []decision.Step
	}
	tests := []struct {
		name   string
		passes []pass
		want   []record
	}{
		{"none", nil, nil},
		{"both halves", []pass{{mutating, create, "a", "", nil}, {validating, create, "a", "", nil}},
			[]record{{"a", true, "", []decision.Step{step(1, 0, mutating), step(1, 1, mutating), step(1, 0, validating)}}}},
		{"refused", []pass{{mutating, create, "a", "", errors.New("no")}},
			[]record{{"a", false, "no", []decision.Step{step(1, 0, mutating), step(1, 1, mutating)}}}},
		{"a name generated between the halves", []pass{{mutating, create, "", "", nil}, {validating, create, "gen-1", "", nil}},
			[]record{{"gen-1", true, "", []decision.Step{step(1, 0, mutating), step(1, 1, mutating), step(1, 0, validating)}}}},
		{"repeated", []pass{{mutating, update, "a", "a", nil}, {validating, update, "a", "a", errors.New("conflict")}, {mutating, update, "a", "a", nil}, {validating, update, "a", "a", nil}},
			[]record{{"a", true, "", []decision.Step{step(1, 0, mutating), step(1, 1, mutating), step(1, 0, validating), step(2, 0, mutating), step(2, 1, mutating), step(2, 0, validating)}}}},
		{"objects of a deletecollection", []pass{{mutating, remove, "", "a", nil}, {mutating, remove, "", "b", nil}, {validating, remove, "", "b", errors.New("no")}, {validating, remove, "", "a", nil}},
			[]record{
				{"a", true, "", []decision.Step{step(1, 0, mutating), step(1, 1, mutating), step(1, 0, validating)}},
				{"b", false, "no", []decision.Step{step(1, 0, mutating), step(1, 1, mutating), step(1, 0, validating)}},
			}},
		{"an apply that found nothing to update and creates", []pass{{mutating, update, "a", "a", errors.New("not found")}, {mutating, create, "a", "", nil}},
			[]record{
				{"a", false, "not found", []decision.Step{step(1, 0, mutating), step(1, 1, mutating)}},
				{"a", true, "", []decision.Step{step(1, 0, mutating), step(1, 1, mutating)}},
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx := audit.WithAuditContext(t.Context())
			audit.WithAuditID(ctx, "id")
			ctx, log := With(ctx)
			for _, p := range tt.passes {
				pass := Begin(ctx, attributes(p.operation, p.name, p.oldName), p.phase)
				pass.Report(decision.Step{Plugin: "x"})
				if p.phase == mutating {
					pass.Reinvoke()
					pass.Report(decision.Step{Plugin: "x"})
				}
				pass.End(p.err)
			}
			var got []record
			for _, r := range log.Records() {
				got = append(got, record{r.Request.Name, r.Allowed, r.Error, r.Steps})
				if r.AuditID != "id" || r.Request.User != "alice" || !r.Request.DryRun || r.Request.Kind.Kind != "ConfigMap" {
					t.Errorf("record %+v", r)
				}
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(record{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWithoutLog(t *testing.T) {
	pass := Begin(t.Context(), attributes(admission.Create, "a", ""), decision.Mutating)
	pass.Report(decision.Step{})
	pass.Reinvoke()
	pass.End(nil)
	if pass != nil {
		t.Errorf("pass %v, want nil", pass)
	}
}
