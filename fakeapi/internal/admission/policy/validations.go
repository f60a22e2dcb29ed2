package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/cel"
)

// validations is a compiled ValidatingAdmissionPolicy.
type validations struct {
	scope       *cel.Scope
	conditions  *cel.Conditions
	validations []validation
	annotations []auditAnnotation
}

// validation is one entry of spec.validations.
type validation struct {
	expression *cel.Expression
	message    *cel.Expression // nil without a messageExpression
	fallback   string          // what to say where messageExpression says nothing
	reason     metav1.StatusReason
}

// auditAnnotation is one entry of spec.auditAnnotations.
type auditAnnotation struct {
	key   string
	value *cel.Expression
}

func compileValidations(spec *admissionregistrationv1.ValidatingAdmissionPolicySpec) *validations {
	scope := newScope(spec.ParamKind, spec.Variables)
	compiled := &validations{scope: scope, conditions: scope.CompileMatchConditions(spec.MatchConditions)}
	for i, source := range spec.Validations {
		v := validation{
			expression: scope.Compile(source.Expression, cel.Validation, cel.Stored),
			fallback:   strings.TrimSpace(source.Message),
			reason:     metav1.StatusReasonInvalid,
		}
		if source.MessageExpression != "" {
			v.message = scope.Compile(source.MessageExpression, cel.Message, cel.Stored)
			v.message.Path = fmt.Sprintf("spec.validations[%d].messageExpression", i)
		}
		v.expression.Path = fmt.Sprintf("spec.validations[%d].expression", i)
		if v.fallback == "" {
			v.fallback = "failed expression: " + strings.TrimSpace(source.Expression)
		}
		if source.Reason != nil {
			v.reason = *source.Reason
		}
		compiled.validations = append(compiled.validations, v)
	}
	for i, source := range spec.AuditAnnotations {
		value := scope.Compile(source.ValueExpression, cel.AuditAnnotation, cel.Stored)
		value.Path = fmt.Sprintf("spec.auditAnnotations[%d].valueExpression", i)
		compiled.annotations = append(compiled.annotations, auditAnnotation{key: source.Key, value: value})
	}
	return compiled
}

// newScope declares the variables of a policy.
func newScope(kind *admissionregistrationv1.ParamKind, variables []admissionregistrationv1.Variable) *cel.Scope {
	scope := cel.NewScope(kind != nil)
	for _, v := range variables {
		scope.Declare(v.Name, v.Expression, cel.Stored)
	}
	return scope
}

// verdict is what the evaluation of a policy with one param came to.
type verdict struct {
	// skippedBy is the name of the match condition that was false; no more was evaluated then.
	skippedBy string
	// failures are the validations that failed, in order.
	failures []failure
	// annotations are the audit annotations to publish, and failedAnnotations the errors of those that have no value.
	annotations       []annotation
	failedAnnotations []string
}

// failure is one validation that was not true.
type failure struct {
	index   int // in spec.validations; 0 where it is not one of them that failed
	message string
	reason  metav1.StatusReason
	fault   bool // an error, not a definite false: the failure policy decides
}

type annotation struct{ key, value string }

// evaluate evaluates a policy. All errors are in the verdict, whatever the failure policy.
func (v *validations) evaluate(ctx context.Context, in *cel.Input) verdict {
	matched, failed, err := v.conditions.Match(ctx, in)
	if err != nil {
		return faulty(err)
	}
	if !matched {
		return verdict{skippedBy: failed}
	}
	evaluation := v.scope.Evaluate(ctx, in, cel.PolicyBudget)
	results := make([]cel.Result, len(v.validations))
	for i := range v.validations {
		if results[i], err = evaluation.Eval(ctx, v.validations[i].expression); err != nil {
			return faulty(err)
		}
	}
	// Messages and annotations may not ask the authorizer, and evaluate the variables anew.
	unauthorized := *in
	unauthorized.Authorizer = nil
	messages, messageErr := v.messages(ctx, v.scope.Evaluate(ctx, &unauthorized, evaluation.Budget()))

	var result verdict
	for i, r := range results {
		switch {
		case r.Err != nil:
			result.failures = append(result.failures, failure{index: i, message: r.Err.Error(), fault: true})
		case messageErr != nil:
			// Even if the validation itself is true.
			result.failures = append(result.failures, failure{index: i, message: fmt.Sprintf("failed messageExpression: %s", messageErr), fault: true})
		case r.Value != types.True:
			f := failure{index: i, message: messages[i], reason: v.validations[i].reason}
			if f.message == "" {
				f.message = v.validations[i].fallback
			}
			result.failures = append(result.failures, f)
		}
	}
	if err := v.annotate(ctx, v.scope.Evaluate(ctx, &unauthorized, cel.PolicyBudget), &result); err != nil {
		return faulty(err)
	}
	return result
}

func faulty(err error) verdict {
	return verdict{failures: []failure{{message: err.Error(), fault: true}}}
}

// messages evaluates the message expressions of all validations, failed or not. A message is empty where there is no
// expression, or no value that could be sent. An error says that the cost budget was spent.
func (v *validations) messages(ctx context.Context, evaluation *cel.Evaluation) ([]string, error) {
	messages := make([]string, len(v.validations))
	for i := range v.validations {
		if v.validations[i].message == nil {
			continue
		}
		result, err := evaluation.Eval(ctx, v.validations[i].message)
		if errors.Is(err, apiservercel.ErrOutOfBudget) || errors.Is(err, apiservercel.ErrInternal) {
			return nil, err
		}
		if err != nil || result.Err != nil {
			continue
		}
		if message, ok := result.Value.Value().(string); ok {
			message = strings.TrimSpace(message)
			if len(message) <= celconfig.MaxEvaluatedMessageExpressionSizeBytes && !strings.Contains(message, "\n") {
				messages[i] = message
			}
		}
	}
	return messages, nil
}

// annotate evaluates the audit annotations into the verdict.
func (v *validations) annotate(ctx context.Context, evaluation *cel.Evaluation, into *verdict) error {
	for _, a := range v.annotations {
		result, err := evaluation.Eval(ctx, a.value)
		if err != nil {
			return err
		}
		if result.Err != nil {
			into.failedAnnotations = append(into.failedAnnotations, result.Err.Error())
			continue
		}
		// Null, and a string that is blank, leave the annotation out.
		if value, ok := result.Value.Value().(string); ok && strings.TrimSpace(value) != "" {
			into.annotations = append(into.annotations, annotation{a.key, strings.TrimSpace(value)})
		}
	}
	return nil
}
