// Package apiregistration has the kind APIService, by which other API servers are registered with one that aggregates them.
// Its types are in no module without a database behind it. They are served as JSON and YAML.
package apiregistration

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion is the group version of the types.
var SchemeGroupVersion = schema.GroupVersion{Group: "apiregistration.k8s.io", Version: "v1"}

// AddToScheme adds the types to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion, &APIService{}, &APIServiceList{})
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}

// APIService says who serves a group version. Its name is VERSION.GROUP.
type APIService struct {
	metav1.TypeMeta   `json:""`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   APIServiceSpec   `json:"spec,omitempty"`
	Status APIServiceStatus `json:"status,omitempty"`
}

// APIServiceList is a list of APIServices.
type APIServiceList struct {
	metav1.TypeMeta `json:""`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []APIService `json:"items"`
}

// APIServiceSpec says which group version is served, and where.
type APIServiceSpec struct {
	// Service is the API server; nil means the one that the APIService is kept in.
	Service *ServiceReference `json:"service,omitempty"`
	Group   string            `json:"group,omitempty"`
	Version string            `json:"version,omitempty"`

	// InsecureSkipTLSVerify switches the check of the API server's certificate off, which is else made by CABundle.
	InsecureSkipTLSVerify bool   `json:"insecureSkipTLSVerify,omitempty"`
	CABundle              []byte `json:"caBundle,omitempty"`

	// GroupPriorityMinimum and VersionPriority order groups, and versions in a group; higher comes first.
	GroupPriorityMinimum int32 `json:"groupPriorityMinimum"`
	VersionPriority      int32 `json:"versionPriority"`
}

// ServiceReference names a Service and its port.
type ServiceReference struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Port      *int32 `json:"port,omitempty"`
}

// APIServiceStatus says whether the group version can be used.
type APIServiceStatus struct {
	Conditions []APIServiceCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// Available is the type of the condition that requests for the group version are answered.
const Available = "Available"

// APIServiceCondition is a condition of an APIService.
type APIServiceCondition struct {
	Type               string                 `json:"type"`
	Status             metav1.ConditionStatus `json:"status"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime,omitempty"`
	Reason             string                 `json:"reason,omitempty"`
	Message            string                 `json:"message,omitempty"`
}

// OpenAPIModelName names the type in OpenAPI documents, by which the schema is found that server-side apply merges by.
func (APIService) OpenAPIModelName() string {
	return "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService"
}

// DeepCopyObject implements runtime.Object.
func (s *APIService) DeepCopyObject() runtime.Object { return s.deepCopy() }

func (s *APIService) deepCopy() *APIService {
	if s == nil {
		return nil
	}
	copied := *s
	copied.ObjectMeta = *s.ObjectMeta.DeepCopy()
	if service := s.Spec.Service; service != nil {
		reference := *service
		if service.Port != nil {
			port := *service.Port
			reference.Port = &port
		}
		copied.Spec.Service = &reference
	}
	copied.Spec.CABundle = append([]byte(nil), s.Spec.CABundle...)
	copied.Status.Conditions = nil
	for _, condition := range s.Status.Conditions {
		condition.LastTransitionTime = *condition.LastTransitionTime.DeepCopy()
		copied.Status.Conditions = append(copied.Status.Conditions, condition)
	}
	return &copied
}

// DeepCopyObject implements runtime.Object.
func (l *APIServiceList) DeepCopyObject() runtime.Object {
	if l == nil {
		return nil
	}
	copied := &APIServiceList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		copied.Items = append(copied.Items, *l.Items[i].deepCopy())
	}
	return copied
}
