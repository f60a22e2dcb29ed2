package cel

import (
	"context"
	"slices"

	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/interpreter"
	"github.com/google/cel-go/parser"

	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// Part is a part of an expression and what it came to: a condition between && and ||, or an operation within one. What lies
// within a macro, such as all, has the values of the last element that the macro looked at.
type Part struct {
	// Source is its text, in the form in which CEL writes expressions.
	Source string
	// Filled is the same with the values of its operands in their place; empty where that tells no more.
	Filled string
	// Value is what it came to, written as in CEL; long ones are cut.
	Value string
	// Failed tells that Value is an error.
	Failed bool
}

// Trace evaluates an expression once more, to find out what its parts came to, outermost first. Parts that were not
// evaluated, because others decided, are not among them. It spends nothing of the budget, and reads the variables that were
// read before as they were.
func (e *Evaluation) Trace(ctx context.Context, x *Expression) []Part {
	if x.traced == nil {
		return nil
	}
	traced, err := x.traced()
	if err != nil {
		return nil
	}
	_, details, _ := traced.program.ContextEval(ctx, e.activation)
	if details == nil {
		return nil
	}
	t := &tracer{info: traced.ast.SourceInfo(), state: details.State()}
	t.condition(traced.ast.Expr())
	return t.parts
}

// traced is an expression compiled to be traced: its program keeps the values of all parts, and its tree the macros as they
// were written.
type traced struct {
	program cel.Program
	ast     *celast.AST
}

func trace(env *cel.Env, source string) (*traced, error) {
	env, err := env.Extend(cel.EnableMacroCallTracking())
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(source)
	if issues != nil {
		return nil, issues.Err()
	}
	program, err := env.Program(ast, cel.EvalOptions(cel.OptTrackState), cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return nil, err
	}
	return &traced{program, ast.NativeRep()}, nil
}

// tracer walks through an expression that was evaluated.
type tracer struct {
	info  *celast.SourceInfo
	state interpreter.EvalState
	parts []Part
}

// condition adds a condition, or those that it is made of.
func (t *tracer) condition(e celast.Expr) {
	if !t.evaluated(e) {
		return
	}
	if t.logic(e) {
		for _, operand := range e.AsCall().Args() {
			t.condition(operand)
		}
		return
	}
	t.add(e)
	t.within(e)
}

// within adds the operations in an expression that was added, or that is too plain for it.
func (t *tracer) within(e celast.Expr) {
	for _, operand := range t.operands(e) {
		switch {
		case t.logic(operand):
			t.condition(operand)
			continue
		case t.evaluated(operand) && t.operation(operand):
			t.add(operand)
		}
		t.within(operand)
	}
}

// evaluated is false for what was passed over. A macro's own text has no value but for the macro that it stands for.
func (t *tracer) evaluated(e celast.Expr) bool {
	_, ok := t.state.Value(e.ID())
	return ok
}

// macro returns a macro as it was written, where e is what it was expanded to.
func (t *tracer) macro(e celast.Expr) (celast.Expr, bool) { return t.info.GetMacroCall(e.ID()) }

// logic tells whether an expression joins conditions.
func (t *tracer) logic(e celast.Expr) bool {
	if _, macro := t.macro(e); macro || e.Kind() != celast.CallKind {
		return false
	}
	return slices.Contains([]string{operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional}, e.AsCall().FunctionName())
}

// operation tells whether an operand is worth a line of its own: it is neither a literal nor a path to a field.
func (t *tracer) operation(e celast.Expr) bool {
	if _, macro := t.macro(e); macro {
		return true
	}
	return e.Kind() == celast.CallKind && !t.path(e)
}

// path tells whether an expression reads a field or an element.
func (t *tracer) path(e celast.Expr) bool {
	if e.Kind() != celast.CallKind {
		return e.Kind() == celast.SelectKind || e.Kind() == celast.IdentKind
	}
	return slices.Contains([]string{operators.Index, operators.OptIndex, operators.OptSelect}, e.AsCall().FunctionName())
}

// operands are the expressions that an expression is made of; of a macro as it was written.
func (t *tracer) operands(e celast.Expr) []celast.Expr {
	if written, ok := t.macro(e); ok {
		e = written
	}
	var operands []celast.Expr
	switch e.Kind() {
	case celast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() {
			operands = append(operands, call.Target())
		}
		operands = append(operands, call.Args()...)
	case celast.SelectKind:
		operands = append(operands, e.AsSelect().Operand())
	case celast.ListKind:
		operands = append(operands, e.AsList().Elements()...)
	case celast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			operands = append(operands, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
	case celast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			operands = append(operands, field.AsStructField().Value())
		}
	}
	return operands
}

func (t *tracer) add(e celast.Expr) {
	value, _ := t.state.Value(e.ID())
	part := Part{Source: t.text(e), Filled: t.filled(e)}
	part.Value, part.Failed = textOf(value)
	t.parts = append(t.parts, part)
}

func (t *tracer) text(e celast.Expr) string {
	text, err := parser.Unparse(e, t.info, parser.WrapOnColumn(1<<16))
	if err != nil {
		return "?"
	}
	return text
}

// filled is the text of a call with the values of its operands.
func (t *tracer) filled(e celast.Expr) string {
	if _, macro := t.macro(e); macro || e.Kind() != celast.CallKind || t.path(e) {
		return ""
	}
	factory, some := celast.NewExprFactory(), false
	fill := func(operand celast.Expr) celast.Expr {
		value, ok := t.state.Value(operand.ID())
		if !ok || operand.Kind() == celast.LiteralKind {
			return operand
		}
		text, failed := textOf(value)
		if failed {
			return operand
		}
		some = true
		return factory.NewIdent(0, text) // written as it is
	}
	call := e.AsCall()
	var args []celast.Expr
	for _, arg := range call.Args() {
		args = append(args, fill(arg))
	}
	filled := factory.NewCall(0, call.FunctionName(), args...)
	if call.IsMemberFunction() {
		filled = factory.NewMemberCall(0, call.FunctionName(), fill(call.Target()), args...)
	}
	if !some {
		return ""
	}
	return t.text(filled)
}
