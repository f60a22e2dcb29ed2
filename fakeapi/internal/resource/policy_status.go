package resource

import (
	"context"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	applyadmissionregistrationv1 "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/config"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/openapi"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

// statusManager is the field manager of a cluster's controller that fills in the status of policies.
const statusManager = "validatingadmissionpolicy-status"

// validatingPolicyStorage is the storage of ValidatingAdmissionPolicies. A write is followed by one of the status, as a
// cluster's controller makes it some time later, before the client gets its answer: which resource versions there are does
// not depend on who is faster. The client may go on from its answer all the same, as where the controller is slower or not
// there.
func validatingPolicyStorage(v *view) rest.Storage {
	v.written = func(ctx context.Context) { v.catalogue.checkPolicies(ctx) }
	v.follower = func(before, after runtime.Object) string {
		from, to := before.(*admissionregistrationv1.ValidatingAdmissionPolicy), after.(*admissionregistrationv1.ValidatingAdmissionPolicy)
		if from.Generation == to.Generation && from.Status.ObservedGeneration < from.Generation && to.Status.ObservedGeneration == to.Generation {
			return statusManager
		}
		return ""
	}
	return &REST{v}
}

// checkPolicies fills in the status of the policies that changed since their types were checked.
func (c *Catalogue) checkPolicies(ctx context.Context) {
	for _, policy := range c.Sources().ValidatingPolicies() {
		if policy.Generation <= policy.Status.ObservedGeneration {
			continue
		}
		warnings := config.CheckTypes(policy, kinds{c})
		key := store.Key{Resource: admissionregistrationv1.Resource("validatingadmissionpolicies"), Name: policy.Name}
		// It may be gone or changed again, which is no fault: who changed it comes here too.
		_, _ = c.store.Update(ctx, key, func(current runtime.Object) (runtime.Object, error) {
			if current == nil {
				return nil, storage.NewKeyNotFoundError(key.String(), 0)
			}
			if now := current.(*admissionregistrationv1.ValidatingAdmissionPolicy); now.UID != policy.UID || now.Generation != policy.Generation {
				return current, nil
			}
			return c.applyAs(statusManager, "status", current, checkedTypes(policy, warnings))
		})
	}
}

// checkedTypes is what the controller applies.
func checkedTypes(policy *admissionregistrationv1.ValidatingAdmissionPolicy, warnings []admissionregistrationv1.ExpressionWarning) *applyadmissionregistrationv1.ValidatingAdmissionPolicyApplyConfiguration {
	checking := applyadmissionregistrationv1.TypeChecking()
	for _, w := range warnings {
		checking.WithExpressionWarnings(applyadmissionregistrationv1.ExpressionWarning().WithFieldRef(w.FieldRef).WithWarning(w.Warning))
	}
	return applyadmissionregistrationv1.ValidatingAdmissionPolicy(policy.Name).WithStatus(
		applyadmissionregistrationv1.ValidatingAdmissionPolicyStatus().WithObservedGeneration(policy.Generation).WithTypeChecking(checking))
}

// kinds are those that a catalogue serves.
type kinds struct{ catalogue *Catalogue }

var _ config.Kinds = kinds{}

// KindsOf implements config.Kinds.
func (k kinds) KindsOf(resource schema.GroupVersionResource) []schema.GroupVersionKind {
	name := strings.ToLower(resource.Resource)
	var found []schema.GroupVersionKind
	for _, r := range k.catalogue.Resources() {
		if r.Subresource == "" && r.GVR.Version == resource.Version && (resource.Group == "" || r.GVR.Group == resource.Group) &&
			(r.GVR.Resource == name || r.Singular == name) {
			found = append(found, r.GVK)
		}
	}
	return found
}

// Types implements config.Kinds. They are those of the OpenAPI documents.
func (k kinds) Types(kind schema.GroupVersionKind) *config.Types {
	resource, served := k.catalogue.ForKind(kind)
	switch {
	case !served:
		return nil
	case !resource.Custom:
		return shared().types
	}
	k.catalogue.mu.Lock()
	defer k.catalogue.mu.Unlock()
	for _, custom := range k.catalogue.custom {
		if slices.Contains(custom.resources, resource) {
			return custom.types
		}
	}
	return nil
}

// typesOf returns the types of a custom kind.
func typesOf(definition *apiextensionsv1.CustomResourceDefinition) *config.Types {
	return config.NewTypes(func(kind schema.GroupVersionKind) (*spec.Schema, error) {
		return openapi.NewCustom(definition).Schema(kind.Version)
	})
}
