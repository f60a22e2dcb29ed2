package webhook

import (
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// answer is a valid response of a webhook.
type answer struct {
	allowed          bool
	result           *metav1.Status
	warnings         []string
	auditAnnotations map[string]string
	// patch and patchType are empty for validating webhooks.
	patch     []byte
	patchType admissionv1.PatchType
}

// emptyReview is what a response in the version is decoded into.
func emptyReview(version string) runtime.Object {
	if version == admissionv1beta1.SchemeGroupVersion.Version {
		return &admissionv1beta1.AdmissionReview{}
	}
	return &admissionv1.AdmissionReview{}
}

// verify tells whether a decoded review is a valid answer to the review with the uid. Version v1 is strict; v1beta1
// checks neither the uid nor the review's own kind, takes any patch for a JSON patch, and ignores the patch of a
// validating webhook.
func verify(uid types.UID, mutating bool, decoded runtime.Object) (*answer, error) {
	switch review := decoded.(type) {
	case *admissionv1.AdmissionReview:
		return verifyV1(uid, mutating, review)
	case *admissionv1beta1.AdmissionReview:
		return verifyV1beta1(mutating, review)
	default:
		return nil, fmt.Errorf("unexpected response type %T", decoded)
	}
}

func verifyV1(uid types.UID, mutating bool, review *admissionv1.AdmissionReview) (*answer, error) {
	response := review.Response
	if response == nil {
		return nil, errors.New("webhook response was absent")
	}
	if response.UID != uid {
		return nil, fmt.Errorf("expected response.uid=%q, got %q", uid, response.UID)
	}
	if want, got := admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"), review.GroupVersionKind(); got != want {
		return nil, fmt.Errorf("expected webhook response of %v, got %v", want, got)
	}
	hasPatch, hasType := len(response.Patch) > 0, response.PatchType != nil
	switch {
	case !mutating && hasPatch:
		return nil, errors.New("validating webhook may not return response.patch")
	case !mutating && hasType:
		return nil, errors.New("validating webhook may not return response.patchType")
	case hasPatch && !hasType:
		return nil, errors.New("webhook returned response.patch but not response.patchType")
	case hasType && !hasPatch:
		return nil, errors.New("webhook returned response.patchType but not response.patch")
	case hasType && *response.PatchType == "":
		return nil, fmt.Errorf("webhook returned invalid response.patchType of %q", *response.PatchType)
	}
	a := &answer{
		allowed:          response.Allowed,
		result:           response.Result,
		warnings:         response.Warnings,
		auditAnnotations: response.AuditAnnotations,
		patch:            response.Patch,
	}
	if hasType {
		a.patchType = *response.PatchType
	}
	return a, nil
}

func verifyV1beta1(mutating bool, review *admissionv1beta1.AdmissionReview) (*answer, error) {
	response := review.Response
	if response == nil {
		return nil, errors.New("webhook response was absent")
	}
	a := &answer{
		allowed:          response.Allowed,
		result:           response.Result,
		warnings:         response.Warnings,
		auditAnnotations: response.AuditAnnotations,
	}
	if mutating && len(response.Patch) > 0 {
		a.patch, a.patchType = response.Patch, admissionv1.PatchTypeJSONPatch
	}
	return a, nil
}
