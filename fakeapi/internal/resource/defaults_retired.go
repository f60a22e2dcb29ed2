package resource

import (
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
)

// addRetiredDefaults fills in webhook configurations of v1beta1. That version is not served any more, but objects in it
// are still read from the store, and what they leave out means something else than it does in v1. What both versions
// fill in alike is filled in as in v1.
func addRetiredDefaults(scheme *runtime.Scheme) {
	scheme.AddTypeDefaultingFunc(&admissionregistrationv1beta1.ValidatingWebhookConfiguration{}, func(object any) {
		webhooks := object.(*admissionregistrationv1beta1.ValidatingWebhookConfiguration).Webhooks
		for i := range webhooks {
			w := &webhooks[i]
			defaultRetiredWebhook(&w.FailurePolicy, &w.MatchPolicy, &w.SideEffects, &w.TimeoutSeconds, &w.AdmissionReviewVersions)
		}
	})
	scheme.AddTypeDefaultingFunc(&admissionregistrationv1beta1.MutatingWebhookConfiguration{}, func(object any) {
		webhooks := object.(*admissionregistrationv1beta1.MutatingWebhookConfiguration).Webhooks
		for i := range webhooks {
			w := &webhooks[i]
			defaultRetiredWebhook(&w.FailurePolicy, &w.MatchPolicy, &w.SideEffects, &w.TimeoutSeconds, &w.AdmissionReviewVersions)
		}
	})
}

func defaultRetiredWebhook(
	failure **admissionregistrationv1beta1.FailurePolicyType, match **admissionregistrationv1beta1.MatchPolicyType,
	effects **admissionregistrationv1beta1.SideEffectClass, timeoutSeconds **int32, reviews *[]string,
) {
	orElsePtr(failure, admissionregistrationv1beta1.Ignore)
	orElsePtr(match, admissionregistrationv1beta1.Exact)
	orElsePtr(effects, admissionregistrationv1beta1.SideEffectClassUnknown)
	orElsePtr(timeoutSeconds, 30)
	if len(*reviews) == 0 {
		*reviews = []string{admissionregistrationv1beta1.SchemeGroupVersion.Version}
	}
}
