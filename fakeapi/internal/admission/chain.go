// Package admission is the admission chain: what an API server asks before it lets a request change anything.
//
// The API promises this order. First the mutating half: the namespace must exist and not be terminating, then the
// built-in plugins set defaults, then mutating policies, then mutating webhooks change the object, one after the other.
// When a policy or a webhook changed it, the whole half runs a second time, and calls again those webhooks whose
// reinvocationPolicy is IfNeeded and whose object changed since they saw it; never a third time. Between the halves the
// server completes and checks the object. Then the validating half, in which nothing can change it any more: validating
// policies, then validating webhooks. The first refusal ends the chain.
//
//	lifecycle  intree  policy (mutating)  webhook (mutating)   | policy (validating)  webhook (validating)
//	   └────────── second round, when the object changed ──────┘
//
// Each stage is a package of its own, below this one, whose comment says what the API promises of it. What several
// stages need stands beside them: match (does it concern the request?), versions (the objects in the version asked
// for), cel (expressions) and record (what was decided, and why).
package admission

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/utils/clock"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/intree"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/lifecycle"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/policy"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/record"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/webhook"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/services"
)

// Options are what a chain works with.
type Options struct {
	// Namespaces, Configurations and Params are looked up anew for every request. They are required.
	Namespaces     Namespaces
	Configurations Configurations
	Params         Params
	// ServiceAddresses say where to connect to for a webhook's clientConfig.service, before the stored service is asked,
	// as in services.Resolver.
	ServiceAddresses map[string]string
	// InTreePlugins are the names of the built-in plugins that are on, of those that package intree has. When nil they
	// are LimitRanger and Priority, which leave objects alone that have nothing to do with them.
	InTreePlugins []string
	// Authorizer answers the authorizer of CEL expressions. Where it is nil they fail that use it.
	Authorizer authorizer.UnconditionalAuthorizer
	// TypeConverter gives the schema by which a mutating policy's applyConfiguration is merged into an object of the
	// kind, or nil where there is none: then no policy can mutate objects of the kind. It is required.
	TypeConverter func(schema.GroupVersionKind) managedfields.TypeConverter
	// Intercept makes the calls of webhooks instead; nil leaves them alone.
	Intercept webhook.Intercept
	// Clock measures how long webhooks take; the real clock when nil.
	Clock clock.PassiveClock
	// TraceExpressions makes decisions tell what the parts of each expression of a policy came to, which evaluates it
	// twice; otherwise they tell of those that failed.
	TraceExpressions bool
	// ReviewUIDs gives request.uid of the reviews sent to webhooks; random UUIDs when nil.
	ReviewUIDs func() types.UID
}

// Chain is the admission chain of one server. It implements the admission interfaces that the handlers of
// k8s.io/apiserver call. Audit annotations go to the audit context of the request, warnings to its warning recorder,
// and decisions to its record.Log, where the context has them.
type Chain struct {
	mutating   []mutatingStage
	validating []validatingStage
	clients    *webhook.Clients

	// audited is the chain as the handlers see it: it carries the annotations of the attributes over into the audit
	// event.
	audited admission.Interface
}

var (
	_ admission.MutationInterface   = (*Chain)(nil)
	_ admission.ValidationInterface = (*Chain)(nil)
)

// mutatingStage is a stage of the mutating half. It notes with the attributes' reinvocation context that it changed the
// object, and finds there whether this is the second round.
type mutatingStage interface {
	Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces, report func(...decision.Step)) error
}

// validatingStage is a stage of the validating half.
type validatingStage interface {
	Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces, report func(...decision.Step)) error
}

// New returns the chain.
func New(options Options) *Chain {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.ReviewUIDs == nil {
		options.ReviewUIDs = uuid.NewUUID
	}
	if options.InTreePlugins == nil {
		options.InTreePlugins = []string{intree.LimitRanger, intree.Priority}
	}
	policies := policy.Options{
		Namespaces:    options.Namespaces,
		Policies:      options.Configurations,
		Params:        options.Params,
		Authorizer:    options.Authorizer,
		TypeConverter: options.TypeConverter,
		TraceAll:      options.TraceExpressions,
	}
	clients := webhook.NewClients(services.Resolver{Addresses: options.ServiceAddresses, Lookup: storedServices{options.Params}.lookUp})
	webhooks := webhook.Options{
		Namespaces: options.Namespaces,
		Clients:    clients,
		Clock:      options.Clock,
		ReviewUIDs: options.ReviewUIDs,
		Authorizer: options.Authorizer,
		Intercept:  options.Intercept,
	}
	mutating := []mutatingStage{lifecycle.New(options.Namespaces)}
	for _, plugin := range intree.Plugins(options.Params, options.InTreePlugins) {
		mutating = append(mutating, plugin)
	}
	c := &Chain{
		mutating: append(mutating,
			policy.NewMutating(policies),
			webhook.NewMutating(webhooks, options.Configurations.MutatingWebhooks),
		),
		validating: []validatingStage{
			policy.NewValidating(policies),
			webhook.NewValidating(webhooks, options.Configurations.ValidatingWebhooks),
		},
		clients: clients,
	}
	c.audited = admission.WithAudit(halves{c})
	return c
}

// Close lets go of the connections to webhooks. Requests under way are not disturbed.
func (c *Chain) Close() {
	c.clients.Close()
}

// Handles tells that the chain wants to see every operation.
func (c *Chain) Handles(operation admission.Operation) bool {
	return c.audited.Handles(operation)
}

// Admit runs the mutating half. It changes the attributes' object in place.
func (c *Chain) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	return c.audited.(admission.MutationInterface).Admit(ctx, a, o)
}

// Validate runs the validating half.
func (c *Chain) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	return c.audited.(admission.ValidationInterface).Validate(ctx, a, o)
}

// halves are the two halves of a chain, without the audit annotations' way into the audit event.
type halves struct{ chain *Chain }

func (halves) Handles(operation admission.Operation) bool {
	switch operation {
	case admission.Create, admission.Update, admission.Delete, admission.Connect:
		return true
	default:
		return false
	}
}

func (h halves) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) (err error) {
	pass := record.Begin(ctx, a, decision.Mutating)
	defer func() { pass.End(err) }()
	if err := h.mutate(ctx, a, o, pass.Report); err != nil {
		return err
	}
	reinvocation := a.GetReinvocationContext()
	if !reinvocation.ShouldReinvoke() {
		return nil
	}
	reinvocation.SetIsReinvoke()
	pass.Reinvoke()
	return h.mutate(ctx, a, o, pass.Report)
}

// mutate runs the mutating stages once.
func (h halves) mutate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces, report func(...decision.Step)) error {
	for _, stage := range h.chain.mutating {
		if err := stage.Admit(ctx, a, o, report); err != nil {
			return err
		}
	}
	return nil
}

func (h halves) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) (err error) {
	pass := record.Begin(ctx, a, decision.Validating)
	defer func() { pass.End(err) }()
	for _, stage := range h.chain.validating {
		if err := stage.Validate(ctx, a, o, pass.Report); err != nil {
			return err
		}
	}
	return nil
}
