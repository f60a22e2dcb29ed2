package webhook

import (
	"encoding/json"
	"errors"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/match"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/versions"
)

// review is an AdmissionReview, ready to be sent.
type review struct {
	uid types.UID
	// version is that of the AdmissionReview: v1 or v1beta1.
	version string
	body    []byte
}

// reviewVersion is the first version that the webhook lists and the server knows.
func (h *hook) reviewVersion() (string, error) {
	for _, version := range h.reviewVersions {
		if version == admissionv1.SchemeGroupVersion.Version || version == admissionv1beta1.SchemeGroupVersion.Version {
			return version, nil
		}
	}
	return "", errors.New("webhook does not accept known AdmissionReview versions (v1, v1beta1)")
}

// newReview writes the review of the objects in the version and resource that the webhook's rule asked for. The requests
// of v1 and v1beta1 have the same fields.
func newReview(uid types.UID, version string, objects *versions.Version, outcome match.Outcome) (review, error) {
	object, err := objects.ObjectJSON()
	if err != nil {
		return review{}, err
	}
	oldObject, err := objects.OldObjectJSON()
	if err != nil {
		return review{}, err
	}
	attributes := objects.Attributes
	requestKind := metav1.GroupVersionKind(attributes.GetKind())
	requestResource := metav1.GroupVersionResource(attributes.GetResource())
	dryRun := attributes.IsDryRun()
	body, err := json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{
			APIVersion: admissionv1.GroupName + "/" + version,
			Kind:       "AdmissionReview",
		},
		Request: &admissionv1.AdmissionRequest{
			UID:                uid,
			Kind:               metav1.GroupVersionKind(outcome.Kind),
			Resource:           metav1.GroupVersionResource(outcome.Resource),
			SubResource:        attributes.GetSubresource(),
			RequestKind:        &requestKind,
			RequestResource:    &requestResource,
			RequestSubResource: attributes.GetSubresource(),
			Name:               attributes.GetName(),
			Namespace:          attributes.GetNamespace(),
			Operation:          admissionv1.Operation(attributes.GetOperation()),
			UserInfo:           userInfo(attributes.GetUserInfo()),
			Object:             runtime.RawExtension{Raw: object},
			OldObject:          runtime.RawExtension{Raw: oldObject},
			DryRun:             &dryRun,
			Options:            runtime.RawExtension{Object: attributes.GetOperationOptions()},
		},
	})
	if err != nil {
		return review{}, err
	}
	return review{uid: uid, version: version, body: append(body, '\n')}, nil
}

func userInfo(u user.Info) authenticationv1.UserInfo {
	if u == nil {
		return authenticationv1.UserInfo{}
	}
	info := authenticationv1.UserInfo{Username: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups()}
	for key, values := range u.GetExtra() {
		if info.Extra == nil {
			info.Extra = map[string]authenticationv1.ExtraValue{}
		}
		info.Extra[key] = values
	}
	return info
}
