package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RelaySpec says what a Relay is to do.
type RelaySpec struct {
	// target is where connections go, as host:port. The port is 80 when it is left out.
	// +required
	// +kubebuilder:validation:MinLength=1
	Target string `json:"target"`

	// replicas is how many relays there are to be.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`
}

// RelayStatus says what a Relay does.
type RelayStatus struct {
	// observedGeneration is the generation that the controller has acted on.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are what the controller says of the relay.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:conversion:hub
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.target`

// Relay passes connections on.
type Relay struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// +required
	Spec RelaySpec `json:"spec"`

	// +optional
	Status RelayStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// RelayList is a list of Relays.
type RelayList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Relay `json:"items"`
}
