package resource

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateConfigMap(config *corev1.ConfigMap) errorList {
	var errs errorList
	for _, key := range sortedKeys(config.Data) {
		errs = append(errs, validateDataKey(key, field.NewPath("data"))...)
		if _, both := config.BinaryData[key]; both {
			errs = append(errs, field.Invalid(field.NewPath("data").Key(key), key, "duplicate of key present in binaryData"))
		}
	}
	size := 0
	for _, key := range sortedKeys(config.BinaryData) {
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
	return invalid(path.Key(key), key, validation.IsConfigMapKey(key))
}

const immutableIsSet = "field is immutable when `immutable` is set"

func validateConfigMapUpdate(config, old *corev1.ConfigMap) errorList {
	if old.Immutable == nil || !*old.Immutable {
		return nil
	}
	var errs errorList
	if config.Immutable == nil || !*config.Immutable {
		errs = append(errs, field.Forbidden(field.NewPath("immutable"), immutableIsSet))
	}
	if !reflect.DeepEqual(config.Data, old.Data) {
		errs = append(errs, field.Forbidden(field.NewPath("data"), immutableIsSet))
	}
	if !reflect.DeepEqual(config.BinaryData, old.BinaryData) {
		errs = append(errs, field.Forbidden(field.NewPath("binaryData"), immutableIsSet))
	}
	return errs
}

// secretKeys are the keys that secrets of a type must have.
func secretKeys(kind corev1.SecretType) []string {
	switch kind {
	case corev1.SecretTypeTLS:
		return []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey}
	case corev1.SecretTypeDockercfg:
		return []string{corev1.DockerConfigKey}
	case corev1.SecretTypeDockerConfigJson:
		return []string{corev1.DockerConfigJsonKey}
	case corev1.SecretTypeSSHAuth:
		return []string{corev1.SSHAuthPrivateKey}
	}
	return nil
}

func validateSecret(secret *corev1.Secret) errorList {
	var errs errorList
	data, size := field.NewPath("data"), 0
	for _, key := range sortedKeys(secret.Data) {
		errs = append(errs, validateDataKey(key, data)...)
		size += len(secret.Data[key])
	}
	if size > corev1.MaxSecretSize {
		errs = append(errs, field.TooLong(data, "", corev1.MaxSecretSize))
	}
	for _, key := range secretKeys(secret.Type) {
		if _, ok := secret.Data[key]; !ok {
			errs = append(errs, field.Required(data.Key(key), ""))
		}
	}
	switch secret.Type {
	case corev1.SecretTypeServiceAccountToken:
		at := field.NewPath("metadata", "annotations").Key(corev1.ServiceAccountNameKey)
		errs = append(errs, required(at, secret.Annotations[corev1.ServiceAccountNameKey])...)
	case corev1.SecretTypeDockercfg:
		errs = append(errs, validateSecretJSON(secret.Data, corev1.DockerConfigKey)...)
	case corev1.SecretTypeDockerConfigJson:
		errs = append(errs, validateSecretJSON(secret.Data, corev1.DockerConfigJsonKey)...)
	case corev1.SecretTypeBasicAuth:
		_, user := secret.Data[corev1.BasicAuthUsernameKey]
		_, password := secret.Data[corev1.BasicAuthPasswordKey]
		if !user && !password {
			errs = append(errs, field.Required(data.Key(corev1.BasicAuthUsernameKey), ""), field.Required(data.Key(corev1.BasicAuthPasswordKey), ""))
		}
	}
	return errs
}

// validateSecretJSON refuses a value that is no JSON, without telling it.
func validateSecretJSON(data map[string][]byte, key string) errorList {
	value, ok := data[key]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(value, &map[string]any{}); err != nil {
		return errorList{field.Invalid(field.NewPath("data").Key(key), "<secret contents redacted>", err.Error())}
	}
	return nil
}

func validateSecretUpdate(secret, old *corev1.Secret) errorList {
	errs := immutable(secret.Type, old.Type, "type")
	if old.Immutable == nil || !*old.Immutable {
		return errs
	}
	if secret.Immutable == nil || !*secret.Immutable {
		errs = append(errs, field.Forbidden(field.NewPath("immutable"), immutableIsSet))
	}
	if !reflect.DeepEqual(secret.Data, old.Data) {
		errs = append(errs, field.Forbidden(field.NewPath("data"), immutableIsSet))
	}
	return errs
}

