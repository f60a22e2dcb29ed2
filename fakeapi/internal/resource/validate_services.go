package resource

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

func validateService(service *corev1.Service) errorList {
	spec, path := &service.Spec, field.NewPath("spec")
	var errs errorList
	check := func(more errorList) { errs = append(errs, more...) }

	if len(spec.Ports) == 0 && !isHeadless(service) && spec.Type != corev1.ServiceTypeExternalName {
		check(errorList{field.Required(path.Child("ports"), "")})
	}
	switch name := strings.TrimSuffix(spec.ExternalName, "."); {
	case spec.Type == corev1.ServiceTypeExternalName && name == "":
		check(errorList{field.Required(path.Child("externalName"), "")})
	case spec.Type == corev1.ServiceTypeExternalName:
		check(dnsSubdomain(path.Child("externalName"), name))
	case isHeadless(service) && (spec.Type == corev1.ServiceTypeLoadBalancer || spec.Type == corev1.ServiceTypeNodePort):
		check(errorList{field.Invalid(path.Child("clusterIPs").Index(0), corev1.ClusterIPNone,
			"may not be set to 'None' for "+string(spec.Type)+" services")})
	}
	check(validateServicePorts(spec.Ports, path.Child("ports")))
	check(metav1validation.ValidateLabels(spec.Selector, path.Child("selector")))
	check(validateOneOf(path.Child("sessionAffinity"), spec.SessionAffinity, corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone))
	check(validateServiceAddresses(service, path))
	check(validateOneOf(path.Child("type"), spec.Type,
		corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort))
	check(validateNodePorts(spec, path.Child("ports")))
	check(validateDistinctPorts(spec.Ports, path.Child("ports")))
	check(validateBalancing(spec, path))
	check(validateTrafficPolicies(service, path))
	return errs
}

func isHeadless(service *corev1.Service) bool { return service.Spec.ClusterIP == corev1.ClusterIPNone }

func validateServicePorts(ports []corev1.ServicePort, path *field.Path) errorList {
	var errs errorList
	names := map[string]bool{}
	for i, port := range ports {
		at := path.Index(i)
		if port.Name == "" && len(ports) > 1 {
			errs = append(errs, field.Required(at.Child("name"), ""))
		} else if port.Name != "" {
			errs = append(errs, dnsLabel(at.Child("name"), port.Name)...)
			if names[port.Name] {
				errs = append(errs, field.Duplicate(at.Child("name"), port.Name))
			}
			names[port.Name] = true
		}
		errs = append(errs, validatePort(at.Child("port"), port.Port)...)
		errs = append(errs, validateProtocol(at.Child("protocol"), port.Protocol)...)
		errs = append(errs, validatePortOrName(port.TargetPort, at.Child("targetPort"))...)
		if port.AppProtocol != nil {
			errs = append(errs, qualifiedName(at.Child("appProtocol"), *port.AppProtocol)...)
		}
	}
	return errs
}

// validateServiceAddresses checks what a client says of the addresses, as a cluster with addresses of IPv4 alone does.
func validateServiceAddresses(service *corev1.Service, path *field.Path) errorList {
	spec := &service.Spec
	if spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	var errs errorList
	if len(spec.ClusterIPs) > 0 && spec.ClusterIP != spec.ClusterIPs[0] {
		errs = append(errs, field.Invalid(path.Child("clusterIPs"), spec.ClusterIPs, "first value must match `clusterIP`"))
	}
	for i, address := range spec.ClusterIPs {
		if i > 0 || address != corev1.ClusterIPNone {
			errs = append(errs, validateAddress(path.Child("clusterIPs").Index(i), address)...)
		}
	}
	if isHeadless(service) {
		return errs
	}
	if ptr.Deref(spec.IPFamilyPolicy, "") == corev1.IPFamilyPolicyRequireDualStack {
		errs = append(errs, field.Invalid(path.Child("ipFamilyPolicy"), *spec.IPFamilyPolicy, "this cluster is not configured for dual-stack services"))
	}
	if at := slices.Index(spec.IPFamilies, corev1.IPv6Protocol); at >= 0 {
		errs = append(errs, field.Invalid(path.Child("ipFamilies").Index(at), corev1.IPv6Protocol, "not configured on this cluster"))
	}
	return errs
}

func validateNodePorts(spec *corev1.ServiceSpec, path *field.Path) errorList {
	var errs errorList
	for i, port := range spec.Ports {
		if port.NodePort != 0 && spec.Type == corev1.ServiceTypeClusterIP {
			errs = append(errs, field.Forbidden(path.Index(i).Child("nodePort"), "may not be used when `type` is 'ClusterIP'"))
		}
	}
	return errs
}

