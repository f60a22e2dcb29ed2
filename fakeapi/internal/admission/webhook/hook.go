package webhook

import (
	"slices"
	"strconv"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/cel"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/match"
)

// hook is one webhook of a stored configuration, compiled. It does not change.
type hook struct {
	// configuration and name are metadata.name of the configuration and the webhook's own name.
	configuration, name string
	// id tells the webhook from all others of its kind, also from those of the same name.
	id string

	criteria *match.Criteria
	// conditions are nil where the webhook has none.
	conditions *cel.Conditions

	client         clientConfig
	reviewVersions []string
	// timeoutSeconds and sideEffects are nil where the stored object has none, which the API does not accept today.
	timeoutSeconds *int32
	sideEffects    *admissionregistrationv1.SideEffectClass
	// ignoreFailures is failurePolicy Ignore.
	ignoreFailures bool
	// reinvocable is reinvocationPolicy IfNeeded.
	reinvocable bool
}

// common are the fields that both kinds of webhooks have.
type common struct {
	name                    string
	clientConfig            *admissionregistrationv1.WebhookClientConfig
	rules                   []admissionregistrationv1.RuleWithOperations
	failurePolicy           *admissionregistrationv1.FailurePolicyType
	matchPolicy             *admissionregistrationv1.MatchPolicyType
	namespaceSelector       *metav1.LabelSelector
	objectSelector          *metav1.LabelSelector
	sideEffects             *admissionregistrationv1.SideEffectClass
	timeoutSeconds          *int32
	admissionReviewVersions []string
	matchConditions         []admissionregistrationv1.MatchCondition
}

func compileMutating(configuration *admissionregistrationv1.MutatingWebhookConfiguration) []*hook {
	hooks := make([]*hook, len(configuration.Webhooks))
	for i := range configuration.Webhooks {
		w := &configuration.Webhooks[i]
		hooks[i] = compile(configuration.Name, i, common{
			name:                    w.Name,
			clientConfig:            &w.ClientConfig,
			rules:                   w.Rules,
			failurePolicy:           w.FailurePolicy,
			matchPolicy:             w.MatchPolicy,
			namespaceSelector:       w.NamespaceSelector,
			objectSelector:          w.ObjectSelector,
			sideEffects:             w.SideEffects,
			timeoutSeconds:          w.TimeoutSeconds,
			admissionReviewVersions: w.AdmissionReviewVersions,
			matchConditions:         w.MatchConditions,
		})
		hooks[i].reinvocable = w.ReinvocationPolicy != nil && *w.ReinvocationPolicy == admissionregistrationv1.IfNeededReinvocationPolicy
	}
	return hooks
}

func compileValidating(configuration *admissionregistrationv1.ValidatingWebhookConfiguration) []*hook {
	hooks := make([]*hook, len(configuration.Webhooks))
	for i := range configuration.Webhooks {
		w := &configuration.Webhooks[i]
		hooks[i] = compile(configuration.Name, i, common{
			name:                    w.Name,
			clientConfig:            &w.ClientConfig,
			rules:                   w.Rules,
			failurePolicy:           w.FailurePolicy,
			matchPolicy:             w.MatchPolicy,
			namespaceSelector:       w.NamespaceSelector,
			objectSelector:          w.ObjectSelector,
			sideEffects:             w.SideEffects,
			timeoutSeconds:          w.TimeoutSeconds,
			admissionReviewVersions: w.AdmissionReviewVersions,
			matchConditions:         w.MatchConditions,
		})
	}
	return hooks
}

func compile(configuration string, index int, w common) *hook {
	h := &hook{
		configuration:  configuration,
		name:           w.name,
		id:             configuration + "/" + strconv.Itoa(index),
		criteria:       match.ForWebhook(w.rules, w.matchPolicy, w.namespaceSelector, w.objectSelector),
		client:         newClientConfig(w.clientConfig),
		reviewVersions: w.admissionReviewVersions,
		timeoutSeconds: w.timeoutSeconds,
		sideEffects:    w.sideEffects,
		ignoreFailures: w.failurePolicy != nil && *w.failurePolicy == admissionregistrationv1.Ignore,
	}
	if len(w.matchConditions) > 0 {
		h.conditions = cel.CompileMatchConditions(w.matchConditions)
	}
	return h
}

// hooks keeps the compiled webhooks of the stored configurations, by the configurations' pointers.
type hooks[C any] struct {
	compile func(*C) []*hook

	mu             sync.Mutex
	configurations []*C
	byOwner        map[*C][]*hook
	all            []*hook
}

// of returns the webhooks of all configurations, in order. It costs next to nothing while the configurations stay the
// same, and compiles no more than those that changed.
func (s *hooks[C]) of(configurations []*C) []*hook {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Equal(s.configurations, configurations) {
		return s.all
	}
	byOwner := make(map[*C][]*hook, len(configurations))
	var all []*hook
	for _, configuration := range configurations {
		compiled, ok := s.byOwner[configuration]
		if !ok {
			compiled = s.compile(configuration)
		}
		byOwner[configuration] = compiled
		all = append(all, compiled...)
	}
	s.configurations, s.byOwner, s.all = slices.Clone(configurations), byOwner, all
	return all
}
