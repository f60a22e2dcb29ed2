package webhook

import (
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Intercept makes the call of a webhook. It may let next make it, more than once too, change the response, make one of
// its own, or fail, which is a failure of the webhook. A response of its own needs no uid. The context has the
// webhook's timeout.
type Intercept func(ctx context.Context, call Call, next func(context.Context) (*admissionv1.AdmissionResponse, error)) (*admissionv1.AdmissionResponse, error)

// Call tells an Intercept what is called.
type Call struct {
	// Configuration and Webhook are metadata.name of the configuration and the webhook's own name.
	Configuration, Webhook string
	// Mutating tells the kind of the webhook.
	Mutating bool
	// URL is where the call goes.
	URL string
	// Request is a copy of what is sent.
	Request *admissionv1.AdmissionRequest
}

// intercepted sends a review by the Intercept, if there is one, and else by send. It returns the review that came back.
func (o *Options) intercepted(ctx context.Context, h *hook, sent review, mutating bool, url string, send func(context.Context) (runtime.Object, error)) (runtime.Object, error) {
	if o.Intercept == nil {
		return send(ctx)
	}
	var request admissionv1.AdmissionReview // those of v1 and v1beta1 have the same fields
	if err := json.Unmarshal(sent.body, &request); err != nil {
		return nil, fmt.Errorf("reading the review again: %w", err)
	}
	var received runtime.Object
	var genuine *admissionv1.AdmissionResponse
	response, err := o.Intercept(ctx, Call{
		Configuration: h.configuration,
		Webhook:       h.name,
		Mutating:      mutating,
		URL:           url,
		Request:       request.Request,
	}, func(ctx context.Context) (_ *admissionv1.AdmissionResponse, err error) {
		if received, err = send(ctx); err != nil {
			return nil, err
		}
		genuine = responseOf(received)
		return genuine, nil
	})
	if err != nil {
		return nil, err
	}
	if response != nil && response != genuine && response.UID == "" {
		response = response.DeepCopy()
		response.UID = sent.uid
	}
	return withResponse(sent.version, received, response), nil
}

// responseOf is the response of a review as one of v1.
func responseOf(decoded runtime.Object) *admissionv1.AdmissionResponse {
	switch review := decoded.(type) {
	case *admissionv1.AdmissionReview:
		return review.Response
	case *admissionv1beta1.AdmissionReview:
		if r := review.Response; r != nil {
			return &admissionv1.AdmissionResponse{
				UID: r.UID, Allowed: r.Allowed, Result: r.Result,
				Patch: r.Patch, PatchType: (*admissionv1.PatchType)(r.PatchType),
				AuditAnnotations: r.AuditAnnotations, Warnings: r.Warnings,
			}
		}
	}
	return nil
}

// withResponse is a review of the version with that response. The rest is as in the one received, if it is not nil.
func withResponse(version string, received runtime.Object, r *admissionv1.AdmissionResponse) runtime.Object {
	if version == admissionv1beta1.SchemeGroupVersion.Version {
		if r == nil {
			return &admissionv1beta1.AdmissionReview{}
		}
		return &admissionv1beta1.AdmissionReview{Response: &admissionv1beta1.AdmissionResponse{
			UID: r.UID, Allowed: r.Allowed, Result: r.Result,
			Patch: r.Patch, PatchType: (*admissionv1beta1.PatchType)(r.PatchType),
			AuditAnnotations: r.AuditAnnotations, Warnings: r.Warnings,
		}}
	}
	review, ok := received.(*admissionv1.AdmissionReview)
	if !ok {
		review = &admissionv1.AdmissionReview{}
		review.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	}
	review.Response = r
	return review
}
