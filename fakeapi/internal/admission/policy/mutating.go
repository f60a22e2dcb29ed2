package policy

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/cel"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/match"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/versions"
)

const mutatingPlugin = "MutatingAdmissionPolicy"

// Mutating is the stage of MutatingAdmissionPolicy. It may be used by many requests at once.
type Mutating struct {
	options Options
	cache   cache[*admissionregistrationv1.MutatingAdmissionPolicy, *admissionregistrationv1.MutatingAdmissionPolicyBinding, *mutations]
}

// NewMutating returns the stage.
func NewMutating(options Options) *Mutating {
	m := &Mutating{options: options}
	m.cache.newPolicy, m.cache.newBinding = mutatingPolicy, mutatingBinding
	return m
}

// Admit applies the mutations of the policies that match the request to its object. In a reinvocation, as told by the
// attributes' reinvocation context, it runs those policies again that ask for it and ran before; after a mutation it asks
// the context for a reinvocation. Each policy and binding considered is reported as a step without Attempt, Phase and
// Round, which the chain knows.
func (m *Mutating) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces, report func(...decision.Step)) error {
	policies := m.cache.bound(m.options.Policies.MutatingPolicies(), m.options.Policies.MutatingPolicyBindings())
	if len(policies) == 0 || a.GetOperation() == admission.Delete {
		return nil
	}
	if reason, excluded := match.ExcludedFromPolicies(a); excluded {
		report(decision.Step{Plugin: mutatingPlugin, Outcome: decision.Skipped, Reason: reason})
		return nil
	}
	run := &mutatingRun{
		options:    &m.options,
		interfaces: o,
		objects:    versions.Of(a, o),
		authorizer: cel.CacheDecisions(m.options.Authorizer),
		rounds:     roundsOf(a),
	}
	// All policies are matched before the first one mutates.
	considered := candidates(ctx, mutatingPlugin, &m.options, policies, a, o, run.objects)
	for i := range considered {
		if considered[i].err != nil {
			run.misconfigured(&considered[i])
		}
	}
	steps := make([]decision.Step, 0, len(considered))
	defer func() { report(steps...) }()
	for i := range considered {
		c := &considered[i]
		var err error
		if c.err == nil && !c.skipped() {
			err = run.invoke(ctx, c)
		}
		steps = append(steps, c.step)
		if err != nil {
			return err
		}
	}
	if err := run.end(a); err != nil {
		return err
	}
	return run.denial(a)
}

// mutatingRun is what mutating policies come to in one round of one request.
type mutatingRun struct {
	options    *Options
	interfaces admission.ObjectInterfaces
	objects    *versions.Objects
	authorizer authorizer.UnconditionalAuthorizer
	rounds     *rounds
	mutated    bool
	denials    []denial
}

// fail applies the failure policy to an error.
func (r *mutatingRun) fail(c *candidate[*mutations], d denial) {
	if c.policy.failOpen {
		worsen(&c.step, decision.FailedOpen)
		return
	}
	worsen(&c.step, decision.Failed)
	r.denials = append(r.denials, d)
}

func (r *mutatingRun) misconfigured(c *candidate[*mutations]) {
	if c.unconvertible {
		c.binding, c.step.Name = nil, ""
	}
	err := c.configurationError()
	c.step.Reason = err.Error()
	r.fail(c, denial{policy: c.policy.name, binding: c.step.Name, message: err.Error()})
}

// invoke runs the mutations of a policy with each of its params. An error refuses the request whatever the failure policy.
func (r *mutatingRun) invoke(ctx context.Context, c *candidate[*mutations]) error {
	before, err := r.objects.In(c.kind)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	original := before.VersionedObject.Object()
	c.step.Outcome = decision.Skipped
	var told []string
	for _, param := range c.params {
		what, err := r.invokeWith(ctx, c, param)
		told = append(told, withParam(param, what))
		c.step.Reason = strings.Join(told, "; ")
		if err != nil {
			c.step.Outcome, c.step.Reason = decision.Failed, err.Error()
			return err
		}
	}
	after, err := r.objects.In(c.kind)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	c.step.Changes = changes(original, after.VersionedObject.Object())
	return nil
}

