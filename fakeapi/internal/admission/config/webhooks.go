package config

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"
)

// hook is a webhook of either kind.
type hook struct {
	admissionregistrationv1.ValidatingWebhook
	reinvocationPolicy *admissionregistrationv1.ReinvocationPolicyType // of mutating webhooks
}

func validatingHooks(webhooks []admissionregistrationv1.ValidatingWebhook) []hook {
	hooks := make([]hook, len(webhooks))
	for i := range webhooks {
		hooks[i].ValidatingWebhook = webhooks[i]
	}
	return hooks
}

func mutatingHooks(webhooks []admissionregistrationv1.MutatingWebhook) []hook {
	hooks := make([]hook, len(webhooks))
	for i, w := range webhooks {
		hooks[i] = hook{
			ValidatingWebhook: admissionregistrationv1.ValidatingWebhook{
				Name:                    w.Name,
				ClientConfig:            w.ClientConfig,
				Rules:                   w.Rules,
				FailurePolicy:           w.FailurePolicy,
				MatchPolicy:             w.MatchPolicy,
				NamespaceSelector:       w.NamespaceSelector,
				ObjectSelector:          w.ObjectSelector,
				SideEffects:             w.SideEffects,
				TimeoutSeconds:          w.TimeoutSeconds,
				AdmissionReviewVersions: w.AdmissionReviewVersions,
				MatchConditions:         w.MatchConditions,
			},
			reinvocationPolicy: w.ReinvocationPolicy,
		}
	}
	return hooks
}

// storedHooks says which faults the stored webhooks have, which an update may therefore keep.
type storedHooks struct {
	duplicateNames        bool
	sideEffects           bool // a webhook without sideEffects, or with another class than None and NoneOnDryRun
	unknownReviewVersions bool // a webhook whose admissionReviewVersions are all unknown
	invalidSelectorValues bool
	// sameConditions is whether the match conditions of all webhooks are as they were. They are not looked at then.
	sameConditions bool
	conditions     sets.Set[string]
}

var nothingStored = storedHooks{}

func updateWebhooks(meta *metav1.ObjectMeta, hooks, old []hook) field.ErrorList {
	return validateWebhooks(meta, hooks, storedWebhooks(hooks, old))
}

// storedWebhooks looks through the webhooks that an update is to replace.
func storedWebhooks(hooks, old []hook) storedHooks {
	stored := storedHooks{
		sameConditions: slices.EqualFunc(hooks, old, func(a, b hook) bool { return sameConditions(a.MatchConditions, b.MatchConditions) }),
		conditions:     sets.New[string](),
	}
	names := sets.New[string]()
	for _, h := range old {
		stored.duplicateNames = stored.duplicateNames || names.Has(h.Name)
		names.Insert(h.Name)
		stored.sideEffects = stored.sideEffects || h.SideEffects == nil || !slices.Contains(sideEffectsToday, *h.SideEffects)
		stored.unknownReviewVersions = stored.unknownReviewVersions ||
			len(h.AdmissionReviewVersions) > 0 && !slices.ContainsFunc(h.AdmissionReviewVersions, isKnownReviewVersion)
		stored.invalidSelectorValues = stored.invalidSelectorValues ||
			len(validateSelector(h.NamespaceSelector, false, nil)) > 0 || len(validateSelector(h.ObjectSelector, false, nil)) > 0
		for _, condition := range h.MatchConditions {
			stored.conditions.Insert(condition.Expression)
		}
	}
	return stored
}

func validateWebhooks(meta *metav1.ObjectMeta, hooks []hook, stored storedHooks) field.ErrorList {
	errs := validateMetadata(meta)
	names := sets.New[string]()
	for i, h := range hooks {
		path := field.NewPath("webhooks").Index(i)
		errs = append(errs, validateWebhook(h, stored, path)...)
		if names.Has(h.Name) && !stored.duplicateNames && h.Name != "" {
			errs = append(errs, field.Duplicate(path.Child("name"), h.Name))
		}
		names.Insert(h.Name)
	}
	return errs
}

