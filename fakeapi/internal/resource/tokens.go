package resource

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/utils/ptr"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

const (
	// defaultTokenSeconds is how long a token is good for when the request does not say.
	defaultTokenSeconds = 3600
	minTokenSeconds     = 600
	maxTokenSeconds     = 1 << 32
)

// defaultTokenRequest sets how long the token is to be good for.
func defaultTokenRequest(object any) {
	spec := &object.(*authenticationv1.TokenRequest).Spec
	if spec.ExpirationSeconds == nil {
		spec.ExpirationSeconds = ptr.To[int64](defaultTokenSeconds)
	}
}

// tokenREST is the storage of serviceaccounts/token. A dry run gets a token too: nothing is stored with it.
type tokenREST struct {
	parent *REST
}

var (
	_ rest.NamedCreater                   = &tokenREST{}
	_ rest.SubresourceObjectMetaPreserver = &tokenREST{}
)

// New implements rest.Storage.
func (t *tokenREST) New() runtime.Object { return &authenticationv1.TokenRequest{} }

// Destroy implements rest.Storage; there is nothing to release.
func (t *tokenREST) Destroy() {}

// PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate implements rest.SubresourceObjectMetaPreserver: the uid is
// that of the service account.
func (t *tokenREST) PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate() bool { return true }

// Create implements rest.NamedCreater.
func (t *tokenREST) Create(ctx context.Context, name string, object runtime.Object, validation rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	tokenRequest := object.(*authenticationv1.TokenRequest)
	namespace := request.NamespaceValue(ctx)
	if errs := mustMatch(tokenRequest, name, namespace); len(errs) > 0 {
		return nil, apierrors.NewInvalid(tokenRequestKind(), name, errs)
	}
	found, err := t.parent.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	account := found.(*corev1.ServiceAccount)
	if uid := tokenRequest.UID; uid != "" && uid != account.UID {
		resource := schema.GroupResource{Group: authenticationv1.GroupName, Resource: "TokenRequest"}
		return nil, apierrors.NewConflict(resource, name, fmt.Errorf(
			"the UID in the token request (%s) does not match the UID of the service account (%s)", uid, account.UID))
	}
	tokenRequest.Name, tokenRequest.Namespace, tokenRequest.UID = account.Name, account.Namespace, account.UID
	tokenRequest.CreationTimestamp = t.parent.now()
	tokenRequest.Status = authenticationv1.TokenRequestStatus{}
	if errs := validateTokenRequest(tokenRequest); len(errs) > 0 {
		return nil, apierrors.NewInvalid(tokenRequestKind(), "", errs)
	}
	if validation != nil {
		if err := validation(ctx, tokenRequest.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	if ref := tokenRequest.Spec.BoundObjectRef; ref != nil {
		if err := t.checkBound(ref, account); err != nil {
			return nil, err
		}
	}
	issue := t.parent.catalogue.hooks.IssueToken
	if issue == nil {
		return nil, apierrors.NewMethodNotSupported(t.parent.resource.GroupResource(), "create")
	}
	if err := issue(ctx, account, tokenRequest); err != nil {
		return nil, err
	}
	return tokenRequest, nil
}

func tokenRequestKind() schema.GroupKind {
	return schema.GroupKind{Group: authenticationv1.GroupName, Kind: "TokenRequest"}
}

// mustMatch checks that the metadata, where it says something, names the service account of the URL.
func mustMatch(tokenRequest *authenticationv1.TokenRequest, name, namespace string) field.ErrorList {
	path := field.NewPath("metadata")
	if got := tokenRequest.Name; got != "" && got != name {
		return field.ErrorList{field.Invalid(path.Child("name"), got, "must match the service account name if specified")}
	}
	if got := tokenRequest.Namespace; got != "" && got != namespace {
		return field.ErrorList{field.Invalid(path.Child("namespace"), got, "must match the service account namespace if specified")}
	}
	return nil
}

func validateTokenRequest(tokenRequest *authenticationv1.TokenRequest) field.ErrorList {
	path, seconds := field.NewPath("spec", "expirationSeconds"), ptr.Deref(tokenRequest.Spec.ExpirationSeconds, 0)
	switch {
	case seconds < minTokenSeconds:
		return field.ErrorList{field.Invalid(path, seconds, "may not specify a duration less than 10 minutes")}
	case seconds > maxTokenSeconds:
		return field.ErrorList{field.Invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")}
	}
	return nil
}

// checkBound checks that the object is there that the token is to be good no longer than.
func (t *tokenREST) checkBound(ref *authenticationv1.BoundObjectReference, account *corev1.ServiceAccount) error {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	resources := map[schema.GroupKind]string{{Kind: "Pod"}: "pods", {Kind: "Node"}: "nodes", {Kind: "Secret"}: "secrets"}
	resource, ok := resources[kind.GroupKind()]
	if !ok {
		return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s", kind))
	}
	key := store.Key{Resource: corev1.Resource(resource), Namespace: account.Namespace, Name: ref.Name}
	if resource == "nodes" {
		key.Namespace = ""
	}
	found, err := t.parent.catalogue.store.Get(key)
	if storage.IsNotFound(err) {
		return apierrors.NewNotFound(key.Resource, ref.Name)
	}
	if err != nil {
		return err
	}
	if pod, ok := found.(*corev1.Pod); ok && pod.Spec.ServiceAccountName != account.Name {
		return apierrors.NewBadRequest(fmt.Sprintf(
			"cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", account.Name))
	}
	accessor, err := meta.Accessor(found)
	if err != nil {
		return err
	}
	if uid := types.UID(ref.UID); uid != "" && uid != accessor.GetUID() {
		return apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, ref.Name, fmt.Errorf(
			"the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", uid))
	}
	return nil
}
