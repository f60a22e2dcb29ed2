package cel

import (
	"context"
	"fmt"
	"math"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/lazy"
)

// Scope is what the expressions of one policy share: its variables, in order, each seeing those before it. A Scope is
// filled by one goroutine; the expressions compiled in it may then be evaluated by many.
type Scope struct {
	params    bool
	declared  *apiservercel.DeclType
	variables []variable
	envs      map[declarations]*environment.EnvSet
}

type variable struct {
	name string
	*Expression
}

// NewScope returns a scope without variables; params says whether the policy has a spec.paramKind.
func NewScope(params bool) *Scope {
	return &Scope{
		params:   params,
		declared: newVariablesType(),
		envs:     map[declarations]*environment.EnvSet{},
	}
}

// Declare compiles a variable and lets the expressions compiled after it see it, by the type that it evaluates to. One
// that does not compile is declared too, with any type: what uses it fails when evaluated.
func (s *Scope) Declare(name, source string, mode Mode) *Expression {
	compiled := s.Compile(source, Variable, mode)
	compiled.Path = fmt.Sprintf("spec.variables[%d].expression", len(s.variables))
	declare(s.declared, name, compiled.Type)
	s.variables = append(s.variables, variable{name: name, Expression: compiled})
	return compiled
}

// Compile compiles an expression that sees the variables declared so far.
func (s *Scope) Compile(source string, purpose Purpose, mode Mode) *Expression {
	env, err := s.environment(purpose.declarations(s.params))
	if err != nil {
		return failed(source, apiservercel.ErrorTypeInternal, err, "unexpected error loading CEL environment: %v", err)
	}
	return compile(env, source, purpose, mode)
}

// environment returns the environment with variables in it. Its type provider reads the declared type, which grows with
// each variable.
func (s *Scope) environment(decl declarations) (*environment.EnvSet, error) {
	if env, ok := s.envs[decl]; ok {
		return env, nil
	}
	base, err := environments[decl]()
	if err != nil {
		return nil, err
	}
	env, err := base.Extend(environment.VersionedOptions{
		IntroducedVersion: always,
		EnvOptions:        []cel.EnvOption{cel.Variable(variablesVar, s.declared.CelType())},
		DeclTypes:         []*apiservercel.DeclType{s.declared},
	})
	if err != nil {
		return nil, err
	}
	s.envs[decl] = env
	return env, nil
}

// bind returns the value of variables in one evaluation: each is evaluated when first read, and its cost added to the
// evaluation's.
func (s *Scope) bind(ctx context.Context, e *Evaluation) ref.Val {
	values := lazy.NewMapValue(s.declared)
	for _, v := range s.variables {
		values.Append(v.name, func(*lazy.MapValue) ref.Val {
			value := v.evaluate(ctx, e.activation, &e.variables)
			if err, failed := value.(*types.Err); failed {
				e.observed(ctx, v.Expression, Result{Err: err})
			} else {
				e.observed(ctx, v.Expression, Result{Value: value})
			}
			return value
		})
	}
	return values
}

func (v variable) evaluate(ctx context.Context, activation interpreter.Activation, spent *int64) ref.Val {
	if v.Err != nil {
		return types.NewErr("composited variable %q fails to compile: %v", v.name, v.Err)
	}
	value, details, err := v.program.ContextEval(ctx, activation)
	if details == nil {
		return types.NewErr("unable to get evaluation details of variable %q", v.name)
	}
	cost := details.ActualCost()
	if cost == nil {
		return types.NewErr("unable to calculate cost of variable %q", v.name)
	}
	*spent += int64(min(*cost, math.MaxInt64))
	if err != nil {
		return types.NewErr("composited variable %q fails to evaluate: %v", v.name, err)
	}
	return value
}

// newVariablesType returns the type of variables, without any.
func newVariablesType() *apiservercel.DeclType {
	return apiservercel.NewObjectType("kubernetes.variables", map[string]*apiservercel.DeclField{})
}

// declare adds a variable to their type, by the type that it evaluates to; nil is one that does not compile.
func declare(variables *apiservercel.DeclType, name string, typ *cel.Type) {
	variables.Fields[name] = apiservercel.NewDeclField(name, declaredType(typ), true, nil, nil)
}

// declaredType is the type that a variable of this type is declared with: the scalars, lists and maps, else any.
func declaredType(typ *cel.Type) *apiservercel.DeclType {
	switch typ {
	case nil:
		return apiservercel.DynType
	case cel.AnyType:
		return apiservercel.AnyType
	case cel.BoolType:
		return apiservercel.BoolType
	case cel.BytesType:
		return apiservercel.BytesType
	case cel.DoubleType:
		return apiservercel.DoubleType
	case cel.DurationType:
		return apiservercel.DurationType
	case cel.IntType:
		return apiservercel.IntType
	case cel.NullType:
		return apiservercel.NullType
	case cel.StringType:
		return apiservercel.StringType
	case cel.TimestampType:
		return apiservercel.TimestampType
	case cel.UintType:
		return apiservercel.UintType
	}
	if typ.HasTrait(traits.ContainerType | traits.IndexerType) {
		switch of := typ.Parameters(); len(of) {
		case 1:
			return apiservercel.NewListType(declaredType(of[0]), -1)
		case 2:
			return apiservercel.NewMapType(declaredType(of[0]), declaredType(of[1]), -1)
		}
	}
	return apiservercel.DynType
}
