package lint

import (
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
)

func (c *checker) version() {
	if c.hook.Version != "v1" {
		c.find("current-api", "", "the configuration is of admissionregistration.k8s.io/%s, which API servers do not serve by default since Kubernetes 1.22", c.hook.Version)
	}
}

// name looks at names: fully qualified, and each of them once in a configuration.
func (c *checker) name() {
	if segments := strings.Split(c.hook.Name, "."); len(segments) < 3 || slices.Contains(segments, "") {
		c.find("fully-qualified-name", "name", "the name %q is not fully qualified: want three or more segments, such as pods.webhook.example.com", c.hook.Name)
	}
	for _, other := range c.set.Hooks {
		if other == c.hook {
			break
		}
		if other.Configuration == c.hook.Configuration && other.Mutating == c.hook.Mutating && other.Name == c.hook.Name {
			c.find("names-unique", "name", "the name %q is that of %s too", c.hook.Name, other.Field())
		}
	}
}

func (c *checker) sideEffects() {
	none := []admissionregistrationv1.SideEffectClass{admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.SideEffectClassNoneOnDryRun}
	switch declared := c.hook.SideEffects; {
	case declared == nil:
		c.find("side-effects-declared", "sideEffects", "sideEffects is not declared: want None or NoneOnDryRun")
	case !slices.Contains(none, *declared):
		c.find("side-effects-declared", "sideEffects", "sideEffects is %s: want None or NoneOnDryRun", *declared)
	}
}

func (c *checker) reviewVersions() {
	versions := c.hook.AdmissionReviewVersions
	switch {
	case !slices.Contains(versions, "v1") && !slices.Contains(versions, "v1beta1"):
		c.find("review-versions-known", "admissionReviewVersions", "admissionReviewVersions is %q: API servers know v1 and v1beta1", versions)
	case !slices.Contains(versions, "v1"):
		c.find("review-version-v1", "admissionReviewVersions", "only v1beta1 is declared, which API servers may drop; add v1 before it")
	}
}

// maxTimeout is the longest timeout that is not called long: the default.
const maxTimeout = 10 * time.Second

func (c *checker) timeout() {
	if timeout := c.hook.Timeout(); timeout > maxTimeout {
		c.find("timeout-small", "timeoutSeconds", "requests may wait for %s; the default is %s, and mutating webhooks are waited for one after another", timeout, maxTimeout)
	}
}

// objectSelector looks at validating webhooks that fail closed: what they guard is evaded by leaving out a label.
func (c *checker) objectSelector() {
	selector := c.hook.ObjectSelector
	if selector == nil || c.hook.Mutating || !c.hook.FailsClosed() || len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return
	}
	c.find("object-selector-opt-in-only", "objectSelector", "whoever makes an object chooses its labels, and so whether the webhook sees it")
}

// clientConfig looks at how the API server reaches the webhook.
func (c *checker) clientConfig() {
	config := c.hook.ClientConfig
	if len(config.CABundle) == 0 && c.hook.InjectsCA() == "" && config.Service != nil {
		c.find("ca-bundle", "clientConfig.caBundle", "caBundle is missing and no annotation asks that it be injected: no public authority vouches for a name in .svc")
	}
	ref := config.Service
	if ref == nil || len(c.set.Services) == 0 {
		return
	}
	service := c.set.Service(ref)
	if service == nil {
		c.find("service-exists", "clientConfig.service", "the manifests hold no Service %s/%s", ref.Namespace, ref.Name)
		return
	}
	port := int32(443)
	if ref.Port != nil {
		port = *ref.Port
	}
	if !slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port }) {
		c.find("service-exists", "clientConfig.service.port", "the Service %s/%s has no port %d", ref.Namespace, ref.Name, port)
	}
}
