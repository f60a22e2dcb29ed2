package policy

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/versions"
)

// candidate is a policy, or one of its bindings, that was considered for a request.
type candidate[P any] struct {
	policy  *policy[P]
	binding *binding // nil where the policy itself did not match or is misconfigured
	// step is what the record says of it. Its outcome is Skipped where it does not apply.
	step decision.Step
	// resource and kind are the version that the policy sees the object in.
	resource schema.GroupVersionResource
	kind     schema.GroupVersionKind
	// params are what to evaluate the policy with, one after the other. A policy without params has one, nil.
	params []runtime.Object
	// err is why it cannot be evaluated.
	err error
	// unconvertible says that err is the conversion of the object.
	unconvertible bool
}

// skipped tells whether it does not apply to the request.
func (c *candidate[P]) skipped() bool { return c.step.Outcome == decision.Skipped }

// candidates considers the policies for a request, one after the other, and each with its bindings.
func candidates[P any](ctx context.Context, plugin string, options *Options, policies []*policy[P],
	a admission.Attributes, o admission.ObjectInterfaces, objects *versions.Objects) []candidate[P] {
	found := make([]candidate[P], 0, len(policies))
	for _, p := range policies {
		outcome, err := p.criteria.Match(ctx, a, o, options.Namespaces)
		c := candidate[P]{
			policy:   p,
			step:     decision.Step{Plugin: plugin, Configuration: p.name, Matched: outcome.Rule, Reason: outcome.Reason},
			resource: outcome.Resource,
			kind:     outcome.Kind,
			err:      err,
		}
		if err == nil && !outcome.Matched {
			c.step.Outcome = decision.Skipped
		}
		if err == nil && outcome.Matched {
			c.err = checkParamKind(options, p.paramKind)
		}
		if c.err != nil || c.skipped() {
			found = append(found, c)
			continue
		}
		for _, b := range p.bindings {
			found = append(found, c.bound(ctx, options, b, a, o, objects))
		}
	}
	return found
}

// bound considers a binding of a policy that matches.
func (c candidate[P]) bound(ctx context.Context, options *Options, b *binding, a admission.Attributes, o admission.ObjectInterfaces, objects *versions.Objects) candidate[P] {
	c.binding, c.step.Name = b, b.name
	outcome, err := b.criteria.Match(ctx, a, o, options.Namespaces)
	switch {
	case err != nil:
		c.err = err
		return c
	case !outcome.Matched:
		c.step.Outcome = decision.Skipped
		c.step.Reason = "the binding does not match: " + outcome.Reason
		return c
	}
	if c.params, c.err = params(ctx, options, c.policy.paramKind, b.params, a.GetNamespace()); c.err != nil {
		return c
	}
	if len(c.params) == 0 {
		c.step.Outcome = decision.Skipped
		c.step.Reason = "no params were found, and parameterNotFoundAction is Allow"
		return c
	}
	if _, err := objects.In(c.kind); err != nil {
		c.err, c.unconvertible = err, true
	}
	return c
}

// configurationError words why the candidate cannot be evaluated.
func (c *candidate[P]) configurationError() error {
	if c.binding == nil {
		return fmt.Errorf("failed to configure policy: %w", c.err)
	}
	return fmt.Errorf("failed to configure binding: %w", c.err)
}
