package config

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The functions below do to webhook configurations of admissionregistration.k8s.io/v1beta1, converted to v1, what a
// kube-apiserver up to v1.21 did.

// v1beta1TimeoutSeconds is how long a webhook of v1beta1 that does not say may take.
const v1beta1TimeoutSeconds int32 = 30

// DefaultV1beta1 fills in what a webhook of v1beta1 means by a field that it leaves out where one of v1 means something
// else. Default fills in the rest.
func DefaultV1beta1(obj runtime.Object) {
	switch obj := obj.(type) {
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range obj.Webhooks {
			w := &obj.Webhooks[i]
			defaultV1beta1(&w.FailurePolicy, &w.MatchPolicy, &w.SideEffects, &w.TimeoutSeconds, &w.AdmissionReviewVersions)
		}
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range obj.Webhooks {
			w := &obj.Webhooks[i]
			defaultV1beta1(&w.FailurePolicy, &w.MatchPolicy, &w.SideEffects, &w.TimeoutSeconds, &w.AdmissionReviewVersions)
		}
	}
}

func defaultV1beta1(
	failure **admissionregistrationv1.FailurePolicyType, match **admissionregistrationv1.MatchPolicyType,
	effects **admissionregistrationv1.SideEffectClass, timeoutSeconds **int32, reviews *[]string,
) {
	setDefault(failure, admissionregistrationv1.Ignore)
	setDefault(match, admissionregistrationv1.Exact)
	setDefault(effects, admissionregistrationv1.SideEffectClassUnknown)
	setDefault(timeoutSeconds, v1beta1TimeoutSeconds)
	if len(*reviews) == 0 {
		*reviews = []string{"v1beta1"}
	}
}

// ValidateV1beta1 is Validate for a webhook configuration that is written through v1beta1: webhooks may have any class of
// side effects, and share a name.
func ValidateV1beta1(obj runtime.Object) field.ErrorList {
	meta, hooks := webhooksOf(obj)
	if meta == nil {
		return unknownKind(obj)
	}
	errs := validateWebhooks(meta, hooks, toleratedInV1beta1(nothingStored))
	return once(append(errs, validateReservedName(meta.Name)...))
}

// ValidateV1beta1Update is ValidateUpdate for a webhook configuration that is written through v1beta1.
func ValidateV1beta1Update(obj, old runtime.Object) field.ErrorList {
	meta, hooks := webhooksOf(obj)
	if meta == nil {
		return unknownKind(obj)
	}
	_, oldHooks := webhooksOf(old)
	return once(validateWebhooks(meta, hooks, toleratedInV1beta1(storedWebhooks(hooks, oldHooks))))
}

// toleratedInV1beta1 adds the faults that are none in v1beta1.
func toleratedInV1beta1(stored storedHooks) storedHooks {
	stored.duplicateNames, stored.sideEffects = true, true
	return stored
}

// webhooksOf returns the metadata, nil for what is no webhook configuration, and the webhooks.
func webhooksOf(obj runtime.Object) (*metav1.ObjectMeta, []hook) {
	switch obj := obj.(type) {
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		return &obj.ObjectMeta, mutatingHooks(obj.Webhooks)
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		return &obj.ObjectMeta, validatingHooks(obj.Webhooks)
	}
	return nil, nil
}
