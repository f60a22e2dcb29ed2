package cel

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/cel-go/common/types"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// Conditions are the match conditions of a webhook or policy.
type Conditions struct {
	names    []string
	scope    *Scope
	compiled func() []*Expression
}

// CompileMatchConditions returns the match conditions of a webhook as they are stored. They are compiled when first
// matched.
func CompileMatchConditions(conditions []admissionregistrationv1.MatchCondition) *Conditions {
	return &Conditions{
		names: namesOf(conditions),
		compiled: sync.OnceValue(func() []*Expression {
			compiled := make([]*Expression, len(conditions))
			for i := range conditions {
				compiled[i] = Compile(conditions[i].Expression, MatchCondition, false, Stored)
			}
			return compiled
		}),
	}
}

// CompileMatchConditions compiles the match conditions of a policy as they are stored. They see the variables declared
// so far.
func (s *Scope) CompileMatchConditions(conditions []admissionregistrationv1.MatchCondition) *Conditions {
	compiled := make([]*Expression, len(conditions))
	for i := range conditions {
		compiled[i] = s.Compile(conditions[i].Expression, MatchCondition, Stored)
		compiled[i].Path = fmt.Sprintf("spec.matchConditions[%d].expression", i)
	}
	return &Conditions{names: namesOf(conditions), scope: s, compiled: func() []*Expression { return compiled }}
}

func namesOf(conditions []admissionregistrationv1.MatchCondition) []string {
	names := make([]string, len(conditions))
	for i := range conditions {
		names[i] = conditions[i].Name
	}
	return names
}

// Match tells whether all conditions are true. If one is false, the request does not match, whatever the others came to,
// and failed is the first such condition's name. Otherwise err holds what went wrong, each text once: the caller decides
// by the failure policy. An error is also that the cost budget was spent, which keeps even a false condition from
// deciding.
func (c *Conditions) Match(ctx context.Context, in *Input) (matched bool, failed string, err error) {
	if len(c.names) == 0 {
		return true, "", nil
	}
	seen := *in
	seen.Resource, seen.Namespace = in.Attributes.GetResource(), nil
	evaluation := c.scope.Evaluate(ctx, &seen, ConditionsBudget)
	results := make([]Result, len(c.names))
	for i, condition := range c.compiled() {
		if results[i], err = evaluation.Eval(ctx, condition); err != nil {
			return false, "", err
		}
	}
	var errs []error
	for i, result := range results {
		if result.Value == types.False {
			return false, c.names[i], nil
		}
		if result.Err != nil {
			errs = append(errs, result.Err)
		}
	}
	if len(errs) > 0 {
		return false, "", utilerrors.NewAggregate(errs)
	}
	return true, "", nil
}
