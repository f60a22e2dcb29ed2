package policy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/warning"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/cel"
)

// enforcement is what validating policies came to in one request.
type enforcement struct {
	authorizer authorizer.UnconditionalAuthorizer
	traceAll   bool // tell what the parts of every expression came to, not only of those that failed
	trail      auditTrail
	denial     *denial // the first one, which the client is told
}

// denial is why a policy refuses a request.
type denial struct {
	policy, binding string // binding is empty where the policy itself is misconfigured
	message         string
	reason          metav1.StatusReason
}

func (e *enforcement) deny(d denial) {
	if e.denial == nil {
		e.denial = &d
	}
}

// misconfigured applies the failure policy to what cannot be evaluated. The binding's validationActions do not count.
func (e *enforcement) misconfigured(c *candidate[*validations]) {
	if c.unconvertible {
		c.err = fmt.Errorf("failed to convert object version: %w", c.err)
	}
	err := c.configurationError()
	c.step.Outcome, c.step.Reason = decision.Failed, err.Error()
	if c.policy.failOpen {
		c.step.Outcome = decision.FailedOpen
		return
	}
	e.deny(denial{policy: c.policy.name, binding: c.step.Name, message: err.Error(), reason: metav1.StatusReasonInvalid})
}

// evaluate evaluates a policy with each of its params and does what the binding's validationActions say.
func (e *enforcement) evaluate(ctx context.Context, c *candidate[*validations], in *cel.Input) {
	c.step.Outcome = decision.Skipped
	var told []string
	for _, param := range c.params {
		in.Params, in.Observe = param, observer(&c.step, param, e.traceAll)
		verdict := c.policy.program().evaluate(ctx, in)
		if verdict.skippedBy != "" {
			told = append(told, withParam(param, "matchConditions "+strconv.Quote(verdict.skippedBy)+" is false"))
			continue
		}
		worsen(&c.step, decision.Allowed)
		before := len(told)
		for _, f := range verdict.failures {
			told = append(told, withParam(param, e.fail(ctx, c, f)))
		}
		for _, a := range verdict.annotations {
			e.trail.annotate(c.policy.name, a)
		}
		for _, message := range verdict.failedAnnotations {
			told = append(told, withParam(param, e.failAnnotation(c, message)))
		}
		if len(told) == before {
			told = append(told, withParam(param, "every validation is true"))
		}
	}
	c.step.Reason = strings.Join(told, "; ")
}

// fail does what is to be done about a failed validation, and says what it was.
func (e *enforcement) fail(ctx context.Context, c *candidate[*validations], f failure) string {
	what := "validations[" + strconv.Itoa(f.index) + "] failed: " + f.message
	if f.fault && c.policy.failOpen {
		worsen(&c.step, decision.FailedOpen)
		return what + " (failurePolicy Ignore)"
	}
	if c.binding.acts(admissionregistrationv1.Deny) {
		outcome := decision.Denied
		if f.fault {
			outcome = decision.Failed
		}
		worsen(&c.step, outcome)
		e.deny(denial{policy: c.policy.name, binding: c.binding.name, message: f.message, reason: f.reason})
	}
	if c.binding.acts(admissionregistrationv1.Audit) {
		e.trail.failures = append(e.trail.failures, auditedFailure{
			Message:           f.message,
			Policy:            c.policy.name,
			Binding:           c.binding.name,
			ExpressionIndex:   f.index,
			ValidationActions: c.binding.actions,
		})
	}
	if c.binding.acts(admissionregistrationv1.Warn) {
		text := fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s", c.policy.name, c.binding.name, f.message)
		warning.AddWarning(ctx, "", text)
		c.step.Warnings = append(c.step.Warnings, text)
	}
	return what + " (validationActions " + fmt.Sprint(c.binding.actions) + ")"
}

// failAnnotation applies the failure policy to an audit annotation without a value. The binding's validationActions do
// not count.
func (e *enforcement) failAnnotation(c *candidate[*validations], message string) string {
	what := "auditAnnotations failed: " + message
	if c.policy.failOpen {
		worsen(&c.step, decision.FailedOpen)
		return what + " (failurePolicy Ignore)"
	}
	worsen(&c.step, decision.Failed)
	e.deny(denial{policy: c.policy.name, binding: c.binding.name, message: message})
	return what
}

// outcomes are in order of gravity.
var outcomes = []decision.Outcome{decision.Skipped, decision.Allowed, decision.FailedOpen, decision.Failed, decision.Denied}

// worsen gives a step the graver of its outcome and another.
func worsen(step *decision.Step, outcome decision.Outcome) {
	if slices.Index(outcomes, outcome) > slices.Index(outcomes, step.Outcome) {
		step.Outcome = outcome
	}
}

// withParam says which param a text is about.
func withParam(param runtime.Object, text string) string {
	if name := paramName(param); name != "" {
		return "param " + name + ": " + text
	}
	return text
}

// error is the answer to the client: Forbidden in words, but with the reason and code that the validation gives.
func (d *denial) error(a admission.Attributes) error {
	message := fmt.Sprintf("ValidatingAdmissionPolicy '%s' denied request: %s", d.policy, d.message)
	if d.binding != "" {
		message = fmt.Sprintf("ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %s", d.policy, d.binding, d.message)
	}
	err := admission.NewForbidden(a, errors.New(message))
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return err
	}
	status.ErrStatus.Reason = d.reason
	if d.reason == "" {
		status.ErrStatus.Reason = metav1.StatusReasonInvalid
	}
	switch status.ErrStatus.Reason {
	case metav1.StatusReasonForbidden:
		status.ErrStatus.Code = http.StatusForbidden
	case metav1.StatusReasonUnauthorized:
		status.ErrStatus.Code = http.StatusUnauthorized
	case metav1.StatusReasonRequestEntityTooLarge:
		status.ErrStatus.Code = http.StatusRequestEntityTooLarge
	default:
		status.ErrStatus.Code = http.StatusUnprocessableEntity
	}
	status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{Message: message})
	return status
}
