package resource

import (
	"context"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// A policy tells of its params in its messages. So whoever writes one must be allowed to read all objects of its
// paramKind, and whoever binds one those that the paramRef names; else policies would be a way around the authorizer.

// mayWritePolicy checks the write of a policy whose spec holds kind, and held old before. Both may be nil.
func mayWritePolicy(ctx context.Context, c *Catalogue, kind, old *admissionregistrationv1.ParamKind) field.ErrorList {
	who, asked := c.asksFor(ctx)
	if kind == nil || old != nil && *old == *kind || !asked {
		return nil
	}
	path := field.NewPath("spec", "paramKind")
	attributes := c.readParams(who, kind)
	attributes.Verb, attributes.Namespace, attributes.Name = "get", "*", "*"
	decision, _, err := c.hooks.Authorizer.Authorize(ctx, attributes)
	if err != nil {
		return field.ErrorList{field.Forbidden(path, err.Error())}
	}
	if decision != authorizer.DecisionAllow {
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
			`user %v must have "get" permission on all objects of the referenced paramKind (kind=%s, apiVersion=%s)`, who, kind.Kind, kind.APIVersion))}
	}
	return nil
}

// paramBinding is what a binding of either kind says of params.
type paramBinding struct {
	policy string
	// kind is the paramKind of the policy, nil where it has none; known is whether there is such a policy.
	kind  *admissionregistrationv1.ParamKind
	known bool
	ref   *admissionregistrationv1.ParamRef
	// refusal words that the user may not read the params, as the API does.
	refusal func(who user.Info, verb string) string
}

// mayBind checks the write of a binding. The API asks on every update, also where the paramRef stays the same.
func (b paramBinding) mayBind(ctx context.Context, c *Catalogue) field.ErrorList {
	who, asked := c.asksFor(ctx)
	if b.ref == nil || !asked {
		return nil
	}
	path := field.NewPath("spec", "paramRef")
	attributes := c.readParams(who, b.kind)
	attributes.Verb, attributes.Namespace, attributes.Name = "get", b.ref.Namespace, b.ref.Name
	if b.ref.Name == "" {
		attributes.Verb = "list"
	}
	decision, _, err := c.hooks.Authorizer.Authorize(ctx, attributes)
	switch {
	case err != nil:
		return field.ErrorList{field.Forbidden(path, err.Error())}
	case decision == authorizer.DecisionAllow:
		return nil
	case !b.known:
		return field.ErrorList{field.Forbidden(path, undetermined("get policy "+b.policy, who, attributes.Verb))}
	case b.kind != nil && attributes.Resource == "*":
		return field.ErrorList{field.Forbidden(path, undetermined(fmt.Sprintf("resolve paramKind &%v", *b.kind), who, attributes.Verb))}
	default:
		return field.ErrorList{field.Forbidden(path, b.refusal(who, attributes.Verb))}
	}
}

func undetermined(what string, who user.Info, verb string) string {
	return fmt.Sprintf(`unable to %s to determine minimum required permissions and user %v does not have "%v" permission for all groups, versions and resources`,
		what, who, verb)
}

// asksFor returns the user of the request, and whether what the user may do is asked at all.
func (c *Catalogue) asksFor(ctx context.Context) (who user.Info, asked bool) {
	who, ok := request.UserFrom(ctx)
	return who, ok && c.hooks.Authorizer != nil && !slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup)
}

// readParams are the attributes of a request for params of the kind; of any where it is nil or not served.
func (c *Catalogue) readParams(who user.Info, kind *admissionregistrationv1.ParamKind) authorizer.AttributesRecord {
	attributes := authorizer.AttributesRecord{User: who, ResourceRequest: true, APIGroup: "*", APIVersion: "*", Resource: "*"}
	if kind == nil {
		return attributes
	}
	gvk := schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
	attributes.APIGroup, attributes.APIVersion = gvk.Group, gvk.Version
	if resource, served := c.ForKind(gvk); served {
		attributes.Resource = resource.GVR.Resource
	}
	return attributes
}

// mayReadParams is mayWritePolicy or mayBind, by the kind of the object. The old one is nil on create.
func mayReadParams(ctx context.Context, c *Catalogue, object, old runtime.Object) field.ErrorList {
	switch object := object.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		var before *admissionregistrationv1.ParamKind
		if old, ok := old.(*admissionregistrationv1.ValidatingAdmissionPolicy); ok {
			before = old.Spec.ParamKind
		}
		return mayWritePolicy(ctx, c, object.Spec.ParamKind, before)
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		var before *admissionregistrationv1.ParamKind
		if old, ok := old.(*admissionregistrationv1.MutatingAdmissionPolicy); ok {
			before = old.Spec.ParamKind
		}
		return mayWritePolicy(ctx, c, object.Spec.ParamKind, before)
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		b := paramBinding{policy: object.Spec.PolicyName, ref: object.Spec.ParamRef, refusal: func(who user.Info, verb string) string {
			return fmt.Sprintf(`user %v does not have "%v" permission on the object referenced by paramRef`, who, verb)
		}}
		for _, policy := range c.Sources().ValidatingPolicies() {
			if policy.Name == b.policy {
				b.kind, b.known = policy.Spec.ParamKind, true
			}
		}
		return b.mayBind(ctx, c)
	case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
		b := paramBinding{policy: object.Spec.PolicyName, ref: object.Spec.ParamRef, refusal: func(who user.Info, verb string) string {
			// The API has them the other way round.
			return fmt.Sprintf(`user %v does not have "%v" permission on the object referenced by paramRef`, verb, who)
		}}
		for _, policy := range c.Sources().MutatingPolicies() {
			if policy.Name == b.policy {
				b.kind, b.known = policy.Spec.ParamKind, true
			}
		}
		return b.mayBind(ctx, c)
	}
	return nil
}
