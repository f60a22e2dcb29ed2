package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/cel"
)

const (
	maxAuditAnnotations          = 20
	maxValueExpressionBytes      = 5 * 1024
	neitherValidationsNorAudited = "validations or auditAnnotations must contain at least one item"
)

// validationReasons are the reasons that a validation may give.
var validationReasons = []metav1.StatusReason{
	metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge,
}

// compileFunc compiles the expressions of one policy.
type compileFunc func(expression string, purpose cel.Purpose, mode cel.Mode) *cel.Expression

// validateValidatingPolicy validates a policy; old is the stored one, nil on create.
func validateValidatingPolicy(policy, old *admissionregistrationv1.ValidatingAdmissionPolicy) field.ErrorList {
	spec, path := &policy.Spec, field.NewPath("spec")
	stored := storedExpressions{}
	if old != nil {
		stored = storedInValidatingPolicy(old)
		stored.sameConditions = samePolicyConditions(spec.ParamKind, old.Spec.ParamKind, spec.MatchConditions, old.Spec.MatchConditions)
	}
	errs := validateMetadata(&policy.ObjectMeta)
	errs = append(errs, validatePolicyHead(spec.FailurePolicy, spec.ParamKind, spec.MatchConstraints, path)...)
	params := spec.ParamKind != nil
	if !stored.sameConditions {
		errs = append(errs, validateMatchConditions(spec.MatchConditions, params, stored.conditions, path.Child("matchConditions"))...)
	}
	compile := func(expression string, purpose cel.Purpose, mode cel.Mode) *cel.Expression {
		return cel.Compile(expression, purpose, params, mode)
	}
	if len(spec.Variables) > 0 {
		scope := cel.NewScope(params)
		errs = append(errs, validateVariables(spec.Variables, scope, stored.validations, path.Child("variables"))...)
		compile = scope.Compile
	}
	if len(spec.Validations) == 0 && len(spec.AuditAnnotations) == 0 {
		return append(errs,
			field.Required(path.Child("validations"), neitherValidationsNorAudited),
			field.Required(path.Child("auditAnnotations"), neitherValidationsNorAudited))
	}
	for i := range spec.Validations {
		errs = append(errs, validateValidation(&spec.Validations[i], compile, stored, path.Child("validations").Index(i))...)
	}
	return append(errs, validateAuditAnnotations(policy.Name, spec.AuditAnnotations, compile, stored.auditAnnotations, path.Child("auditAnnotations"))...)
}

// storedExpressions are the expressions of a stored policy. They are compiled by the rules for stored expressions when an
// update brings them again.
type storedExpressions struct {
	// sameConditions is whether nothing changed that could make a match condition invalid. They are not looked at then.
	sameConditions      bool
	conditions          sets.Set[string]
	validations         sets.Set[string]
	messages            sets.Set[string]
	auditAnnotations    sets.Set[string]
	applyConfigurations sets.Set[string]
}

func storedInValidatingPolicy(policy *admissionregistrationv1.ValidatingAdmissionPolicy) storedExpressions {
	stored := storedExpressions{
		conditions:       storedConditions(policy.Spec.MatchConditions),
		validations:      sets.New[string](),
		messages:         sets.New[string](),
		auditAnnotations: sets.New[string](),
	}
	for _, v := range policy.Spec.Validations {
		stored.validations.Insert(v.Expression)
		stored.messages.Insert(v.MessageExpression)
	}
	for _, a := range policy.Spec.AuditAnnotations {
		stored.auditAnnotations.Insert(a.ValueExpression)
	}
	return stored
}

func storedConditions(conditions []admissionregistrationv1.MatchCondition) sets.Set[string] {
	stored := sets.New[string]()
	for _, condition := range conditions {
		stored.Insert(condition.Expression)
	}
	return stored
}

func samePolicyConditions(kind, oldKind *admissionregistrationv1.ParamKind, conditions, old []admissionregistrationv1.MatchCondition) bool {
	return equality.Semantic.DeepEqual(kind, oldKind) && equality.Semantic.DeepEqual(conditions, old)
}

// validatePolicyHead validates what policies of both kinds begin with.
func validatePolicyHead(failurePolicy *admissionregistrationv1.FailurePolicyType, paramKind *admissionregistrationv1.ParamKind, constraints *admissionregistrationv1.MatchResources, path *field.Path) field.ErrorList {
	errs := validateRequiredOneOf(failurePolicy, failurePolicies, path.Child("failurePolicy"))
	if paramKind != nil {
		errs = append(errs, validateParamKind(paramKind, path.Child("paramKind"))...)
	}
	at := path.Child("matchConstraints")
	if constraints == nil {
		return append(errs, field.Required(at, ""))
	}
	errs = append(errs, validateMatchResources(constraints, at)...)
	if len(constraints.ResourceRules) == 0 {
		errs = append(errs, field.Required(at.Child("resourceRules"), ""))
	}
	return errs
}

func validateParamKind(kind *admissionregistrationv1.ParamKind, path *field.Path) field.ErrorList {
	errs := validateParamVersion(kind.APIVersion, path.Child("apiVersion"))
	if kind.Kind == "" {
		return append(errs, field.Required(path.Child("kind"), ""))
	}
	if messages := validation.IsDNS1035Label(strings.ToLower(kind.Kind)); len(messages) > 0 {
		errs = append(errs, field.Invalid(path.Child("kind"), kind.Kind, "may have mixed case, but should otherwise match: "+strings.Join(messages, ",")))
	}
	return errs
}

