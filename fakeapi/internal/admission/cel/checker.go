package cel

import (
	"fmt"

	"github.com/google/cel-go/cel"

	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Type is the type of objects of one kind in expressions.
type Type struct {
	declared *apiservercel.DeclType // nil for a type that is not known
}

// TypeOf returns the type that a schema describes; name, which is the beginning of the names of all types in it, is told in
// messages.
func TypeOf(s *spec.Schema, name string) Type {
	declared := common.SchemaDeclType(&openapi.Schema{Schema: s}, true)
	if declared == nil {
		return Type{}
	}
	return Type{declared.MaybeAssignTypeName(name)}
}

// variable declares a variable of the type, any where it is not known.
func (t Type) variable(name string) cel.EnvOption {
	if t.declared == nil {
		return cel.Variable(name, cel.DynType)
	}
	return cel.Variable(name, t.declared.CelType())
}

// Checker checks the expressions of one policy against the types of object, oldObject and params, which are of any type
// where expressions are compiled. It makes no programs. A Checker belongs to one goroutine.
type Checker struct {
	env       *cel.Env
	variables *apiservercel.DeclType
}

// NewChecker returns a checker. The zero Type is one that is not known; params is nil for a policy without spec.paramKind.
func NewChecker(object Type, params *Type) (*Checker, error) {
	request, namespace := requestType(), namespaceType()
	variables := newVariablesType()
	options := environment.VersionedOptions{
		IntroducedVersion: always,
		EnvOptions: []cel.EnvOption{
			object.variable(objectVar),
			object.variable(oldObjectVar),
			cel.Variable(requestVar, request.CelType()),
			cel.Variable(namespaceVar, namespace.CelType()),
			cel.Variable(variablesVar, variables.CelType()),
			// The API leaves authorizer.requestResource out here, though expressions may use it.
			cel.Variable(authorizerVar, library.AuthorizerType),
		},
		DeclTypes: []*apiservercel.DeclType{request, namespace, variables},
	}
	if object.declared != nil {
		options.DeclTypes = append(options.DeclTypes, object.declared)
	}
	if params != nil {
		options.EnvOptions = append(options.EnvOptions, params.variable(paramsVar))
		if params.declared != nil {
			options.DeclTypes = append(options.DeclTypes, params.declared)
		}
	}
	envs, err := environment.MustBaseEnvSet(compatibility).Extend(options)
	if err != nil {
		return nil, fmt.Errorf("declaring the types of objects: %w", err)
	}
	env, err := envs.Env(Stored)
	if err != nil {
		return nil, fmt.Errorf("declaring the types of objects: %w", err)
	}
	return &Checker{env: env, variables: variables}, nil
}

// Declare lets the expressions checked after it see a variable, by the type that it evaluates to. One that is wrong is of
// any type.
func (c *Checker) Declare(name, source string) {
	var typ *cel.Type
	if ast, issues := c.env.Compile(source); issues == nil {
		typ = ast.OutputType()
	}
	declare(c.variables, name, typ)
}

// Check returns what is wrong with an expression, in the words of the compiler, or an empty string.
func (c *Checker) Check(source string) string {
	if _, issues := c.env.Compile(source); issues != nil {
		return issues.String()
	}
	return ""
}
