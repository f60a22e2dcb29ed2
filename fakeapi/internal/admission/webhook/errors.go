package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// callError is a failure to get a valid answer from a webhook: what failurePolicy is about.
type callError struct {
	webhook string
	reason  error
}

func (e *callError) Error() string {
	return fmt.Sprintf("failed calling webhook %q: %v", e.webhook, e.reason)
}

func (e *callError) Unwrap() error { return e.reason }

// failed makes a callError of the webhook.
func (h *hook) failed(format string, args ...any) error {
	return &callError{webhook: h.name, reason: fmt.Errorf(format, args...)}
}

// canceled tells that the failure is nobody's fault: the client has gone away.
func (e *callError) canceled() bool { return errors.Is(e.reason, context.Canceled) }

// denial is the error that a webhook's denial refuses the request with. Reason, details and a code from 400 are passed
// through; without one the code is 400, whatever the reason.
func (h *hook) denial(result *metav1.Status) error {
	status := metav1.Status{}
	if result != nil {
		status = *result.DeepCopy()
	}
	if status.Code < http.StatusBadRequest {
		status.Code = http.StatusBadRequest
	}
	if status.Status == "" || status.Status == metav1.StatusSuccess {
		status.Status = metav1.StatusFailure
	}
	switch {
	case status.Message != "":
		status.Message = fmt.Sprintf("admission webhook %q denied the request: %s", h.name, status.Message)
	case status.Reason != "":
		status.Message = fmt.Sprintf("admission webhook %q denied the request: %s", h.name, status.Reason)
	default:
		status.Message = fmt.Sprintf("admission webhook %q denied the request without explanation", h.name)
	}
	return &denialError{&apierrors.StatusError{ErrStatus: status}}
}

// denialError is a denial, told apart from the errors of the server. The chain returns the StatusError in it.
type denialError struct{ *apierrors.StatusError }

func (e *denialError) Unwrap() error { return e.StatusError }

// timedOut is the error of a request whose own time is up.
func timedOut() error {
	return apierrors.NewTimeoutError("request did not complete within requested timeout", 0)
}
