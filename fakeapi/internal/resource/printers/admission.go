package printers

import (
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource/apiregistration"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func mutatingWebhookCells(configuration *admissionregistrationv1.MutatingWebhookConfiguration, now time.Time) []any {
	return []any{configuration.Name, int64(len(configuration.Webhooks)), age(configuration, now)}
}

func validatingWebhookCells(configuration *admissionregistrationv1.ValidatingWebhookConfiguration, now time.Time) []any {
	return []any{configuration.Name, int64(len(configuration.Webhooks)), age(configuration, now)}
}

func mutatingPolicyCells(policy *admissionregistrationv1.MutatingAdmissionPolicy, now time.Time) []any {
	return []any{policy.Name, int64(len(policy.Spec.Mutations)), paramKind(policy.Spec.ParamKind), age(policy, now)}
}

func validatingPolicyCells(policy *admissionregistrationv1.ValidatingAdmissionPolicy, now time.Time) []any {
	return []any{policy.Name, int64(len(policy.Spec.Validations)), paramKind(policy.Spec.ParamKind), age(policy, now)}
}

func mutatingBindingCells(binding *admissionregistrationv1.MutatingAdmissionPolicyBinding, now time.Time) []any {
	return []any{binding.Name, binding.Spec.PolicyName, params(binding.Spec.ParamRef), age(binding, now)}
}

func validatingBindingCells(binding *admissionregistrationv1.ValidatingAdmissionPolicyBinding, now time.Time) []any {
	return []any{binding.Name, binding.Spec.PolicyName, params(binding.Spec.ParamRef), age(binding, now)}
}

func paramKind(kind *admissionregistrationv1.ParamKind) string {
	if kind == nil {
		return unset
	}
	return kind.APIVersion + "/" + kind.Kind
}

// params shows which params a binding means: of any namespace, or cluster-scoped, where it names none.
func params(ref *admissionregistrationv1.ParamRef) string {
	switch {
	case ref != nil && ref.Name != "":
		return or(ref.Namespace, "*") + "/" + ref.Name
	case ref != nil && ref.Selector != nil:
		return ref.Selector.String()
	}
	return unset
}

func definitionCells(definition *apiextensionsv1.CustomResourceDefinition, _ time.Time) []any {
	var versions []string
	for _, version := range definition.Spec.Versions {
		switch {
		case version.Served && version.Storage:
			versions = append(versions, version.Name+"(storage)")
		case version.Served:
			versions = append(versions, version.Name)
		}
	}
	slices.Sort(versions)
	names := definition.Spec.Names
	return []any{
		definition.Name, string(definition.Spec.Scope), strings.Join(versions, ","),
		definition.CreationTimestamp.UTC().Format(time.RFC3339), definition.Spec.Group, names.Kind, strings.Join(names.ShortNames, ","),
		apihelpers.IsCRDConditionTrue(definition, apiextensionsv1.Established),
	}
}

func apiServiceCells(service *apiregistration.APIService, now time.Time) []any {
	server := "Local"
	if reference := service.Spec.Service; reference != nil {
		server = reference.Namespace + "/" + reference.Name
	}
	available := string(metav1.ConditionUnknown)
	for _, condition := range service.Status.Conditions {
		if condition.Type != apiregistration.Available {
			continue
		}
		available = string(condition.Status)
		if condition.Status != metav1.ConditionTrue && condition.Reason != "" {
			available += " (" + condition.Reason + ")"
		}
		break
	}
	return []any{service.Name, server, available, age(service, now)}
}
