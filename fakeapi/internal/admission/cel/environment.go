package cel

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/mutation"
)

// Names of the variables that expressions see.
const (
	objectVar          = "object"
	oldObjectVar       = "oldObject"
	requestVar         = "request"
	namespaceVar       = "namespaceObject"
	paramsVar          = "params"
	authorizerVar      = "authorizer"
	requestResourceVar = "authorizer.requestResource"
	variablesVar       = "variables"
)

// Mode says by which rules an expression is compiled.
type Mode = environment.Type

const (
	// New is for expressions that a write brings in: only what the previous Kubernetes version understands too.
	New = environment.NewExpressions
	// Stored is for expressions that are stored already: everything that this version understands.
	Stored = environment.StoredExpressions
)

// Purpose is the place of an expression in the API. It decides what the expression sees and what it must evaluate to.
type Purpose int

const (
	// MatchCondition is matchConditions[].expression.
	MatchCondition Purpose = iota
	// Variable is spec.variables[].expression of a policy.
	Variable
	// Validation is spec.validations[].expression of a policy.
	Validation
	// Message is spec.validations[].messageExpression of a policy.
	Message
	// AuditAnnotation is spec.auditAnnotations[].valueExpression of a policy.
	AuditAnnotation
	// ApplyConfiguration is spec.mutations[].applyConfiguration.expression of a policy.
	ApplyConfiguration
	// JSONPatch is spec.mutations[].jsonPatch.expression of a policy.
	JSONPatch
)

// returns are the types that an expression may evaluate to; any type where the list holds cel.AnyType.
func (p Purpose) returns() []*cel.Type {
	switch p {
	case Variable:
		return []*cel.Type{cel.AnyType}
	case Message:
		return []*cel.Type{cel.StringType}
	case AuditAnnotation:
		return []*cel.Type{cel.StringType, cel.NullType}
	case ApplyConfiguration:
		return []*cel.Type{types.NewObjectType("Object")}
	case JSONPatch:
		return []*cel.Type{cel.ListType(types.NewObjectType("JSONPatch"))}
	default:
		return []*cel.Type{cel.BoolType}
	}
}

// declarations are the optional variables and types of an environment.
type declarations struct {
	params     bool // params
	authorizer bool // authorizer and authorizer.requestResource
	patch      bool // the Object and JSONPatch types, and the jsonpatch library
}

func (p Purpose) declarations(params bool) declarations {
	return declarations{
		params:     params,
		authorizer: p != Message,
		patch:      p == ApplyConfiguration || p == JSONPatch,
	}
}

// always is the version of options that every version has.
var always = version.MajorMinor(1, 0)

// compatibility is the version whose features a new expression may use: the one before the version served, so that a
// cluster can be rolled back.
var compatibility = version.MajorMinor(1, 36)

// environments holds the environment of each set of declarations, built when first asked for.
var environments = func() map[declarations]func() (*environment.EnvSet, error) {
	built := map[declarations]func() (*environment.EnvSet, error){}
	for i := range 8 {
		decl := declarations{params: i&1 != 0, authorizer: i&2 != 0, patch: i&4 != 0}
		built[decl] = sync.OnceValues(func() (*environment.EnvSet, error) { return newEnvironment(decl) })
	}
	return built
}()

func newEnvironment(decl declarations) (*environment.EnvSet, error) {
	request, namespace := requestType(), namespaceType()
	options := environment.VersionedOptions{
		IntroducedVersion: always,
		EnvOptions: []cel.EnvOption{
			cel.Variable(objectVar, cel.DynType),
			cel.Variable(oldObjectVar, cel.DynType),
			cel.Variable(requestVar, request.CelType()),
			cel.Variable(namespaceVar, namespace.CelType()),
		},
		DeclTypes: []*apiservercel.DeclType{request, namespace},
	}
	if decl.params {
		options.EnvOptions = append(options.EnvOptions, cel.Variable(paramsVar, cel.DynType))
	}
	if decl.authorizer {
		options.EnvOptions = append(options.EnvOptions,
			cel.Variable(authorizerVar, library.AuthorizerType),
			cel.Variable(requestResourceVar, library.ResourceCheckType))
	}
	env, err := environment.MustBaseEnvSet(compatibility).Extend(options, environment.StrictCostOpt)
	if err == nil && decl.patch {
		// Apart from the rest: the resolver of patch types wraps the type provider that the declared types made.
		env, err = env.Extend(environment.VersionedOptions{
			IntroducedVersion: always,
			EnvOptions: []cel.EnvOption{
				common.ResolverEnvOption(&mutation.DynamicTypeResolver{}),
				environment.UnversionedLib(library.JSONPatch),
			},
		})
	}
	if err != nil {
		return nil, fmt.Errorf("declaring the variables of expressions: %w", err)
	}
	return env, nil
}

