package manifests

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Hook is one webhook of a configuration.
type Hook struct {
	// MutatingWebhook is the webhook as it is written. A validating one has no reinvocationPolicy.
	admissionregistrationv1.MutatingWebhook
	// Configuration is the name of its configuration, Index its place there.
	Configuration string
	Index         int
	// Mutating tells it from a validating webhook.
	Mutating bool
	// Version is the version of admissionregistration.k8s.io that the configuration is written in.
	Version string
	// Annotations are those of the configuration.
	Annotations map[string]string
	// Place is where the configuration is written, FILE:LINE.
	Place string

	source *unstructured.Unstructured
}

// String names the webhook for people.
func (h *Hook) String() string { return h.Name }

// Field is the path of the webhook in its configuration.
func (h *Hook) Field() string { return fmt.Sprintf("webhooks[%d]", h.Index) }

// Source is the configuration as it is written. The caller must not change it.
func (h *Hook) Source() *unstructured.Unstructured { return h.source }

// defaultTimeout is timeoutSeconds when absent, by its version.
func (h *Hook) defaultTimeout() int32 {
	if h.Version == "v1beta1" {
		return 30
	}
	return 10
}

// Timeout is timeoutSeconds with its default.
func (h *Hook) Timeout() time.Duration {
	seconds := h.defaultTimeout()
	if h.TimeoutSeconds != nil && *h.TimeoutSeconds > 0 {
		seconds = *h.TimeoutSeconds
	}
	return time.Duration(seconds) * time.Second
}

// FailsClosed tells that failurePolicy is Fail, with its default.
func (h *Hook) FailsClosed() bool {
	if h.FailurePolicy == nil {
		return h.Version != "v1beta1"
	}
	return *h.FailurePolicy == admissionregistrationv1.Fail
}

// Equivalent tells that matchPolicy is Equivalent, with its default.
func (h *Hook) Equivalent() bool {
	if h.MatchPolicy == nil {
		return h.Version != "v1beta1"
	}
	return *h.MatchPolicy == admissionregistrationv1.Equivalent
}

// IfNeeded tells that reinvocationPolicy is IfNeeded.
func (h *Hook) IfNeeded() bool {
	return h.ReinvocationPolicy != nil && *h.ReinvocationPolicy == admissionregistrationv1.IfNeededReinvocationPolicy
}

// HasSideEffects tells what sideEffects says: of requests that are no dry run.
func (h *Hook) HasSideEffects() bool {
	return h.SideEffects == nil || *h.SideEffects != admissionregistrationv1.SideEffectClassNone
}

// Path is the path of the URL that reviews are posted to.
func (h *Hook) Path() string { return PathOf(h.ClientConfig) }

// ServerName is the name that the certificate of the webhook's server must bear.
func (h *Hook) ServerName() string { return ServerNameOf(h.ClientConfig) }

// PathOf is the path of the URL that requests are posted to.
func PathOf(config admissionregistrationv1.WebhookClientConfig) string {
	switch {
	case config.URL != nil:
		if u, err := url.Parse(*config.URL); err == nil {
			return "/" + strings.TrimPrefix(u.EscapedPath(), "/")
		}
	case config.Service != nil && config.Service.Path != nil:
		return "/" + strings.TrimPrefix(*config.Service.Path, "/")
	}
	return "/"
}

// ServerNameOf is the name that the certificate of the server must bear; "" when none is given.
func ServerNameOf(config admissionregistrationv1.WebhookClientConfig) string {
	if ref := config.Service; ref != nil {
		return ref.Name + "." + ref.Namespace + ".svc"
	}
	if config.URL == nil {
		return ""
	}
	u, err := url.Parse(*config.URL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// Conversion is how API servers reach the conversion webhook of a custom resource; false when it has none.
func Conversion(definition *apiextensionsv1.CustomResourceDefinition) (admissionregistrationv1.WebhookClientConfig, bool) {
	conversion := definition.Spec.Conversion
	if conversion == nil || conversion.Strategy != apiextensionsv1.WebhookConverter || conversion.Webhook == nil || conversion.Webhook.ClientConfig == nil {
		return admissionregistrationv1.WebhookClientConfig{}, false
	}
	given := conversion.Webhook.ClientConfig
	config := admissionregistrationv1.WebhookClientConfig{URL: given.URL, CABundle: given.CABundle}
	if ref := given.Service; ref != nil {
		config.Service = &admissionregistrationv1.ServiceReference{Namespace: ref.Namespace, Name: ref.Name, Path: ref.Path, Port: ref.Port}
	}
	return config, true
}

// ReviewVersions are the declared versions of AdmissionReview that there are, in order.
func (h *Hook) ReviewVersions() []string {
	var known []string
	for _, version := range h.AdmissionReviewVersions {
		if version == "v1" || version == "v1beta1" {
			known = append(known, version)
		}
	}
	if len(known) == 0 {
		return []string{"v1"}
	}
	return known
}

// InjectsCA names the annotation by which something else fills in caBundle, such as cert-manager; "" when there is none.
func (h *Hook) InjectsCA() string {
	for name := range h.Annotations {
		if strings.Contains(name, "inject-ca") || strings.Contains(name, "inject-cabundle") {
			return name
		}
	}
	return ""
}

// IsAddress tells that a server's name is an IP address.
func IsAddress(name string) bool { return net.ParseIP(name) != nil }
