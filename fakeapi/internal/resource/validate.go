package resource

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The rules that are checked of built-in kinds, besides those of metadata: the ones that tests of admission are likely
// to meet. Everything else is accepted.

const immutableMessage = apivalidation.FieldImmutableErrorMsg

// immutable refuses a change of a field.
func immutable(value, old any, path ...string) errorList {
	if equality.Semantic.DeepEqual(value, old) {
		return nil
	}
	return errorList{field.Invalid(field.NewPath(path[0], path[1:]...), value, immutableMessage)}
}

func validateConfigMap(config *corev1.ConfigMap) errorList {
	var errs errorList
	for _, key := range slices.Sorted(maps.Keys(config.Data)) {
		errs = append(errs, validateDataKey(key, field.NewPath("data"))...)
		if _, both := config.BinaryData[key]; both {
			errs = append(errs, field.Invalid(field.NewPath("data").Key(key), key, "duplicate of key present in binaryData"))
		}
	}
	size := 0
	for _, key := range slices.Sorted(maps.Keys(config.BinaryData)) {
		errs = append(errs, validateDataKey(key, field.NewPath("binaryData"))...)
		size += len(config.BinaryData[key])
	}
	for _, value := range config.Data {
		size += len(value)
	}
	if size > corev1.MaxSecretSize {
		errs = append(errs, field.TooLong(field.NewPath(""), "", corev1.MaxSecretSize))
	}
	return errs
}

func validateDataKey(key string, path *field.Path) errorList {
	var errs errorList
	for _, message := range validation.IsConfigMapKey(key) {
		errs = append(errs, field.Invalid(path.Key(key), key, message))
	}
	return errs
}

func validateConfigMapUpdate(config, old *corev1.ConfigMap) errorList {
	if old.Immutable == nil || !*old.Immutable {
		return nil
	}
	var errs errorList
	if config.Immutable == nil || !*config.Immutable {
		errs = append(errs, field.Forbidden(field.NewPath("immutable"), "field is immutable when `immutable` is set"))
	}
	if !reflect.DeepEqual(config.Data, old.Data) {
		errs = append(errs, field.Forbidden(field.NewPath("data"), "field is immutable when `immutable` is set"))
	}
	if !reflect.DeepEqual(config.BinaryData, old.BinaryData) {
		errs = append(errs, field.Forbidden(field.NewPath("binaryData"), "field is immutable when `immutable` is set"))
	}
	return errs
}

func validateSecret(secret *corev1.Secret) errorList {
	var errs errorList
	data, size := field.NewPath("data"), 0
	for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
		errs = append(errs, validateDataKey(key, data)...)
		size += len(secret.Data[key])
	}
	if size > corev1.MaxSecretSize {
		errs = append(errs, field.TooLong(data, "", corev1.MaxSecretSize))
	}
	required := map[corev1.SecretType][]string{
		corev1.SecretTypeTLS:              {corev1.TLSCertKey, corev1.TLSPrivateKeyKey},
		corev1.SecretTypeDockercfg:        {corev1.DockerConfigKey},
		corev1.SecretTypeDockerConfigJson: {corev1.DockerConfigJsonKey},
		corev1.SecretTypeSSHAuth:          {corev1.SSHAuthPrivateKey},
	}
	for _, key := range required[secret.Type] {
		if _, ok := secret.Data[key]; !ok {
			errs = append(errs, field.Required(data.Key(key), ""))
		}
	}
	if secret.Type == corev1.SecretTypeServiceAccountToken && secret.Annotations[corev1.ServiceAccountNameKey] == "" {
		errs = append(errs, field.Required(field.NewPath("metadata", "annotations").Key(corev1.ServiceAccountNameKey), ""))
	}
	return errs
}

func validateSecretUpdate(secret, old *corev1.Secret) errorList {
	errs := immutable(secret.Type, old.Type, "type")
	if old.Immutable == nil || !*old.Immutable {
		return errs
	}
	if secret.Immutable == nil || !*secret.Immutable {
		errs = append(errs, field.Forbidden(field.NewPath("immutable"), "field is immutable when `immutable` is set"))
	}
	if !reflect.DeepEqual(secret.Data, old.Data) {
		errs = append(errs, field.Forbidden(field.NewPath("data"), "field is immutable when `immutable` is set"))
	}
	return errs
}

