package cel

import (
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Input is what expressions are evaluated on.
type Input struct {
	// Attributes are those of the API request, with the objects in the version that expressions see.
	Attributes *admission.VersionedAttributes
	// Resource is request.resource: the resource of the version that the objects are in. Match conditions see the
	// resource of the API request instead.
	Resource schema.GroupVersionResource
	// Authorizer answers authorizer. Expressions that name it fail where it is nil.
	Authorizer authorizer.UnconditionalAuthorizer
	// Namespace is namespaceObject; nil for objects without a namespace. Match conditions always see null.
	Namespace *corev1.Namespace
	// Params is params; nil for null.
	Params runtime.Object
	// Observe, where it is not nil, is told of each evaluation, of variables too.
	Observe Observe
}

// request is the variable request: the review request that a webhook would get, without uid and objects.
func (in *Input) request() *admissionv1.AdmissionRequest {
	attrs := in.Attributes
	dryRun := attrs.IsDryRun()
	requestKind, requestResource := metav1.GroupVersionKind(attrs.GetKind()), metav1.GroupVersionResource(attrs.GetResource())
	return &admissionv1.AdmissionRequest{
		Kind:               metav1.GroupVersionKind(attrs.VersionedKind),
		Resource:           metav1.GroupVersionResource(in.Resource),
		SubResource:        attrs.GetSubresource(),
		RequestKind:        &requestKind,
		RequestResource:    &requestResource,
		RequestSubResource: attrs.GetSubresource(),
		Name:               attrs.GetName(),
		Namespace:          attrs.GetNamespace(),
		Operation:          admissionv1.Operation(attrs.GetOperation()),
		UserInfo:           userInfo(attrs.GetUserInfo()),
		DryRun:             &dryRun,
		Options:            runtime.RawExtension{Object: attrs.GetOperationOptions()},
	}
}

func userInfo(u user.Info) authenticationv1.UserInfo {
	if u == nil {
		return authenticationv1.UserInfo{}
	}
	info := authenticationv1.UserInfo{
		Username: u.GetName(),
		UID:      u.GetUID(),
		Groups:   u.GetGroups(),
		Extra:    make(map[string]authenticationv1.ExtraValue, len(u.GetExtra())),
	}
	for key, values := range u.GetExtra() {
		info.Extra[key] = values
	}
	return info
}

// namespaceObject is the namespace with the fields that expressions may see.
func (in *Input) namespaceObject() *corev1.Namespace {
	if in.Namespace == nil {
		return nil
	}
	visible := *in.Namespace
	visible.TypeMeta = metav1.TypeMeta{}
	visible.OwnerReferences = nil
	visible.ManagedFields = nil
	return &visible
}
