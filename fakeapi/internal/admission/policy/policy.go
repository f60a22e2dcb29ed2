package policy

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/match"
)

// Options are what the stages look things up in. The lookups are those that package admission declares.
type Options struct {
	Namespaces interface {
		Namespace(ctx context.Context, name string) (*corev1.Namespace, error)
	}
	Policies interface {
		ValidatingPolicies() []*admissionregistrationv1.ValidatingAdmissionPolicy
		ValidatingPolicyBindings() []*admissionregistrationv1.ValidatingAdmissionPolicyBinding
		MutatingPolicies() []*admissionregistrationv1.MutatingAdmissionPolicy
		MutatingPolicyBindings() []*admissionregistrationv1.MutatingAdmissionPolicyBinding
	}
	Params interface {
		Scope(kind schema.GroupVersionKind) (namespaced, served bool)
		Param(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (runtime.Object, error)
		ListParams(ctx context.Context, kind schema.GroupVersionKind, namespace string, selector labels.Selector) ([]runtime.Object, error)
	}
	// Authorizer answers authorizer in expressions. Where it is nil, expressions that use it fail.
	Authorizer authorizer.UnconditionalAuthorizer
	// TypeConverter returns the schema of a kind, by which applyConfiguration mutations are merged, or nil where there is
	// none: then no policy can mutate objects of the kind.
	TypeConverter func(schema.GroupVersionKind) managedfields.TypeConverter
	// TraceAll makes steps tell what the parts of every expression came to, which evaluates each twice. Otherwise they
	// tell of validations that are false and of errors.
	TraceAll bool
}

// policy is a bound policy of either kind. P is what its expressions compile to.
type policy[P any] struct {
	name       string
	failOpen   bool // failurePolicy Ignore
	paramKind  *admissionregistrationv1.ParamKind
	criteria   *match.Criteria
	reinvoke   bool // reinvocationPolicy IfNeeded, of mutating policies
	program    func() P
	bindings   []*binding
	configured any // the object that it was made from
}

// binding is a binding of either kind.
type binding struct {
	name     string
	policy   string
	params   *admissionregistrationv1.ParamRef
	criteria *match.Criteria
	actions  []admissionregistrationv1.ValidationAction // of validating policies
}

func (b *binding) acts(action admissionregistrationv1.ValidationAction) bool {
	return slices.Contains(b.actions, action)
}

func validatingPolicy(p *admissionregistrationv1.ValidatingAdmissionPolicy) *policy[*validations] {
	return &policy[*validations]{
		name:       p.Name,
		failOpen:   failsOpen(p.Spec.FailurePolicy),
		paramKind:  p.Spec.ParamKind,
		criteria:   match.ForPolicy(p.Spec.MatchConstraints),
		program:    sync.OnceValue(func() *validations { return compileValidations(&p.Spec) }),
		configured: p,
	}
}

func validatingBinding(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) *binding {
	return &binding{
		name:     b.Name,
		policy:   b.Spec.PolicyName,
		params:   b.Spec.ParamRef,
		criteria: match.ForPolicy(b.Spec.MatchResources),
		actions:  b.Spec.ValidationActions,
	}
}

func mutatingPolicy(p *admissionregistrationv1.MutatingAdmissionPolicy) *policy[*mutations] {
	return &policy[*mutations]{
		name:       p.Name,
		failOpen:   failsOpen(p.Spec.FailurePolicy),
		paramKind:  p.Spec.ParamKind,
		criteria:   match.ForPolicy(p.Spec.MatchConstraints),
		reinvoke:   p.Spec.ReinvocationPolicy == admissionregistrationv1.IfNeededReinvocationPolicy,
		program:    sync.OnceValue(func() *mutations { return compileMutations(&p.Spec) }),
		configured: p,
	}
}

func mutatingBinding(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) *binding {
	return &binding{
		name:     b.Name,
		policy:   b.Spec.PolicyName,
		params:   b.Spec.ParamRef,
		criteria: match.ForPolicy(b.Spec.MatchResources),
	}
}

func failsOpen(policy *admissionregistrationv1.FailurePolicyType) bool {
	return policy != nil && *policy == admissionregistrationv1.Ignore
}

// cache keeps what was made from the stored policies and bindings, of types S and B, for as long as these are the same
// objects.
type cache[S, B comparable, P any] struct {
	newPolicy  func(S) *policy[P]
	newBinding func(B) *binding
	state      atomic.Pointer[snapshot[S, B, P]]
}

type snapshot[S, B comparable, P any] struct {
	sources  []S
	bindings []B
	bound    []*policy[P]
}

// bound returns the policies that have bindings. Both lists are in order of name, and so are the policies and the
// bindings of each.
func (c *cache[S, B, P]) bound(sources []S, bindings []B) []*policy[P] {
	old := c.state.Load()
	if old != nil && slices.Equal(old.sources, sources) && slices.Equal(old.bindings, bindings) {
		return old.bound
	}
	made := map[any]*policy[P]{}
	if old != nil {
		for _, p := range old.bound {
			made[p.configured] = p
		}
	}
	byPolicy := map[string][]*binding{}
	for _, source := range bindings {
		b := c.newBinding(source)
		byPolicy[b.policy] = append(byPolicy[b.policy], b)
	}
	state := &snapshot[S, B, P]{sources: slices.Clone(sources), bindings: slices.Clone(bindings)}
	for _, source := range sources {
		p := made[source]
		if p == nil {
			p = c.newPolicy(source)
		}
		if len(byPolicy[p.name]) == 0 {
			continue
		}
		// A copy: requests under way still go by the old bindings.
		rebound := *p
		rebound.bindings = byPolicy[p.name]
		state.bound = append(state.bound, &rebound)
	}
	c.state.Store(state)
	return state.bound
}
