package webhook

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/cel"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/match"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/versions"
)

// inVersion gives the objects of the request in the version of a kind.
type inVersion func(schema.GroupVersionKind) (*versions.Version, error)

// concern decides whether the webhook is to be called about the objects that the attributes have, and in which version.
// The outcome's reason says why, and so does the error that refuses the request because this cannot be known.
func (o *Options) concern(ctx context.Context, h *hook, attributes admission.Attributes, in inVersion, interfaces admission.ObjectInterfaces) (match.Outcome, error) {
	outcome, err := h.criteria.Match(ctx, attributes, interfaces, o.Namespaces)
	if err != nil {
		return outcome, asStatus(err)
	}
	if !outcome.Matched || h.conditions == nil {
		return outcome, nil
	}
	version, err := in(outcome.Kind)
	if err != nil {
		return outcome, apierrors.NewInternalError(err)
	}
	matched, failed, err := h.conditions.Match(ctx, &cel.Input{
		Attributes: version.VersionedAttributes,
		Resource:   attributes.GetResource(),
		Authorizer: o.Authorizer,
	})
	switch {
	case err != nil && h.ignoreFailures:
		outcome.Matched = false
		outcome.Reason = "its matchConditions failed, and failurePolicy is Ignore: " + err.Error()
		return outcome, nil
	case err != nil:
		outcome.Reason = "its matchConditions failed, and failurePolicy is Fail: " + err.Error()
		return outcome, apierrors.NewForbidden(attributes.GetResource().GroupResource(), attributes.GetName(), err)
	case !matched:
		outcome.Matched = false
		outcome.Reason = "matchConditions[" + failed + "] is false"
		return outcome, nil
	}
	outcome.Reason += ", and all matchConditions are true"
	return outcome, nil
}

// asStatus makes an error that is no API status one of an internal error.
func asStatus(err error) error {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return err
	}
	return apierrors.NewInternalError(err)
}
