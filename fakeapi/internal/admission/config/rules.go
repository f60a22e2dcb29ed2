package config

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	operations = []admissionregistrationv1.OperationType{
		admissionregistrationv1.OperationAll, admissionregistrationv1.Connect, admissionregistrationv1.Create,
		admissionregistrationv1.Delete, admissionregistrationv1.Update,
	}
	// mutatingOperations are those that have an object to mutate.
	mutatingOperations = []admissionregistrationv1.OperationType{
		admissionregistrationv1.OperationAll, admissionregistrationv1.Connect, admissionregistrationv1.Create,
		admissionregistrationv1.Update,
	}
)

// validateRule validates a rule of a webhook or policy.
func validateRule(rule *admissionregistrationv1.RuleWithOperations, path *field.Path) field.ErrorList {
	errs := validateEntries(rule.Operations, "operations", path.Child("operations"))
	for i, operation := range rule.Operations {
		errs = append(errs, validateOneOf(operation, operations, path.Child("operations").Index(i))...)
	}
	errs = append(errs, validateEntries(rule.APIGroups, "API groups", path.Child("apiGroups"))...)
	errs = append(errs, validateEntries(rule.APIVersions, "API versions", path.Child("apiVersions"))...)
	for i, version := range rule.APIVersions {
		if version == "" {
			errs = append(errs, field.Required(path.Child("apiVersions").Index(i), ""))
		}
	}
	errs = append(errs, validateResources(rule.Resources, path.Child("resources"))...)
	return append(errs, validateOptionalOneOf(rule.Scope, scopes, path.Child("scope"))...)
}

// validateEntries requires entries, and that * stands alone.
func validateEntries[T ~string](entries []T, what string, path *field.Path) field.ErrorList {
	if len(entries) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	if len(entries) > 1 && slices.Contains(entries, "*") {
		return field.ErrorList{field.Invalid(path, entries, fmt.Sprintf("if '*' is present, must not specify other %s", what))}
	}
	return nil
}

// validateResources refuses entries that an earlier wildcard covers. Those that a later one covers pass, as they do in
// the API.
func validateResources(resources []string, path *field.Path) field.ErrorList {
	if len(resources) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	allSubresourcesOf, onAllResources := sets.New[string](), sets.New[string]()
	var everything, plainWildcard, plainLast bool
	for i, entry := range resources {
		if entry == "" {
			errs = append(errs, field.Required(path.Index(i), ""))
			continue
		}
		everything = everything || entry == "*/*"
		plainWildcard = plainWildcard || entry == "*"
		resource, subresource, found := strings.Cut(entry, "/")
		if !found {
			plainLast = entry != "*"
			continue
		}
		if allSubresourcesOf.Has(resource) {
			errs = append(errs, field.Invalid(path.Index(i), entry, fmt.Sprintf("if '%s/*' is present, must not specify %s", resource, entry)))
		}
		if onAllResources.Has(subresource) {
			errs = append(errs, field.Invalid(path.Index(i), entry, fmt.Sprintf("if '*/%s' is present, must not specify %s", subresource, entry)))
		}
		if subresource == "*" {
			allSubresourcesOf.Insert(resource)
		}
		if resource == "*" {
			onAllResources.Insert(subresource)
		}
	}
	if everything && len(resources) > 1 {
		errs = append(errs, field.Invalid(path, resources, "if '*/*' is present, must not specify other resources"))
	}
	if plainWildcard && plainLast {
		errs = append(errs, field.Invalid(path, resources, "if '*' is present, must not specify other resources without subresources"))
	}
	return errs
}

// validateMatchResources validates what a policy or binding matches. Nil is valid.
func validateMatchResources(resources *admissionregistrationv1.MatchResources, path *field.Path) field.ErrorList {
	if resources == nil {
		return nil
	}
	errs := validateRequiredOneOf(resources.MatchPolicy, matchPolicies, path.Child("matchPolicy"))
	if resources.NamespaceSelector == nil {
		errs = append(errs, field.Required(path.Child("namespaceSelector"), ""))
	}
	errs = append(errs, validateSelector(resources.NamespaceSelector, false, path.Child("namespaceSelector"))...)
	if resources.ObjectSelector == nil {
		errs = append(errs, field.Required(path.Child("objectSelector"), ""))
	}
	errs = append(errs, validateSelector(resources.ObjectSelector, false, path.Child("objectSelector"))...)
	for i := range resources.ResourceRules {
		errs = append(errs, validateNamedRule(&resources.ResourceRules[i], path.Child("resourceRules").Index(i))...)
	}
	for i := range resources.ExcludeResourceRules {
		errs = append(errs, validateNamedRule(&resources.ExcludeResourceRules[i], path.Child("excludeResourceRules").Index(i))...)
	}
	return errs
}

func validateNamedRule(rule *admissionregistrationv1.NamedRuleWithOperations, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, name := range rule.ResourceNames {
		at := path.Child("resourceNames").Index(i)
		for _, message := range content.IsPathSegmentName(name) {
			errs = append(errs, field.Invalid(at, name, message))
		}
		if slices.Contains(rule.ResourceNames[:i], name) {
			errs = append(errs, field.Duplicate(at, name))
		}
	}
	return append(errs, validateRule(&rule.RuleWithOperations, path)...)
}

// validateMutatingOperations refuses rules for operations without an object. The path has no index, as in the API.
func validateMutatingOperations(rules []admissionregistrationv1.NamedRuleWithOperations, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, rule := range rules {
		for _, operation := range rule.Operations {
			errs = append(errs, validateOneOf(operation, mutatingOperations, path.Child("resourceRules", "operations"))...)
		}
	}
	return errs
}
