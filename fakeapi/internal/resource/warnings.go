package resource

import (
	"crypto/tls"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// Warnings are for clients that do what is allowed and not wise.

// warns lets the tables name functions on Go types.
func warns[T runtime.Object](f func(object, old T) []string) func(object, old runtime.Object) []string {
	return func(object, old runtime.Object) []string {
		before, _ := old.(T)
		return f(object.(T), before)
	}
}

func secretWarnings(secret, _ *corev1.Secret) []string {
	certificate, key := secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]
	if secret.Type != corev1.SecretTypeTLS || len(certificate) == 0 || len(key) == 0 {
		return nil
	}
	if _, err := tls.X509KeyPair(certificate, key); err != nil {
		return []string{err.Error()}
	}
	return nil
}

func serviceAccountWarnings(account, old *corev1.ServiceAccount) []string {
	const enforce = "kubernetes.io/enforce-mountable-secrets"
	if _, ok := account.Annotations[enforce]; !ok {
		return nil
	}
	if old != nil {
		if _, ok := old.Annotations[enforce]; ok {
			return nil
		}
	}
	return []string{field.NewPath("metadata", "annotations").Key(enforce).String() +
		": deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"}
}

func serviceWarnings(service, _ *corev1.Service) []string {
	spec := &service.Spec
	var warnings []string
	external := len(spec.ExternalIPs) > 0
	for _, rule := range []struct {
		broken  bool
		warning string
	}{
		{isHeadless(service) && external, "spec.externalIPs is ignored for headless services"},
		{isHeadless(service) && spec.SessionAffinity != corev1.ServiceAffinityNone, "spec.SessionAffinity is ignored for headless services"},
		{external && !isHeadless(service) && spec.Type != corev1.ServiceTypeExternalName,
			"spec.externalIPs is deprecated and may no longer be implemented in some clusters"},
		{external && spec.Type == corev1.ServiceTypeExternalName, `spec.externalIPs is ignored when spec.type is "ExternalName"`},
		{spec.ExternalName != "" && spec.Type != corev1.ServiceTypeExternalName, `spec.externalName is ignored when spec.type is not "ExternalName"`},
		{ptr.Deref(spec.TrafficDistribution, "") == corev1.ServiceTrafficDistributionPreferClose,
			`spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"`},
	} {
		if rule.broken {
			warnings = append(warnings, rule.warning)
		}
	}
	return warnings
}

func ingressWarnings(ingress, old *networkingv1.Ingress) []string {
	if _, ok := ingress.Annotations[ingressClassAnnotation]; !ok || ingress.Spec.IngressClassName != nil || old != nil {
		return nil
	}
	return []string{fmt.Sprintf("annotation %q is deprecated, please use 'spec.ingressClassName' instead", ingressClassAnnotation)}
}

func csiDriverWarnings(driver, old *storagev1.CSIDriver) []string {
	if len(driver.Spec.TokenRequests) == 0 || driver.Spec.ServiceAccountTokenInSecrets != nil {
		return nil
	}
	if old != nil && equality.Semantic.DeepEqual(driver.Spec.TokenRequests, old.Spec.TokenRequests) {
		return nil
	}
	return []string{"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes"}
}
