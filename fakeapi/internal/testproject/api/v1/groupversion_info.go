// Package v1 is version v1 of the API group net.example.com, the hub of conversions and the version that is stored.
// +kubebuilder:object:generate=true
// +groupName=net.example.com
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group version of the package's kinds.
	GroupVersion = schema.GroupVersion{Group: "net.example.com", Version: "v1"}

	// SchemeBuilder adds the package's kinds to a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypes(GroupVersion, &Relay{}, &RelayList{})
		metav1.AddToGroupVersion(scheme, GroupVersion)
		return nil
	})

	// AddToScheme adds the package's kinds to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)
