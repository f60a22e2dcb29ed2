package cel

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"

	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Expression is a compiled expression, or the reason why it does not compile.
type Expression struct {
	// Path is where the expression stands in its policy, such as spec.validations[0].expression; empty for those of
	// webhooks.
	Path string
	// Source is the text that was compiled.
	Source string
	// Type is the type that the expression evaluates to; nil when it does not compile.
	Type *cel.Type
	// Purpose is the place that it was compiled for.
	Purpose Purpose
	// Err is why the expression does not compile, worded as the API words it.
	Err *apiservercel.Error

	program cel.Program
	// traced makes the program that traces the expression, once; nil when it does not compile.
	traced func() (*traced, error)
}

// Compile compiles an expression that sees no variables; params says whether the policy has a spec.paramKind.
func Compile(source string, purpose Purpose, params bool, mode Mode) *Expression {
	env, err := environments[purpose.declarations(params)]()
	if err != nil {
		return failed(source, apiservercel.ErrorTypeInternal, err, "unexpected error loading CEL environment: %v", err)
	}
	return compile(env, source, purpose, mode)
}

func compile(envs *environment.EnvSet, source string, purpose Purpose, mode Mode) *Expression {
	env, err := envs.Env(mode)
	if err != nil {
		return failed(source, apiservercel.ErrorTypeInternal, err, "unexpected error loading CEL environment: %v", err)
	}
	ast, issues := env.Compile(source)
	if issues != nil {
		return failed(source, apiservercel.ErrorTypeInvalid, apiservercel.NewCompilationError(issues), "compilation failed: %v", issues)
	}
	if want := purpose.returns(); !returnsOneOf(ast, want) {
		if len(want) == 1 {
			return failed(source, apiservercel.ErrorTypeInvalid, nil, "must evaluate to %v but got %v", want[0], ast.OutputType())
		}
		return failed(source, apiservercel.ErrorTypeInvalid, nil, "must evaluate to one of %v but got %v", want, ast.OutputType())
	}
	program, err := env.Program(ast, cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return failed(source, apiservercel.ErrorTypeInternal, err, "program instantiation failed: %v", err)
	}
	return &Expression{
		Source: source, Purpose: purpose, Type: ast.OutputType(), program: program,
		traced: sync.OnceValues(func() (*traced, error) { return trace(env, source) }),
	}
}

func returnsOneOf(ast *cel.Ast, want []*cel.Type) bool {
	for _, typ := range want {
		if typ.IsExactType(cel.AnyType) || ast.OutputType().IsExactType(typ) {
			return true
		}
	}
	return false
}

func failed(source string, kind apiservercel.ErrorType, cause error, format string, args ...any) *Expression {
	return &Expression{
		Source: source,
		Err:    &apiservercel.Error{Type: kind, Detail: fmt.Sprintf(format, args...), Cause: cause},
	}
}