// invokeWith runs the mutations of a policy with one param, and says what became of them.
func (r *mutatingRun) invokeWith(ctx context.Context, c *candidate[*mutations], param runtime.Object) (string, error) {
	program := c.policy.program()
	in, err := r.input(ctx, c, param)
	if err != nil {
		return "", err
	}
	matched, condition, err := program.conditions.Match(ctx, in)
	switch {
	case err != nil:
		r.fail(c, denial{policy: c.policy.name, binding: c.binding.name, message: err.Error(), reason: metav1.StatusReasonInvalid})
		return "matchConditions failed: " + err.Error(), nil
	case !matched:
		return "matchConditions " + strconv.Quote(condition) + " is false", nil
	}
	key := keyOf(c, param)
	if why := r.rounds.notDue(key, c.policy.reinvoke); why != "" {
		return why, nil
	}
	if r.rounds.second {
		c.step.Reinvoked = "reinvocationPolicy is IfNeeded, and the object was mutated in the first round"
	}
	worsen(&c.step, decision.Allowed)
	var failed []string
	for i := range program.mutations {
		if in.Attributes.VersionedObject.Object() == nil {
			return "there is no object to mutate", nil
		}
		err := r.apply(ctx, c, &program.mutations[i], in)
		if status := apierrors.APIStatus(nil); errors.As(err, &status) {
			return "", err
		}
		if err != nil {
			r.fail(c, denial{policy: c.policy.name, binding: c.binding.name, message: err.Error(), reason: metav1.StatusReasonInvalid})
			failed = append(failed, "mutations["+strconv.Itoa(i)+"] failed: "+err.Error())
		}
		if in, err = r.input(ctx, c, param); err != nil {
			return "", err
		}
	}
	r.rounds.invoked(key, c.policy.reinvoke)
	if len(failed) > 0 {
		return strings.Join(failed, ", "), nil
	}
	return "all mutations were applied", nil
}

func (r *mutatingRun) input(ctx context.Context, c *candidate[*mutations], param runtime.Object) (*cel.Input, error) {
	in, err := input(ctx, r.options, r.objects, c.kind, c.resource)
	if err != nil {
		return nil, err
	}
	in.Authorizer, in.Params, in.Observe = r.authorizer, param, observer(&c.step, param, r.options.TraceAll)
	return in, nil
}

// apply evaluates a mutation, puts the object that it makes in the place of the old one, and sets the defaults of what is
// new.
func (r *mutatingRun) apply(ctx context.Context, c *candidate[*mutations], m *mutation, in *cel.Input) error {
	converter := r.options.TypeConverter(c.kind)
	if converter == nil {
		return apierrors.NewServiceUnavailable(fmt.Sprintf("Resource kind %s not found. There can be a delay between when CustomResourceDefinitions are created and when they are available.", c.kind))
	}
	value, err := m.evaluate(ctx, c.policy.program().scope, in)
	if err != nil {
		return err
	}
	version, err := r.objects.In(c.kind)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	var object runtime.Object
	if m.patchType == admissionregistrationv1.PatchTypeJSONPatch {
		object, err = applyJSONPatch(value, version, r.interfaces)
	} else {
		object, err = applyConfiguration(value, version.VersionedObject.Object(), converter)
	}
	if err != nil {
		return err
	}
	if object, err = r.likeOriginal(object, version); err != nil {
		return err
	}
	r.interfaces.GetObjectDefaulter().Default(object)
	r.objects.Replace(version, object)
	r.mutated = true
	return nil
}

// likeOriginal makes an object of the built-in Go type where the original is one. The API converts such an object to the
// version of the request right away, which no conversion does between versions of built-in kinds: policies that see an
// object in another version than the request's cannot mutate it.
func (r *mutatingRun) likeOriginal(object runtime.Object, version *versions.Version) (runtime.Object, error) {
	if _, custom := version.VersionedObject.Object().(*unstructured.Unstructured); custom {
		return object, nil
	}
	if untyped, ok := object.(*unstructured.Unstructured); ok {
		typed, err := r.interfaces.GetObjectCreater().New(version.VersionedKind)
		if err != nil {
			return nil, err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(untyped.Object, typed); err != nil {
			return nil, fmt.Errorf("unable to convert unstructured object to %v: %w", version.VersionedKind, err)
		}
		object = typed
	}
	if requested := version.GetKind().GroupVersion(); requested != version.VersionedKind.GroupVersion() {
		if _, err := scheme.Scheme.ConvertToVersion(object, requested); err != nil {
			return nil, err
		}
	}
	return object, nil
}

// end carries the mutations over into the request's object and asks for a second round if there were any.
func (r *mutatingRun) end(a admission.Attributes) error {
	if r.mutated {
		if err := r.objects.WriteBack(); err != nil {
			return apierrors.NewInternalError(fmt.Errorf("failed to convert object: %w", err))
		}
		a.GetReinvocationContext().SetShouldReinvoke()
	}
	r.rounds.end(a.GetObject(), r.mutated)
	return nil
}

// denial is the answer to the client: the first error in words and reason, all of them as causes, and always the code of
// Forbidden.
func (r *mutatingRun) denial(a admission.Attributes) error {
	if len(r.denials) == 0 {
		return nil
	}
	err := admission.NewForbidden(a, errors.New("admission request denied by policy"))
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return err
	}
	for i, d := range r.denials {
		message := fmt.Sprintf("policy %q denied request: %s", d.policy, d.message)
		if d.binding != "" {
			message = fmt.Sprintf("policy '%s' with binding '%s' denied request: %s", d.policy, d.binding, d.message)
		}
		if i == 0 {
			status.ErrStatus.Message = message
			if d.reason != "" {
				status.ErrStatus.Reason = d.reason
			}
		}
		status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{Message: message})
	}
	return status
}
