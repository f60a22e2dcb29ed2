package resource

import (
	"crypto/x509"
	"encoding/pem"

	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateRole(role *rbacv1.Role) errorList { return validatePolicyRules(role.Rules, true) }

func validateClusterRole(role *rbacv1.ClusterRole) errorList {
	errs := validatePolicyRules(role.Rules, false)
	if role.AggregationRule != nil && len(role.AggregationRule.ClusterRoleSelectors) == 0 {
		errs = append(errs, field.Required(field.NewPath("aggregationRule", "clusterRoleSelectors"),
			"at least one clusterRoleSelector required if aggregationRule is non-nil"))
	}
	return errs
}

func validatePolicyRules(rules []rbacv1.PolicyRule, namespaced bool) errorList {
	var errs, missing errorList
	for i, rule := range rules {
		path := field.NewPath("rules").Index(i)
		if len(rule.Verbs) == 0 {
			missing = append(missing, field.Required(path.Child("verbs"), ""))
		}
		if len(rule.NonResourceURLs) > 0 {
			urls := path.Child("nonResourceURLs")
			if namespaced {
				errs = append(errs, field.Invalid(urls, rule.NonResourceURLs, "namespaced rules cannot apply to non-resource URLs"))
			}
			if len(rule.APIGroups)+len(rule.Resources)+len(rule.ResourceNames) > 0 {
				errs = append(errs, field.Invalid(urls, rule.NonResourceURLs, "rules cannot apply to both regular resources and non-resource URLs"))
			}
			continue
		}
		if len(rule.APIGroups) == 0 {
			errs = append(errs, field.Required(path.Child("apiGroups"), "resource rules must supply at least one api group"))
		}
		if len(rule.Resources) == 0 {
			errs = append(errs, field.Required(path.Child("resources"), "resource rules must supply at least one resource"))
		}
	}
	return append(errs, missing...)
}

// validateRoleBinding checks a binding to a role of one of these kinds. Subjects of a cluster-wide one need a namespace.
func validateRoleBinding(ref rbacv1.RoleRef, subjects []rbacv1.Subject, kinds ...string) errorList {
	var errs, missing errorList
	path := field.NewPath("roleRef")
	errs = append(errs, validateOneOf(path.Child("apiGroup"), ref.APIGroup, rbacv1.GroupName)...)
	errs = append(errs, validateOneOf(path.Child("kind"), ref.Kind, kinds...)...)
	namespaced := len(kinds) > 1
	for i, subject := range subjects {
		at := field.NewPath("subjects").Index(i)
		if subject.Name == "" {
			missing = append(missing, field.Required(at.Child("name"), ""))
		}
		switch subject.Kind {
		case rbacv1.ServiceAccountKind:
			if subject.Name != "" {
				errs = append(errs, dnsSubdomain(at.Child("name"), subject.Name)...)
			}
			if subject.APIGroup != "" {
				errs = append(errs, validateOneOf(at.Child("apiGroup"), subject.APIGroup, "")...)
			}
			if subject.Namespace == "" && !namespaced {
				errs = append(errs, field.Required(at.Child("namespace"), ""))
			}
		case rbacv1.UserKind, rbacv1.GroupKind:
			errs = append(errs, validateOneOf(at.Child("apiGroup"), subject.APIGroup, rbacv1.GroupName)...)
		default:
			errs = append(errs, validateOneOf(at.Child("kind"), subject.Kind, rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind)...)
		}
	}
	errs = append(errs, missing...)
	return append(errs, required(path.Child("name"), ref.Name)...)
}

func changedRoleRef(ref, old rbacv1.RoleRef) errorList {
	type written struct{ APIGroup, Kind, Name string } // as the real API server writes it
	return immutable(written(ref), written(old), "roleRef")
}

func validateSigningRequest(request *certificatesv1.CertificateSigningRequest) errorList {
	var errs errorList
	spec := field.NewPath("spec")
	if block, _ := pem.Decode(request.Spec.Request); block == nil || block.Type != "CERTIFICATE REQUEST" {
		errs = append(errs, field.Invalid(spec.Child("request"), request.Spec.Request, "PEM block type must be CERTIFICATE REQUEST"))
	} else if _, err := x509.ParseCertificateRequest(block.Bytes); err != nil {
		errs = append(errs, field.Invalid(spec.Child("request"), request.Spec.Request, err.Error()))
	}
	if len(request.Spec.Usages) == 0 {
		errs = append(errs, field.Required(spec.Child("usages"), ""))
	}
	return append(errs, required(spec.Child("signerName"), request.Spec.SignerName)...)
}