func validateReplicationController(controller *corev1.ReplicationController) errorList {
	spec, path := &controller.Spec, field.NewPath("spec")
	var errs errorList
	if len(spec.Selector) == 0 {
		errs = append(errs, field.Required(path.Child("selector"), ""))
	}
	if spec.Template == nil {
		errs = append(errs, field.Required(path.Child("template"), ""))
	} else {
		errs = append(errs, validateTemplate(spec.Template, &metav1.LabelSelector{MatchLabels: spec.Selector}, path.Child("template"))...)
	}
	errs = append(errs, optionalNonNegative(path.Child("replicas"), spec.Replicas)...)
	return append(errs, nonNegative(path.Child("minReadySeconds"), spec.MinReadySeconds)...)
}

func validatePodTemplateKind(template *corev1.PodTemplate) errorList {
	return validatePodTemplate(&template.Template, field.NewPath("template"))
}

func validateLimitRange(limits *corev1.LimitRange) errorList {
	var errs errorList
	types := map[corev1.LimitType]bool{}
	for i := range limits.Spec.Limits {
		item, at := &limits.Spec.Limits[i], field.NewPath("spec", "limits").Index(i)
		if types[item.Type] {
			errs = append(errs, field.Duplicate(at.Child("type"), item.Type))
		}
		types[item.Type] = true
		if item.Type == corev1.LimitTypePod {
			for _, forbidden := range []struct {
				name string
				list corev1.ResourceList
			}{{"default", item.Default}, {"defaultRequest", item.DefaultRequest}} {
				if len(forbidden.list) > 0 {
					errs = append(errs, field.Forbidden(at.Child(forbidden.name), "may not be specified when `type` is 'Pod'"))
				}
			}
			continue
		}
		errs = append(errs, validateLimitOrder(item, at)...)
	}
	return errs
}

// validateLimitOrder checks that the quantities of a limit do not contradict each other.
func validateLimitOrder(item *corev1.LimitRangeItem, path *field.Path) errorList {
	var errs errorList
	for _, name := range limitedResources(item) {
		for _, order := range []struct {
			low, high         corev1.ResourceList
			lowName, highName string
			// field is blamed, with the value shown.
			field string
			shown corev1.ResourceList
		}{
			{item.Min, item.Max, "min", "max", "min", item.Min},
			{item.Min, item.DefaultRequest, "min", "default request", "defaultRequest", item.DefaultRequest},
			{item.DefaultRequest, item.Max, "default request", "max", "defaultRequest", item.DefaultRequest},
			{item.DefaultRequest, item.Default, "default request", "default limit", "defaultRequest", item.DefaultRequest},
			{item.Min, item.Default, "min", "default", "default", item.Min},
			{item.Default, item.Max, "default", "max", "default", item.Default},
		} {
			low, hasLow := order.low[name]
			high, hasHigh := order.high[name]
			if hasLow && hasHigh && low.Cmp(high) > 0 {
				shown := order.shown[name]
				errs = append(errs, field.Invalid(path.Child(order.field).Key(string(name)), shown.String(),
					order.lowName+" value "+low.String()+" is greater than "+order.highName+" value "+high.String()))
			}
		}
	}
	return errs
}