func validateWebhook(h hook, stored storedHooks, path *field.Path) field.ErrorList {
	errs := validation.IsFullyQualifiedName(path.Child("name"), h.Name)
	for i := range h.Rules {
		errs = append(errs, validateRule(&h.Rules[i], path.Child("rules").Index(i))...)
	}
	errs = append(errs, validateOptionalOneOf(h.FailurePolicy, failurePolicies, path.Child("failurePolicy"))...)
	errs = append(errs, validateOptionalOneOf(h.MatchPolicy, matchPolicies, path.Child("matchPolicy"))...)
	errs = append(errs, validateSideEffects(h.SideEffects, stored.sideEffects, path.Child("sideEffects"))...)
	if h.TimeoutSeconds != nil && (*h.TimeoutSeconds < 1 || *h.TimeoutSeconds > 30) {
		errs = append(errs, field.Invalid(path.Child("timeoutSeconds"), *h.TimeoutSeconds, "the timeout value must be between 1 and 30 seconds"))
	}
	errs = append(errs, validateSelector(h.NamespaceSelector, stored.invalidSelectorValues, path.Child("namespaceSelector"))...)
	errs = append(errs, validateSelector(h.ObjectSelector, stored.invalidSelectorValues, path.Child("objectSelector"))...)
	errs = append(errs, validateOptionalOneOf(h.reinvocationPolicy, reinvocationPolicies, path.Child("reinvocationPolicy"))...)
	errs = append(errs, validateClientConfig(&h.ClientConfig, path.Child("clientConfig"))...)
	if !stored.sameConditions {
		errs = append(errs, validateMatchConditions(h.MatchConditions, false, stored.conditions, path.Child("matchConditions"))...)
	}
	return append(errs, validateReviewVersions(h.AdmissionReviewVersions, stored.unknownReviewVersions, path.Child("admissionReviewVersions"))...)
}

var (
	sideEffectsToday = []admissionregistrationv1.SideEffectClass{
		admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.SideEffectClassNoneOnDryRun,
	}
	// sideEffectsOnce are the classes that v1beta1 accepted, and v1 where they are stored.
	sideEffectsOnce = []admissionregistrationv1.SideEffectClass{
		admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.SideEffectClassNoneOnDryRun,
		admissionregistrationv1.SideEffectClassSome, admissionregistrationv1.SideEffectClassUnknown,
	}
)

func validateSideEffects(class *admissionregistrationv1.SideEffectClass, stored bool, path *field.Path) field.ErrorList {
	classes := sideEffectsToday
	if stored {
		classes = sideEffectsOnce
	}
	if class == nil {
		return field.ErrorList{field.Required(path, "must specify one of "+list(classes))}
	}
	return validateOneOf(*class, classes, path)
}

// validateSelector validates a selector, which may be nil. Values that are no label values are accepted where some are
// stored.
func validateSelector(selector *metav1.LabelSelector, stored bool, path *field.Path) field.ErrorList {
	return metav1validation.ValidateLabelSelector(selector,
		metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: stored}, path)
}

func validateClientConfig(config *admissionregistrationv1.WebhookClientConfig, path *field.Path) field.ErrorList {
	url, service := config.URL, config.Service
	switch {
	case (url == nil) == (service == nil):
		return field.ErrorList{field.Required(path, "exactly one of url or service is required")}
	case url != nil:
		return webhook.ValidateWebhookURL(path.Child("url"), *url, true)
	default:
		port := defaultServicePort
		if service.Port != nil {
			port = *service.Port
		}
		// The API reports a missing name at namespace and a missing namespace at name: it swaps the two here.
		return webhook.ValidateWebhookService(path.Child("service"), service.Name, service.Namespace, service.Path, port)
	}
}

// reviewVersions are the versions of AdmissionReview that the server speaks.
var reviewVersions = []string{"v1", "v1beta1"}

func isKnownReviewVersion(version string) bool { return slices.Contains(reviewVersions, version) }

func validateReviewVersions(versions []string, stored bool, path *field.Path) field.ErrorList {
	if len(versions) == 0 {
		return field.ErrorList{field.Required(path, "must specify one of "+list(reviewVersions))}
	}
	var errs field.ErrorList
	for i, version := range versions {
		if slices.Contains(versions[:i], version) {
			errs = append(errs, field.Invalid(path.Index(i), version, "duplicate version"))
			continue
		}
		for _, message := range validation.IsDNS1035Label(version) {
			errs = append(errs, field.Invalid(path.Index(i), version, message))
		}
	}
	if !stored && !slices.ContainsFunc(versions, isKnownReviewVersion) {
		errs = append(errs, field.Invalid(path, versions, "must include at least one of "+list(reviewVersions)))
	}
	return errs
}

func list[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, ", ")
}
