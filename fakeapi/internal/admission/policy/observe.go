package policy

import (
	"context"

	"github.com/google/cel-go/common/types"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/cel"
)

// observer writes the evaluations of a policy with a param into the step that records it, with the parts of those that
// failed or, with traceAll, of all.
func observer(step *decision.Step, param runtime.Object, traceAll bool) cel.Observe {
	name := paramName(param)
	return func(ctx context.Context, evaluation *cel.Evaluation, x *cel.Expression, r cel.Result) {
		e := decision.Evaluation{Expression: x.Path, Param: name, Result: decision.Value}
		switch {
		case r.Err != nil:
			e.Result, e.Error = decision.Error, r.Err.Error()
		case r.Value == types.True:
			e.Result = decision.True
		case r.Value == types.False:
			e.Result = decision.False
		}
		if evaluation != nil && (traceAll || e.Result == decision.Error || e.Result == decision.False && x.Purpose == cel.Validation) {
			for _, p := range evaluation.Trace(ctx, x) {
				e.Parts = append(e.Parts, decision.Part{Expression: p.Source, Filled: p.Filled, Value: p.Value, Failed: p.Failed})
			}
		}
		step.Evaluations = append(step.Evaluations, e)
	}
}

// paramName is the name of a param, with its namespace where it has one; empty for no param.
func paramName(param runtime.Object) string {
	if param == nil {
		return ""
	}
	accessor, err := meta.Accessor(param)
	if err != nil {
		return ""
	}
	if namespace := accessor.GetNamespace(); namespace != "" {
		return namespace + "/" + accessor.GetName()
	}
	return accessor.GetName()
}
