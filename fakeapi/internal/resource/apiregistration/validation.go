package apiregistration

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Default fills in the port of the service.
func Default(service *APIService) {
	if reference := service.Spec.Service; reference != nil && reference.Port == nil {
		port := int32(443)
		reference.Port = &port
	}
}

// Validate checks an APIService, all but the form of its metadata.
func Validate(service *APIService) field.ErrorList {
	var errs field.ErrorList
	spec, path := service.Spec, field.NewPath("spec")
	if name := spec.Version + "." + spec.Group; service.Name != name {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), service.Name,
			fmt.Sprintf("must be `spec.version+\".\"+spec.group`: %q", name)))
	}
	if spec.Group == "" && spec.Version != "v1" {
		errs = append(errs, field.Required(path.Child("group"), "only v1 may have an empty group and it better be legacy kube"))
	}
	if spec.Group != "" {
		for _, message := range validation.IsDNS1123Subdomain(spec.Group) {
			errs = append(errs, field.Invalid(path.Child("group"), spec.Group, message))
		}
	}
	for _, message := range validation.IsDNS1035Label(spec.Version) {
		errs = append(errs, field.Invalid(path.Child("version"), spec.Version, message))
	}
	for _, priority := range []struct {
		name      string
		value, to int32
	}{
		{"groupPriorityMinimum", spec.GroupPriorityMinimum, 20000}, {"versionPriority", spec.VersionPriority, 1000},
	} {
		if priority.value <= 0 || priority.value > priority.to {
			errs = append(errs, field.Invalid(path.Child(priority.name), priority.value,
				fmt.Sprintf("must be positive and less than %d", priority.to)))
		}
	}
	return append(errs, validateService(spec, path)...)
}

// validateService checks where the API server is and how it is trusted.
func validateService(spec APIServiceSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if spec.Service == nil {
		if len(spec.CABundle) > 0 {
			errs = append(errs, field.Invalid(path.Child("caBundle"), fmt.Sprintf("%d bytes", len(spec.CABundle)),
				"local APIServices may not have a caBundle"))
		}
		if spec.InsecureSkipTLSVerify {
			errs = append(errs, field.Invalid(path.Child("insecureSkipTLSVerify"), true,
				"local APIServices may not have insecureSkipTLSVerify"))
		}
		return errs
	}
	if spec.Service.Namespace == "" {
		errs = append(errs, field.Required(path.Child("service", "namespace"), ""))
	}
	if spec.Service.Name == "" {
		errs = append(errs, field.Required(path.Child("service", "name"), ""))
	}
	if port := spec.Service.Port; port != nil {
		for _, message := range validation.IsValidPortNum(int(*port)) {
			errs = append(errs, field.Invalid(path.Child("service", "port"), *port, "port is not valid: "+message))
		}
	}
	if spec.InsecureSkipTLSVerify && len(spec.CABundle) > 0 {
		errs = append(errs, field.Invalid(path.Child("insecureSkipTLSVerify"), true, "may not be true if caBundle is present"))
	}
	return errs
}

// ValidateStatus checks the status of an APIService.
func ValidateStatus(service *APIService) field.ErrorList {
	var errs field.ErrorList
	known := []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}
	for i, condition := range service.Status.Conditions {
		switch condition.Status {
		case metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown:
		default:
			errs = append(errs, field.NotSupported(field.NewPath("status", "conditions").Index(i).Child("status"), condition.Status, known))
		}
	}
	return errs
}