func validateParamVersion(apiVersion string, path *field.Path) field.ErrorList {
	if apiVersion == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return field.ErrorList{field.Invalid(path, apiVersion, err.Error())}
	}
	var errs field.ErrorList
	if messages := validation.IsDNS1123Subdomain(gv.Group); gv.Group != "" && len(messages) > 0 {
		errs = append(errs, field.Invalid(path, gv.Group, strings.Join(messages, ",")))
	}
	if gv.Version == "" {
		errs = append(errs, field.Invalid(path, apiVersion, "version must be specified"))
	} else if messages := validation.IsDNS1035Label(gv.Version); len(messages) > 0 {
		errs = append(errs, field.Invalid(path, gv.Version, strings.Join(messages, ",")))
	}
	return errs
}

var celIdentifier = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

// celReserved are the words that the CEL language keeps for itself.
var celReserved = sets.New("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function",
	"if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while")

// validateVariables declares the variables in the scope as it goes, so that each sees those before it.
func validateVariables(variables []admissionregistrationv1.Variable, scope *cel.Scope, stored sets.Set[string], path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, v := range variables {
		at := path.Index(i)
		if strings.TrimSpace(v.Name) == "" {
			errs = append(errs, field.Required(at.Child("name"), "name is not specified"))
		} else if !celIdentifier.MatchString(v.Name) || celReserved.Has(v.Name) {
			errs = append(errs, field.Invalid(at.Child("name"), v.Name, "must be a valid CEL identifier"))
		}
		if strings.TrimSpace(v.Expression) == "" {
			errs = append(errs, field.Required(at.Child("expression"), "expression is not specified"))
			continue
		}
		errs = append(errs, expressionErrors(scope.Declare(v.Name, v.Expression, mode(stored, v.Expression)), at.Child("expression"))...)
	}
	return errs
}

func validateValidation(v *admissionregistrationv1.Validation, compile compileFunc, stored storedExpressions, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if strings.TrimSpace(v.Expression) == "" {
		errs = append(errs, field.Required(path.Child("expression"), "expression is not specified"))
	} else {
		errs = append(errs, expressionErrors(compile(v.Expression, cel.Validation, mode(stored.validations, v.Expression)), path.Child("expression"))...)
	}
	if v.MessageExpression != "" {
		if strings.TrimSpace(v.MessageExpression) == "" {
			errs = append(errs, field.Invalid(path.Child("messageExpression"), v.MessageExpression, "must be non-empty if specified"))
		} else {
			errs = append(errs, expressionErrors(compile(v.MessageExpression, cel.Message, mode(stored.messages, v.MessageExpression)), path.Child("messageExpression"))...)
		}
	}
	if message := strings.TrimSpace(v.Message); v.Message != "" && message == "" {
		errs = append(errs, field.Invalid(path.Child("message"), v.Message, "must be non-empty if specified"))
	} else if strings.ContainsAny(message, "\n\r") {
		errs = append(errs, field.Invalid(path.Child("message"), v.Message, "must not contain line breaks"))
	}
	return append(errs, validateOptionalOneOf(v.Reason, validationReasons, path.Child("reason"))...)
}

func validateAuditAnnotations(policy string, annotations []admissionregistrationv1.AuditAnnotation, compile compileFunc, stored sets.Set[string], path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(annotations) > maxAuditAnnotations {
		errs = append(errs, field.Invalid(path, internalAnnotations(annotations), fmt.Sprintf("must not have more than %d auditAnnotations", maxAuditAnnotations)))
	}
	for i, a := range annotations {
		at := path.Index(i)
		if policy == "" {
			errs = append(errs, field.Invalid(at.Child("key"), a.Key, "requires metadata.name be non-empty"))
		} else {
			errs = append(errs, validateQualifiedName(policy+"/"+a.Key, at.Child("key"))...)
		}
		errs = append(errs, validateValueExpression(a.ValueExpression, compile, stored, at.Child("valueExpression"))...)
		if slices.ContainsFunc(annotations[:i], func(b admissionregistrationv1.AuditAnnotation) bool { return b.Key == a.Key }) {
			errs = append(errs, field.Duplicate(at.Child("key"), a.Key))
		}
	}
	return errs
}

// internalAnnotations are the annotations as the API's message shows them: by the names of its internal fields.
func internalAnnotations(annotations []admissionregistrationv1.AuditAnnotation) any {
	type annotation struct{ Key, ValueExpression string }
	shown := make([]annotation, len(annotations))
	for i, a := range annotations {
		shown[i] = annotation{a.Key, a.ValueExpression}
	}
	return shown
}

func validateValueExpression(expression string, compile compileFunc, stored sets.Set[string], path *field.Path) field.ErrorList {
	trimmed := strings.TrimSpace(expression)
	switch {
	case trimmed == "":
		return field.ErrorList{field.Required(path, "valueExpression is not specified")}
	case len(trimmed) > maxValueExpressionBytes:
		return field.ErrorList{field.Required(path, fmt.Sprintf("must not exceed %d bytes in length", maxValueExpressionBytes))}
	}
	compiled := *compile(trimmed, cel.AuditAnnotation, mode(stored, expression))
	compiled.Source = expression // reported as the client wrote it
	return expressionErrors(&compiled, path)
}