func limitedResources(item *corev1.LimitRangeItem) []corev1.ResourceName {
	var names []corev1.ResourceName
	for _, list := range []corev1.ResourceList{item.Min, item.Max, item.Default, item.DefaultRequest} {
		names = append(names, sortedKeys(list)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func validateQuota(quota *corev1.ResourceQuota) errorList {
	var errs errorList
	for _, name := range sortedKeys(quota.Spec.Hard) {
		at := field.NewPath("spec", "hard").Key(string(name))
		if !strings.Contains(string(name), "/") && !mayLimit(name) {
			errs = append(errs, field.Invalid(at, name, "must be a standard resource type or fully qualified"),
				field.Invalid(at, name, "must be a standard resource for quota"))
		}
		errs = append(errs, nonNegativeQuantity(at, quota.Spec.Hard[name])...)
	}
	for _, scope := range quota.Spec.Scopes {
		switch scope {
		case corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeBestEffort,
			corev1.ResourceQuotaScopeNotBestEffort, corev1.ResourceQuotaScopePriorityClass,
			corev1.ResourceQuotaScopeVolumeAttributesClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		default:
			errs = append(errs, field.Invalid(field.NewPath("spec", "scopes"), quota.Spec.Scopes, "unsupported scope"))
		}
	}
	return errs
}

// mayLimit tells whether a quota may limit a resource that is nobody's in particular.
func mayLimit(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
		corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsStorage, corev1.ResourceRequestsEphemeralStorage,
		corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage,
		corev1.ResourcePods, corev1.ResourceQuotas, corev1.ResourceServices, corev1.ResourceReplicationControllers, corev1.ResourceSecrets,
		corev1.ResourcePersistentVolumeClaims, corev1.ResourceConfigMaps, corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers:
		return true
	}
	return isHugePages(name) || strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix)
}

func validateQuotaUpdate(quota, old *corev1.ResourceQuota) errorList {
	return append(immutable(quota.Spec.Scopes, old.Spec.Scopes, "spec", "scopes"),
		immutable(quota.Spec.ScopeSelector, old.Spec.ScopeSelector, "spec", "scopeSelector")...)
}

func validateNode(node *corev1.Node) errorList {
	var errs errorList
	type kind struct {
		key    string
		effect corev1.TaintEffect
	}
	seen := map[kind]bool{}
	for i, taint := range node.Spec.Taints {
		at := field.NewPath("metadata", "taints").Index(i) // where the real API server says that it is
		errs = append(errs, qualifiedName(at.Child("key"), taint.Key)...)
		errs = append(errs, validateTaintEffect(at.Child("effect"), taint.Effect)...)
		if of := (kind{taint.Key, taint.Effect}); seen[of] {
			duplicate := field.Duplicate(at, struct { // as the real API server writes it
				Key, Value string
				Effect     corev1.TaintEffect
				TimeAdded  *metav1.Time
			}(taint))
			duplicate.Detail = "taints must be unique by key and effect pair"
			errs = append(errs, duplicate)
		} else {
			seen[of] = true
		}
	}
	return errs
}

// validateNodeUpdate lets the addresses of a node's pods, and its cloud provider's name for it, be set once.
func validateNodeUpdate(node, old *corev1.Node) errorList {
	var errs errorList
	if len(old.Spec.PodCIDRs) > 0 && !slices.Equal(node.Spec.PodCIDRs, old.Spec.PodCIDRs) {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "podCIDRs"), "node updates may not change podCIDR except from \"\" to valid"))
	}
	provider := field.NewPath("spec", "providerID")
	switch {
	case old.Spec.ProviderID == "" || node.Spec.ProviderID == old.Spec.ProviderID:
	case node.Spec.ProviderID == "":
		errs = append(errs, field.Invalid(provider, nil, "field cannot be cleared once set"))
	default:
		errs = append(errs, field.Invalid(provider, nil, "field cannot be modified once set"))
	}
	return errs
}

//lint:ignore SA1019 the deprecated kind is still served
func validateEndpoints(endpoints *corev1.Endpoints) errorList {
	var errs errorList
	for i, subset := range endpoints.Subsets {
		at := field.NewPath("subsets").Index(i)
		if len(subset.Addresses)+len(subset.NotReadyAddresses) == 0 {
			errs = append(errs, field.Required(at, "must specify `addresses` or `notReadyAddresses`"))
		}
		errs = append(errs, validateEndpointAddresses(subset.Addresses, at.Child("addresses"))...)
		errs = append(errs, validateEndpointAddresses(subset.NotReadyAddresses, at.Child("notReadyAddresses"))...)
		for j, port := range subset.Ports {
			if port.Name == "" && len(subset.Ports) > 1 {
				errs = append(errs, field.Required(at.Child("ports").Index(j).Child("name"), ""))
			}
			errs = append(errs, validatePort(at.Child("ports").Index(j).Child("port"), port.Port)...)
		}
	}
	return errs
}

func validateEndpointAddresses(addresses []corev1.EndpointAddress, path *field.Path) errorList {
	var errs errorList
	for i, address := range addresses {
		at := path.Index(i).Child("ip")
		if wrong := validateAddress(at, address.IP); len(wrong) > 0 {
			errs = append(errs, wrong...)
			errs = append(errs, field.Invalid(at, address.IP, "must be a valid IP address")) // the real API server says it twice
		}
	}
	return errs
}