func validateService(service *corev1.Service) errorList {
	var errs errorList
	spec := field.NewPath("spec")
	types := []corev1.ServiceType{corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort}
	switch headless := service.Spec.ClusterIP == corev1.ClusterIPNone; {
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		if service.Spec.ExternalName == "" {
			errs = append(errs, field.Required(spec.Child("externalName"), ""))
		}
	case len(service.Spec.Ports) == 0 && !headless:
		errs = append(errs, field.Required(spec.Child("ports"), ""))
	}
	errs = append(errs, validateOneOf(spec.Child("type"), service.Spec.Type, types)...)
	names := map[string]bool{}
	for i, port := range service.Spec.Ports {
		path := spec.Child("ports").Index(i)
		if port.Name == "" && len(service.Spec.Ports) > 1 {
			errs = append(errs, field.Required(path.Child("name"), ""))
		}
		if port.Name != "" && names[port.Name] {
			errs = append(errs, field.Duplicate(path.Child("name"), port.Name))
		}
		names[port.Name] = true
		for _, message := range validation.IsValidPortNum(int(port.Port)) {
			errs = append(errs, field.Invalid(path.Child("port"), port.Port, message))
		}
		errs = append(errs, validateOneOf(path.Child("protocol"), port.Protocol, []corev1.Protocol{corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP})...)
		errs = append(errs, validatePortOrName(port.TargetPort, path.Child("targetPort"))...)
	}
	return errs
}

func validatePortOrName(port intstr.IntOrString, path *field.Path) errorList {
	var errs errorList
	if port.Type == intstr.String {
		for _, message := range validation.IsValidPortName(port.StrVal) {
			errs = append(errs, field.Invalid(path, port.StrVal, message))
		}
		return errs
	}
	for _, message := range validation.IsValidPortNum(port.IntValue()) {
		errs = append(errs, field.Invalid(path, port.IntValue(), message))
	}
	return errs
}

// validateServiceUpdate lets a service keep its addresses, once it has any, unless it changes to or from a type without.
func validateServiceUpdate(service, old *corev1.Service) errorList {
	if service.Spec.Type == corev1.ServiceTypeExternalName || old.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	var errs errorList
	for i := range min(len(old.Spec.ClusterIPs), len(service.Spec.ClusterIPs)) {
		if old.Spec.ClusterIPs[i] != service.Spec.ClusterIPs[i] {
			errs = append(errs, field.Invalid(field.NewPath("spec", "clusterIPs").Index(i), service.Spec.ClusterIPs, "may not change once set"))
		}
	}
	return errs
}

// validateOneOf refuses a value that is not in the list.
func validateOneOf[T ~string](path *field.Path, value T, supported []T) errorList {
	if slices.Contains(supported, value) {
		return nil
	}
	return errorList{field.NotSupported(path, value, supported)}
}

func validateClaim(claim *corev1.PersistentVolumeClaim) errorList {
	var errs errorList
	spec := field.NewPath("spec")
	if len(claim.Spec.AccessModes) == 0 {
		errs = append(errs, field.Required(spec.Child("accessModes"), "at least 1 access mode is required"))
	}
	if _, ok := claim.Spec.Resources.Requests[corev1.ResourceStorage]; !ok {
		errs = append(errs, field.Required(spec.Child("resources").Key(string(corev1.ResourceStorage)), ""))
	}
	return errs
}

func validateClaimUpdate(claim, old *corev1.PersistentVolumeClaim) errorList {
	changed := claim.Spec.DeepCopy()
	changed.Resources = old.Spec.Resources
	changed.VolumeAttributesClassName = old.Spec.VolumeAttributesClassName
	if old.Spec.VolumeName == "" {
		changed.VolumeName = ""
	}
	if equality.Semantic.DeepEqual(*changed, old.Spec) {
		return nil
	}
	return errorList{field.Forbidden(field.NewPath("spec"),
		"spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims")}
}

func validateIngress(ingress *networkingv1.Ingress) errorList {
	if len(ingress.Spec.Rules) == 0 && ingress.Spec.DefaultBackend == nil {
		return errorList{field.Invalid(field.NewPath("spec"), ingress.Spec.Rules, "either `defaultBackend` or `rules` must be specified")}
	}
	return nil
}

func validateRole(role *rbacv1.Role) errorList { return validatePolicyRules(role.Rules, true) }

func validateClusterRole(role *rbacv1.ClusterRole) errorList {
	errs := validatePolicyRules(role.Rules, false)
	if role.AggregationRule != nil && len(role.AggregationRule.ClusterRoleSelectors) == 0 {
		errs = append(errs, field.Required(field.NewPath("aggregationRule", "clusterRoleSelectors"), "at least one clusterRoleSelector required if aggregationRule is non-nil"))
	}
	return errs
}

