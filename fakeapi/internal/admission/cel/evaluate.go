package cel

import (
	"context"
	"fmt"
	"math"

	"github.com/google/cel-go/common/types/ref"

	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

const (
	// ConditionsBudget is the cost that the match conditions of one webhook or policy may spend together.
	ConditionsBudget int64 = celconfig.RuntimeCELCostBudgetMatchConditions
	// PolicyBudget is the cost that the other expressions of one policy may spend together, for one binding and param.
	PolicyBudget int64 = celconfig.RuntimeCELCostBudget
)

// Result is what became of one expression.
type Result struct {
	// Value is what the expression evaluated to; nil where Err is set.
	Value ref.Val
	// Err is why the expression did not compile or could not be evaluated, worded as the API words it.
	Err error
}

// Observe is told what an expression came to, or the error that ended all evaluation. It may trace the expression in the
// evaluation.
type Observe func(ctx context.Context, e *Evaluation, x *Expression, r Result)

// Evaluation evaluates expressions on one input. They share the values of the variables, each evaluated when first
// read, and a cost budget. An Evaluation belongs to one goroutine; its input must not change while it lasts.
type Evaluation struct {
	activation *activation
	budget     int64
	// variables is the cost of the variables read since the last expression ended.
	variables int64
	observe   Observe // nil when nobody asks
}

// Evaluate begins an evaluation with a budget of cost units. The scope is nil for expressions that see no variables.
func (s *Scope) Evaluate(ctx context.Context, in *Input, budget int64) *Evaluation {
	return s.begin(ctx, &activation{in: in}, budget)
}

// EvaluatePatch is Evaluate for the expressions of mutations: what they read of the objects can become part of a patch.
// An error says that an object has no JSON form.
func (s *Scope) EvaluatePatch(ctx context.Context, in *Input, budget int64) (*Evaluation, error) {
	a := &activation{in: in}
	if err := a.convertObjects(); err != nil {
		return nil, err
	}
	return s.begin(ctx, a, budget), nil
}

func (s *Scope) begin(ctx context.Context, a *activation, budget int64) *Evaluation {
	e := &Evaluation{activation: a, budget: budget, observe: a.in.Observe}
	if s != nil {
		a.bind = func() ref.Val { return s.bind(ctx, e) }
	}
	return e
}

// Budget is the cost that may still be spent.
func (e *Evaluation) Budget() int64 { return e.budget }

// Eval evaluates one expression. An error says that no further expression may be evaluated: the budget is spent.
func (e *Evaluation) Eval(ctx context.Context, x *Expression) (Result, error) {
	result, err := e.eval(ctx, x)
	if err != nil {
		e.observed(ctx, x, Result{Err: err})
		return result, err
	}
	e.observed(ctx, x, result)
	return result, nil
}

func (e *Evaluation) observed(ctx context.Context, x *Expression, r Result) {
	if e.observe != nil {
		e.observe(ctx, e, x, r)
	}
}

func (e *Evaluation) eval(ctx context.Context, x *Expression) (Result, error) {
	if x.Err != nil {
		return Result{Err: &apiservercel.Error{
			Type:   apiservercel.ErrorTypeInvalid,
			Detail: fmt.Sprintf("compilation error: %v", x.Err),
			Cause:  x.Err,
		}}, nil
	}
	e.variables = 0
	value, details, err := x.program.ContextEval(ctx, e.activation)
	if details == nil {
		return Result{}, &apiservercel.Error{Type: apiservercel.ErrorTypeInternal, Detail: unknownCost(x)}
	}
	cost := details.ActualCost()
	if cost == nil {
		return Result{}, &apiservercel.Error{Type: apiservercel.ErrorTypeInvalid, Detail: unknownCost(x), Cause: apiservercel.ErrOutOfBudget}
	}
	for _, spent := range []int64{e.variables, int64(min(*cost, math.MaxInt64))} {
		if spent > e.budget {
			return Result{}, &apiservercel.Error{
				Type:   apiservercel.ErrorTypeInvalid,
				Detail: "validation failed due to running out of cost budget, no further validation rules will be run",
				Cause:  apiservercel.ErrOutOfBudget,
			}
		}
		e.budget -= spent
	}
	if err != nil {
		return Result{Err: &apiservercel.Error{
			Type:   apiservercel.ErrorTypeInvalid,
			Detail: fmt.Sprintf("expression '%v' resulted in error: %v", x.Source, err),
		}}, nil
	}
	return Result{Value: value}, nil
}

func unknownCost(x *Expression) string {
	return fmt.Sprintf("runtime cost could not be calculated for expression: %v, no further expression will be run", x.Source)
}
