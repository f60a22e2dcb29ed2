package policy

import (
	"context"
	"fmt"

	"github.com/google/cel-go/common/types/ref"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/cel"
)

// mutations is a compiled MutatingAdmissionPolicy.
type mutations struct {
	scope      *cel.Scope
	conditions *cel.Conditions
	mutations  []mutation
}

// mutation is one entry of spec.mutations.
type mutation struct {
	patchType  admissionregistrationv1.PatchType
	expression *cel.Expression
}

func compileMutations(spec *admissionregistrationv1.MutatingAdmissionPolicySpec) *mutations {
	scope := newScope(spec.ParamKind, spec.Variables)
	compiled := &mutations{scope: scope, conditions: scope.CompileMatchConditions(spec.MatchConditions)}
	for i, source := range spec.Mutations {
		m := mutation{patchType: source.PatchType}
		switch {
		case source.PatchType == admissionregistrationv1.PatchTypeJSONPatch && source.JSONPatch != nil:
			m.expression = scope.Compile(source.JSONPatch.Expression, cel.JSONPatch, cel.Stored)
			m.expression.Path = fmt.Sprintf("spec.mutations[%d].jsonPatch.expression", i)
		case source.PatchType == admissionregistrationv1.PatchTypeApplyConfiguration && source.ApplyConfiguration != nil:
			m.expression = scope.Compile(source.ApplyConfiguration.Expression, cel.ApplyConfiguration, cel.Stored)
			m.expression.Path = fmt.Sprintf("spec.mutations[%d].applyConfiguration.expression", i)
		default:
			continue // not valid, so not stored
		}
		compiled.mutations = append(compiled.mutations, m)
	}
	return compiled
}

// evaluate evaluates a mutation. Each has a cost budget of its own, and evaluates the variables anew: the object may have
// changed.
func (m *mutation) evaluate(ctx context.Context, scope *cel.Scope, in *cel.Input) (ref.Val, error) {
	if m.expression.Err != nil {
		if in.Observe != nil {
			in.Observe(ctx, nil, m.expression, cel.Result{Err: m.expression.Err})
		}
		return nil, m.expression.Err
	}
	evaluation, err := scope.EvaluatePatch(ctx, in, cel.PolicyBudget)
	if err != nil {
		return nil, err
	}
	result, err := evaluation.Eval(ctx, m.expression)
	if err != nil {
		return nil, err
	}
	return result.Value, result.Err
}

// mismatched words that a value names its types otherwise than its fields.
func mismatched(err error) error {
	return fmt.Errorf("type mismatch: %w", err)
}