// fields makes the fields of a declared type from names and types.
type fields map[string]*apiservercel.DeclType

func (f fields) declare(name string) *apiservercel.DeclType {
	declared := make(map[string]*apiservercel.DeclField, len(f))
	for field, typ := range f {
		declared[field] = apiservercel.NewDeclField(field, typ, true, nil, nil)
	}
	return apiservercel.NewObjectType(name, declared)
}

func listOf(element *apiservercel.DeclType) *apiservercel.DeclType {
	return apiservercel.NewListType(element, -1)
}

func mapOf(value *apiservercel.DeclType) *apiservercel.DeclType {
	return apiservercel.NewMapType(apiservercel.StringType, value, -1)
}

// requestType is the type of request: an AdmissionRequest without uid, object and oldObject.
func requestType() *apiservercel.DeclType {
	kind := fields{
		"group":   apiservercel.StringType,
		"version": apiservercel.StringType,
		"kind":    apiservercel.StringType,
	}.declare("kubernetes.GroupVersionKind")
	resource := fields{
		"group":    apiservercel.StringType,
		"version":  apiservercel.StringType,
		"resource": apiservercel.StringType,
	}.declare("kubernetes.GroupVersionResource")
	user := fields{
		"username": apiservercel.StringType,
		"uid":      apiservercel.StringType,
		"groups":   listOf(apiservercel.StringType),
		"extra":    mapOf(listOf(apiservercel.StringType)),
	}.declare("kubernetes.UserInfo")
	return fields{
		"kind":               kind,
		"resource":           resource,
		"subResource":        apiservercel.StringType,
		"requestKind":        kind,
		"requestResource":    resource,
		"requestSubResource": apiservercel.StringType,
		"name":               apiservercel.StringType,
		"namespace":          apiservercel.StringType,
		"operation":          apiservercel.StringType,
		"userInfo":           user,
		"dryRun":             apiservercel.BoolType,
		"options":            apiservercel.DynType,
	}.declare("kubernetes.AdmissionRequest")
}

// namespaceType is the type of namespaceObject: a Namespace without managed fields and owner references. The API
// declares metadata.UID in capitals, so that no expression can read the uid.
func namespaceType() *apiservercel.DeclType {
	metadata := fields{
		"name":                       apiservercel.StringType,
		"generateName":               apiservercel.StringType,
		"namespace":                  apiservercel.StringType,
		"labels":                     mapOf(apiservercel.StringType),
		"annotations":                mapOf(apiservercel.StringType),
		"UID":                        apiservercel.StringType,
		"creationTimestamp":          apiservercel.TimestampType,
		"deletionGracePeriodSeconds": apiservercel.IntType,
		"deletionTimestamp":          apiservercel.TimestampType,
		"generation":                 apiservercel.IntType,
		"resourceVersion":            apiservercel.StringType,
		"finalizers":                 listOf(apiservercel.StringType),
	}.declare("kubernetes.NamespaceMetadata")
	condition := fields{
		"type":               apiservercel.StringType,
		"status":             apiservercel.StringType,
		"lastTransitionTime": apiservercel.TimestampType,
		"message":            apiservercel.StringType,
		"reason":             apiservercel.StringType,
	}.declare("kubernetes.NamespaceCondition")
	return fields{
		"metadata": metadata,
		"spec": fields{
			"finalizers": listOf(apiservercel.StringType),
		}.declare("kubernetes.NamespaceSpec"),
		"status": fields{
			"conditions": listOf(condition),
			"phase":      apiservercel.StringType,
		}.declare("kubernetes.NamespaceStatus"),
	}.declare("kubernetes.Namespace")
}
