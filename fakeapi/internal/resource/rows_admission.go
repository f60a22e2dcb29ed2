package resource

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/config"
)

// admissionRows are the configurations of admission itself.
func admissionRows() []row {
	kind := func(kind, resource, generation string, optional ...groupVersion) row {
		return row{
			stored: admissionregistrationv1.SchemeGroupVersion,
			served: versions(groupVersions(admissionregistrationv1.SchemeGroupVersion), optional...),
			kind:   kind, resource: resource, categories: []string{"api-extensions"},
			strategy: strategy{
				conditionalUpdate: true,
				generation:        []string{generation},
				defaults:          config.Default,
				validate:          config.Validate,
				validateUpdate:    config.ValidateUpdate,
				complete:          true,
				mayWrite:          mayReadParams,
				warnings:          func(object, _ runtime.Object) []string { return config.Warnings(object) },
			},
		}
	}
	webhooks := func(name, resource string) row {
		r := kind(name, resource, "Webhooks")
		r.served = append(r.served, servedVersion{
			GroupVersion: admissionregistrationv1beta1.SchemeGroupVersion,
			asked:        func(options Options) bool { return options.V1beta1Configurations },
			defaults:     config.DefaultV1beta1,
			adapt: func(s *strategy) {
				s.validate, s.validateUpdate = config.ValidateV1beta1, config.ValidateV1beta1Update
			},
		})
		return r
	}
	alpha, beta := admissionregistrationv1alpha1.SchemeGroupVersion, admissionregistrationv1beta1.SchemeGroupVersion
	validatingPolicies := kind("ValidatingAdmissionPolicy", "validatingadmissionpolicies", "Spec")
	validatingPolicies.subresources = []subresource{checkedStatus(keepingMetadata, func(object, _ runtime.Object) errorList {
		return config.ValidateStatusUpdate(object)
	}, fieldpath.MakePathOrDie("metadata"))}
	validatingPolicies.storage = validatingPolicyStorage
	return []row{
		kind("MutatingAdmissionPolicy", "mutatingadmissionpolicies", "Spec", beta, alpha),
		kind("MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", "Spec", beta, alpha),
		webhooks("MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
		validatingPolicies,
		kind("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", "Spec"),
		webhooks("ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
	}
}