func validatePolicyRules(rules []rbacv1.PolicyRule, namespaced bool) errorList {
	var errs errorList
	for i, rule := range rules {
		path := field.NewPath("rules").Index(i)
		if len(rule.Verbs) == 0 {
			errs = append(errs, field.Required(path.Child("verbs"), ""))
		}
		switch {
		case len(rule.NonResourceURLs) > 0 && namespaced:
			errs = append(errs, field.Invalid(path.Child("nonResourceURLs"), rule.NonResourceURLs, "namespaced rules cannot apply to non-resource URLs"))
		case len(rule.NonResourceURLs) > 0 && len(rule.APIGroups)+len(rule.Resources)+len(rule.ResourceNames) > 0:
			errs = append(errs, field.Invalid(path.Child("nonResourceURLs"), rule.NonResourceURLs, "rules cannot apply to both regular resources and non-resource URLs"))
		case len(rule.NonResourceURLs) > 0:
		default:
			if len(rule.APIGroups) == 0 {
				errs = append(errs, field.Required(path.Child("apiGroups"), "resource rules must supply at least one api group"))
			}
			if len(rule.Resources) == 0 {
				errs = append(errs, field.Required(path.Child("resources"), "resource rules must supply at least one resource"))
			}
		}
	}
	return errs
}

func validateRoleBinding(ref rbacv1.RoleRef, subjects []rbacv1.Subject, kinds ...string) errorList {
	var errs errorList
	path := field.NewPath("roleRef")
	errs = append(errs, validateOneOf(path.Child("apiGroup"), ref.APIGroup, []string{rbacv1.GroupName})...)
	errs = append(errs, validateOneOf(path.Child("kind"), ref.Kind, kinds)...)
	if ref.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	for i, subject := range subjects {
		path := field.NewPath("subjects").Index(i)
		if subject.Name == "" {
			errs = append(errs, field.Required(path.Child("name"), ""))
		}
		errs = append(errs, validateOneOf(path.Child("kind"), subject.Kind, []string{rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind})...)
	}
	return errs
}

func changedRoleRef(ref, old rbacv1.RoleRef) errorList {
	return immutable(ref, old, "roleRef")
}

func validateStorageClass(class *storagev1.StorageClass) errorList {
	if class.Provisioner == "" {
		return errorList{field.Required(field.NewPath("provisioner"), class.Provisioner)}
	}
	return nil
}

func validateStorageClassUpdate(class, old *storagev1.StorageClass) errorList {
	return slices.Concat(
		immutable(class.Parameters, old.Parameters, "parameters"),
		immutable(class.Provisioner, old.Provisioner, "provisioner"),
		immutable(class.ReclaimPolicy, old.ReclaimPolicy, "reclaimPolicy"),
		immutable(class.VolumeBindingMode, old.VolumeBindingMode, "volumeBindingMode"),
	)
}

func validatePriorityClassUpdate(class, old *schedulingv1.PriorityClass) errorList {
	var errs errorList
	if class.Value != old.Value {
		errs = append(errs, field.Forbidden(field.NewPath("value"), "may not be changed in an update."))
	}
	return append(errs, immutable(class.PreemptionPolicy, old.PreemptionPolicy, "preemptionPolicy")...)
}

func validateLease(lease *coordinationv1.Lease) errorList {
	var errs errorList
	spec := field.NewPath("spec")
	if seconds := lease.Spec.LeaseDurationSeconds; seconds != nil && *seconds <= 0 {
		errs = append(errs, field.Invalid(spec.Child("leaseDurationSeconds"), *seconds, "must be greater than 0"))
	}
	if transitions := lease.Spec.LeaseTransitions; transitions != nil && *transitions < 0 {
		errs = append(errs, field.Invalid(spec.Child("leaseTransitions"), *transitions, "must be greater than or equal to 0"))
	}
	return errs
}

func validateSigningRequest(request *certificatesv1.CertificateSigningRequest) errorList {
	var errs errorList
	spec := field.NewPath("spec")
	if len(request.Spec.Request) == 0 || !strings.Contains(string(request.Spec.Request), "BEGIN CERTIFICATE REQUEST") {
		errs = append(errs, field.Invalid(spec.Child("request"), request.Spec.Request, "PEM block type must be CERTIFICATE REQUEST"))
	}
	if len(request.Spec.Usages) == 0 {
		errs = append(errs, field.Required(spec.Child("usages"), ""))
	}
	if request.Spec.SignerName == "" {
		errs = append(errs, field.Required(spec.Child("signerName"), ""))
	}
	return errs
}

func validateLabelSelector(selector *metav1.LabelSelector, path *field.Path) errorList {
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path)
}
