package webhook

import (
	"context"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/match"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/versions"
)

// prepare writes the review for a webhook that is to be called.
func (o *Options) prepare(h *hook, objects *versions.Version, outcome match.Outcome) (review, error) {
	if objects.IsDryRun() {
		if err := h.allowsDryRun(); err != nil {
			return review{}, err
		}
	}
	version, err := h.reviewVersion()
	if err != nil {
		return review{}, h.failed("could not create admission objects: %w", err)
	}
	prepared, err := newReview(o.ReviewUIDs(), version, objects, outcome)
	if err != nil {
		return review{}, h.failed("could not create admission objects: %w", err)
	}
	return prepared, nil
}

// allowsDryRun refuses the dry run of a webhook that may have side effects in it. The failure policy has no say.
func (h *hook) allowsDryRun() error {
	if h.sideEffects == nil {
		return h.failed("Webhook SideEffects is nil")
	}
	switch *h.sideEffects {
	case admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.SideEffectClassNoneOnDryRun:
		return nil
	}
	return apierrors.NewBadRequest(fmt.Sprintf("admission webhook %q does not support dry run", h.name))
}

// send posts the review and waits for the answer, for as long as the webhook's timeout and the request's own deadline
// allow. The error is a callError. The call is nil where none was made.
func (o *Options) send(ctx context.Context, h *hook, sent review, mutating bool) (*answer, *decision.Call, error) {
	client, err := o.Clients.client(h.client)
	if err != nil {
		return nil, nil, h.failed("could not get REST client: %w", err)
	}
	if h.timeoutSeconds != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(*h.timeoutSeconds)*time.Second)
		defer cancel()
	}
	request := client.Post().
		SetHeader("Content-Type", runtime.ContentTypeJSON).
		SetHeader("User-Agent", userAgent).
		Body(sent.body)
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); left > 0 {
			request.Timeout(wholeSecondsUp(left)) // also tells the webhook, as ?timeout=
		}
	}
	call := &decision.Call{URL: request.URL().String(), ReviewVersion: sent.version, UID: string(sent.uid)}

	start := o.Clock.Now()
	decoded, err := o.intercepted(ctx, h, sent, mutating, call.URL, func(ctx context.Context) (runtime.Object, error) {
		result := request.Do(ctx)
		result.StatusCode(&call.Status)
		decoded := emptyReview(sent.version)
		return decoded, result.Into(decoded)
	})
	call.Duration = o.Clock.Since(start)
	if err != nil {
		err = h.failed("failed to call webhook: %w", err)
		call.Error = err.Error()
		return nil, call, err
	}
	answer, err := verify(sent.uid, mutating, decoded)
	if err != nil {
		err = h.failed("received invalid webhook response: %w", err)
		call.Error = err.Error()
		return nil, call, err
	}
	return answer, call, nil
}

func wholeSecondsUp(d time.Duration) time.Duration {
	if whole := d.Truncate(time.Second); whole != d {
		return whole + time.Second
	}
	return d
}