// validateFree refuses an address or ports that another service has.
func validateFree(service *corev1.Service, others []*corev1.Service) errorList {
	spec, path := &service.Spec, field.NewPath("spec")
	var errs errorList
	taken := map[int32]bool{}
	for _, other := range others {
		if other.Spec.ClusterIP == spec.ClusterIP && spec.ClusterIP != "" && !isHeadless(service) {
			errs = append(errs, field.Invalid(path.Child("clusterIPs"), spec.ClusterIPs,
				"failed to allocate IP "+spec.ClusterIP+": provided IP is already allocated"))
		}
		taken[other.Spec.HealthCheckNodePort] = true
		for _, port := range other.Spec.Ports {
			taken[port.NodePort] = true
		}
	}
	own := map[int32][]corev1.Protocol{}
	for i, port := range spec.Ports {
		at := path.Child("ports").Index(i).Child("nodePort")
		switch {
		case port.NodePort == 0 || !needsNodePorts(spec):
		case port.NodePort < lowestNodePort || port.NodePort > highestNodePort:
			errs = append(errs, field.Invalid(at, port.NodePort, "provided port is not in the valid range. The range of valid ports is 30000-32767"))
		case taken[port.NodePort] || slices.Contains(own[port.NodePort], port.Protocol):
			errs = append(errs, field.Invalid(at, port.NodePort, "provided port is already allocated"))
		}
		own[port.NodePort] = append(own[port.NodePort], port.Protocol)
	}
	return errs
}

// validateDistinctPorts refuses two ports of one number and protocol.
func validateDistinctPorts(ports []corev1.ServicePort, path *field.Path) errorList {
	var errs errorList
	type key struct { // as the real API server writes it
		Name        string
		Protocol    corev1.Protocol
		AppProtocol *string
		Port        int32
		TargetPort  intstr.IntOrString
		NodePort    int32
	}
	taken := map[key]bool{}
	for i, port := range ports {
		k := key{Protocol: port.Protocol, Port: port.Port}
		if taken[k] {
			errs = append(errs, field.Duplicate(path.Index(i), k))
		}
		taken[k] = true
	}
	return errs
}

// validateBalancing checks what only services with a load balancer have.
func validateBalancing(spec *corev1.ServiceSpec, path *field.Path) errorList {
	if spec.Type == corev1.ServiceTypeLoadBalancer {
		if spec.LoadBalancerClass != nil {
			return qualifiedName(path.Child("loadBalancerClass"), *spec.LoadBalancerClass)
		}
		return nil
	}
	var errs errorList
	for _, forbidden := range []struct {
		name string
		set  bool
	}{
		{"LoadBalancerSourceRanges", len(spec.LoadBalancerSourceRanges) > 0},
		{"allocateLoadBalancerNodePorts", spec.AllocateLoadBalancerNodePorts != nil},
		{"loadBalancerClass", spec.LoadBalancerClass != nil},
	} {
		if forbidden.set {
			errs = append(errs, field.Forbidden(path.Child(forbidden.name), "may only be used when `type` is 'LoadBalancer'"))
		}
	}
	return errs
}

func validateTrafficPolicies(service *corev1.Service, path *field.Path) errorList {
	spec := &service.Spec
	var errs errorList
	switch at := path.Child("externalTrafficPolicy"); {
	case isExternal(spec):
		errs = append(errs, validateOneOf(at, spec.ExternalTrafficPolicy,
			corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal)...)
	case spec.ExternalTrafficPolicy != "":
		errs = append(errs, field.Invalid(at, spec.ExternalTrafficPolicy, "may only be set for externally-accessible services"))
	}
	if spec.HealthCheckNodePort != 0 && !needsHealthCheck(spec) {
		errs = append(errs, field.Invalid(path.Child("healthCheckNodePort"), spec.HealthCheckNodePort,
			"may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"))
	}
	return append(errs, validateOptionalOneOf(path.Child("internalTrafficPolicy"), spec.InternalTrafficPolicy,
		corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal)...)
}

// validateServiceUpdate lets a service keep its addresses, once it has any, unless it changes to or from a type without.
func validateServiceUpdate(service, old *corev1.Service) errorList {
	var errs errorList
	path := field.NewPath("spec")
	if service.Spec.Type != corev1.ServiceTypeExternalName && old.Spec.Type != corev1.ServiceTypeExternalName {
		for i := range min(len(old.Spec.ClusterIPs), len(service.Spec.ClusterIPs)) {
			if old.Spec.ClusterIPs[i] != service.Spec.ClusterIPs[i] {
				errs = append(errs, field.Invalid(path.Child("clusterIPs").Index(i), service.Spec.ClusterIPs, "may not change once set"))
			}
		}
	}
	balanced := service.Spec.Type == corev1.ServiceTypeLoadBalancer && old.Spec.Type == corev1.ServiceTypeLoadBalancer
	if balanced && !ptr.Equal(service.Spec.LoadBalancerClass, old.Spec.LoadBalancerClass) {
		errs = append(errs, field.Invalid(path.Child("loadBalancerClass"), service.Spec.LoadBalancerClass, "may not change once set"))
	}
	if needsHealthCheck(&service.Spec) && needsHealthCheck(&old.Spec) && service.Spec.HealthCheckNodePort != old.Spec.HealthCheckNodePort {
		errs = append(errs, field.Forbidden(path.Child("healthCheckNodePort"), immutableMessage))
	}
	return errs
}

func validateServiceStatus(service, _ *corev1.Service) errorList {
	var errs errorList
	for i, ingress := range service.Status.LoadBalancer.Ingress {
		at := field.NewPath("status", "loadBalancer", "ingress").Index(i)
		if ingress.IP != "" {
			errs = append(errs, validateAddress(at.Child("ip"), ingress.IP)...)
		}
		if ingress.Hostname != "" {
			errs = append(errs, dnsSubdomain(at.Child("hostname"), ingress.Hostname)...)
		}
	}
	return errs
}
