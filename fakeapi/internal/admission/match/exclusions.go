package match

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

// ExcludedFromWebhooks tells whether no webhook is ever called for the request, and why: it is for a webhook
// configuration, a policy or a binding (told by the kind, in any version), or for an authentication or authorization
// review (the feature gate ExcludeAdmissionWebhookVirtualResources, on by default from Kubernetes 1.37).
func ExcludedFromWebhooks(a admission.Attributes) (reason string, excluded bool) {
	kind := a.GetKind()
	if kind.Group == admissionGroup {
		switch kind.Kind {
		case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
			"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
			"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
			return "webhooks are never called for a " + kind.Kind + ", so that a broken one can always be mended", true
		}
	}
	if IsReview(a.GetResource().GroupResource()) {
		return "webhooks are never called for " + a.GetResource().Resource + ", on which the server's own access checks depend", true
	}
	return "", false
}

// ExcludedFromPolicies tells whether no policy ever applies to the request, and why: it is for a policy or a binding,
// or for an authentication or authorization review. Unlike webhooks, policies apply to webhook configurations.
func ExcludedFromPolicies(a admission.Attributes) (reason string, excluded bool) {
	resource := a.GetResource()
	if resource.Group == admissionGroup {
		switch resource.Resource {
		case "mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
			"validatingadmissionpolicies", "validatingadmissionpolicybindings":
			return "policies never apply to " + resource.Resource + ", so that a broken one can always be mended", true
		}
	}
	if IsReview(resource.GroupResource()) {
		return "policies never apply to " + resource.Resource + ", on which the server's own access checks depend", true
	}
	return "", false
}

const admissionGroup = "admissionregistration.k8s.io"

// IsReview tells whether the resource is one of the reviews that are answered, not stored, and that decide who may do
// what.
func IsReview(resource schema.GroupResource) bool {
	switch resource.Group {
	case "authentication.k8s.io":
		return resource.Resource == "tokenreviews" || resource.Resource == "selfsubjectreviews"
	case "authorization.k8s.io":
		switch resource.Resource {
		case "subjectaccessreviews", "localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews":
			return true
		}
	}
	return false
}
