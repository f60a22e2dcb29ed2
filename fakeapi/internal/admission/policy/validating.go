package policy

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/cel"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/match"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/versions"
)

const validatingPlugin = "ValidatingAdmissionPolicy"

// Validating is the stage of ValidatingAdmissionPolicy. It may be used by many requests at once.
type Validating struct {
	options Options
	cache   cache[*admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyBinding, *validations]
}

// NewValidating returns the stage.
func NewValidating(options Options) *Validating {
	v := &Validating{options: options}
	v.cache.newPolicy, v.cache.newBinding = validatingPolicy, validatingBinding
	return v
}

// Validate evaluates the policies that match the request, sends warnings and audit annotations, and refuses the request
// with a status error if a binding with the action Deny says so. Each policy and binding considered is reported as a step
// without Attempt, Phase and Round, which the chain knows.
func (v *Validating) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces, report func(...decision.Step)) error {
	policies := v.cache.bound(v.options.Policies.ValidatingPolicies(), v.options.Policies.ValidatingPolicyBindings())
	if len(policies) == 0 {
		return nil
	}
	if reason, excluded := match.ExcludedFromPolicies(a); excluded {
		report(decision.Step{Plugin: validatingPlugin, Outcome: decision.Skipped, Reason: reason})
		return nil
	}
	objects := versions.Of(a, o)
	run := &enforcement{authorizer: cel.CacheDecisions(v.options.Authorizer), traceAll: v.options.TraceAll}
	considered := candidates(ctx, validatingPlugin, &v.options, policies, a, o, objects)
	steps := make([]decision.Step, 0, len(considered))
	defer func() { report(steps...) }()
	for i := range considered {
		c := &considered[i]
		if c.err != nil {
			run.misconfigured(c)
		} else if !c.skipped() {
			in, err := input(ctx, &v.options, objects, c.kind, c.resource)
			if err != nil {
				return err
			}
			in.Authorizer = run.authorizer
			run.evaluate(ctx, c, in)
		}
		steps = append(steps, c.step)
	}
	if err := run.trail.publish(a); err != nil {
		return apierrors.NewInternalError(err)
	}
	if run.denial == nil {
		return nil
	}
	return run.denial.error(a)
}
