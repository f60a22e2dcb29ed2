// Package v1 holds the webhooks of version v1 of the API group net.example.com.
package v1

import (
	"context"
	"net"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	netv1 "github.com/gatehouse-dev/gatehouse/fakeapi/internal/testproject/api/v1"
)

// SetupRelayWebhookWithManager registers the webhooks of Relays, that of conversion included.
func SetupRelayWebhookWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &netv1.Relay{}).
		WithDefaulter(&RelayCustomDefaulter{DefaultReplicas: 2, DefaultPort: "80"}).
		WithValidator(&RelayCustomValidator{}).
		Complete()
}

// +kubebuilder:webhook:path=/mutate-net-example-com-v1-relay,mutating=true,failurePolicy=fail,sideEffects=None,groups=net.example.com,resources=relays,verbs=create;update,versions=v1,name=mrelay-v1.kb.io,admissionReviewVersions=v1

// RelayCustomDefaulter fills in what Relays leave out.
type RelayCustomDefaulter struct {
	// DefaultReplicas is how many relays there are unless the Relay says so.
	DefaultReplicas int32
	// DefaultPort is the port of a target without one.
	DefaultPort string
}

var _ admission.Defaulter[*netv1.Relay] = &RelayCustomDefaulter{}

// Default implements admission.Defaulter.
func (d *RelayCustomDefaulter) Default(_ context.Context, relay *netv1.Relay) error {
	if relay.Spec.Replicas == nil {
		relay.Spec.Replicas = new(d.DefaultReplicas)
	}
	if _, _, err := net.SplitHostPort(relay.Spec.Target); err != nil {
		relay.Spec.Target = net.JoinHostPort(relay.Spec.Target, d.DefaultPort)
	}
	return nil
}

// +kubebuilder:webhook:path=/validate-net-example-com-v1-relay,mutating=false,failurePolicy=fail,sideEffects=None,groups=net.example.com,resources=relays,verbs=create;update;delete,versions=v1,name=vrelay-v1.kb.io,admissionReviewVersions=v1

// RelayCustomValidator refuses Relays that lead back to their node, and the deletion of those that are protected.
type RelayCustomValidator struct{}

var _ admission.Validator[*netv1.Relay] = &RelayCustomValidator{}

// ValidateCreate implements admission.Validator.
func (v *RelayCustomValidator) ValidateCreate(_ context.Context, relay *netv1.Relay) (admission.Warnings, error) {
	return validate(relay)
}

// ValidateUpdate implements admission.Validator.
func (v *RelayCustomValidator) ValidateUpdate(_ context.Context, _, relay *netv1.Relay) (admission.Warnings, error) {
	return validate(relay)
}

// ValidateDelete implements admission.Validator.
func (v *RelayCustomValidator) ValidateDelete(_ context.Context, relay *netv1.Relay) (admission.Warnings, error) {
	if relay.Annotations["net.example.com/protected"] == "true" {
		return nil, apierrors.NewForbidden(netv1.GroupVersion.WithResource("relays").GroupResource(), relay.Name, nil)
	}
	return nil, nil
}

func validate(relay *netv1.Relay) (admission.Warnings, error) {
	host, _, err := net.SplitHostPort(relay.Spec.Target)
	if err != nil || host == "localhost" {
		return nil, apierrors.NewInvalid(netv1.GroupVersion.WithKind("Relay").GroupKind(), relay.Name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "target"), relay.Spec.Target, "must lead to another host"),
		})
	}
	if *relay.Spec.Replicas == 0 {
		return admission.Warnings{"a relay without replicas passes nothing on"}, nil
	}
	return nil, nil
}
