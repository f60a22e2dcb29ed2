package webhook

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
)

// heed passes on what an answer has for the client and for the audit event, whether it allows the request or not, and
// returns the denial of one that does not.
func (h *hook) heed(ctx context.Context, a admission.Attributes, answer *answer) error {
	for key, value := range answer.auditAnnotations {
		// A key that is no qualified name, and a second value for a key, are dropped.
		_ = a.AddAnnotation(h.name+"/"+key, value)
	}
	for _, text := range answer.warnings {
		warning.AddWarning(ctx, "", text)
	}
	if !answer.allowed {
		return h.denial(answer.result)
	}
	return nil
}

// settle says what becomes of the request after the webhook was called, or was to be called, with this error or none: how
// the step ended, and the error that refuses the request.
func (h *hook) settle(err error) (decision.Outcome, error) {
	var denial *denialError
	var failure *callError
	switch {
	case err == nil:
		return decision.Allowed, nil
	case errors.As(err, &denial):
		return decision.Denied, denial.StatusError
	case errors.As(err, &failure) && h.ignoreFailures:
		return decision.FailedOpen, nil
	case errors.As(err, &failure):
		return decision.Failed, apierrors.NewInternalError(err)
	default:
		return decision.Failed, err
	}
}

// step is the record of the webhook being considered, as far as it is known before the call.
func (h *hook) step(plugin string) decision.Step {
	return decision.Step{Plugin: plugin, Configuration: h.configuration, Name: h.name}
}

// ended fills in how a step ended that called its webhook, or was to.
func ended(step *decision.Step, outcome decision.Outcome, err error) {
	step.Outcome = outcome
	if err != nil {
		step.Reason = err.Error()
	}
}

// wasCanceled tells whether a call failed because the client of the API request has gone away.
func wasCanceled(err error) bool {
	var failure *callError
	return errors.As(err, &failure) && failure.canceled()
}
