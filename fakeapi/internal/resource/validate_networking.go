package resource

import (
	"net/netip"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateIngress(ingress *networkingv1.Ingress) errorList {
	spec, path := &ingress.Spec, field.NewPath("spec")
	if len(spec.Rules) == 0 && spec.DefaultBackend == nil {
		return errorList{field.Invalid(path, spec.Rules, "either `defaultBackend` or `rules` must be specified")}
	}
	var errs errorList
	if spec.DefaultBackend != nil {
		errs = append(errs, validateBackend(spec.DefaultBackend, path.Child("defaultBackend"))...)
	}
	for i, rule := range spec.Rules {
		at := path.Child("rules").Index(i)
		errs = append(errs, validateIngressHost(rule.Host, at.Child("host"))...)
		if rule.HTTP != nil {
			errs = append(errs, validateIngressPaths(rule.HTTP.Paths, at.Child("http", "paths"))...)
		}
	}
	return errs
}

// ingressClassAnnotation named the class before there was a field for it.
const ingressClassAnnotation = "kubernetes.io/ingress.class"

// validateNewIngress refuses the annotation of old beside the field that replaced it.
func validateNewIngress(ingress *networkingv1.Ingress) errorList {
	old, annotated := ingress.Annotations[ingressClassAnnotation]
	if class := ingress.Spec.IngressClassName; annotated && class != nil && *class != old {
		return errorList{field.Invalid(field.NewPath("annotations").Child(ingressClassAnnotation), old,
			"must match `ingressClassName` when both are specified")}
	}
	return nil
}

func validateIngressHost(host string, path *field.Path) errorList {
	if host == "" {
		return nil
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return errorList{field.Invalid(path, host, "must be a DNS name, not an IP address")}
	}
	if strings.Contains(host, "*") {
		return invalid(path, host, validation.IsWildcardDNS1123Subdomain(host))
	}
	return dnsSubdomain(path, host)
}

func validateIngressPaths(paths []networkingv1.HTTPIngressPath, path *field.Path) errorList {
	if len(paths) == 0 {
		return errorList{field.Required(path, "")}
	}
	var errs errorList
	for i := range paths {
		p, at := &paths[i], path.Index(i)
		if p.PathType == nil {
			errs = append(errs, field.Required(at.Child("pathType"), "pathType must be specified"))
			continue
		}
		switch *p.PathType {
		case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
			errs = append(errs, validateURLPath(p.Path, at.Child("path"))...)
		case networkingv1.PathTypeImplementationSpecific:
			if p.Path != "" && !strings.HasPrefix(p.Path, "/") {
				errs = append(errs, field.Invalid(at.Child("path"), p.Path, "must be an absolute path"))
			}
		default:
			errs = append(errs, validateOneOf(at.Child("pathType"), *p.PathType,
				networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific, networkingv1.PathTypePrefix)...)
		}
		errs = append(errs, validateBackend(&p.Backend, at.Child("backend"))...)
	}
	return errs
}

func validateURLPath(value string, path *field.Path) errorList {
	if !strings.HasPrefix(value, "/") {
		return errorList{field.Invalid(path, value, "must be an absolute path")}
	}
	var errs errorList
	for _, sequence := range []string{"//", "/./", "/../", "%2f", "%2F"} {
		if strings.Contains(value, sequence) {
			errs = append(errs, field.Invalid(path, value, "must not contain '"+sequence+"'"))
		}
	}
	return errs
}

func validateBackend(backend *networkingv1.IngressBackend, path *field.Path) errorList {
	switch service := backend.Service; {
	case backend.Resource != nil && service != nil:
		return errorList{field.Invalid(path, "", "cannot set both resource and service backends")}
	case backend.Resource != nil:
		return nil
	case service == nil:
		return errorList{field.Invalid(path, "", "resource or service backend is required")}
	case service.Name == "":
		return errorList{field.Required(path.Child("service", "name"), "")}
	default:
		errs := dnsLabel(path.Child("service", "name"), service.Name)
		switch port := service.Port; {
		case port.Name != "" && port.Number != 0:
			errs = append(errs, field.Invalid(path, "", "cannot set both port name & port number"))
		case port.Name == "" && port.Number == 0:
			errs = append(errs, field.Required(path, "port name or number is required"))
		case port.Name != "":
			errs = append(errs, invalid(path.Child("service", "port", "name"), port.Name, validation.IsValidPortName(port.Name))...)
		default:
			errs = append(errs, validatePort(path.Child("service", "port", "number"), port.Number)...)
		}
		return errs
	}
}

func validateIngressClass(class *networkingv1.IngressClass) errorList {
	path := field.NewPath("spec")
	var errs errorList
	if controller := class.Spec.Controller; controller == "" {
		errs = append(errs, field.Required(path.Child("controller"), ""))
	} else {
		errs = append(errs, validation.IsDomainPrefixedPath(path.Child("controller"), controller)...)
	}
	if parameters := class.Spec.Parameters; parameters != nil {
		errs = append(errs, required(path.Child("parameters", "kind"), parameters.Kind)...)
		errs = append(errs, required(path.Child("parameters", "name"), parameters.Name)...)
	}
	return errs
}

func validateIngressClassUpdate(class, old *networkingv1.IngressClass) errorList {
	return immutable(class.Spec.Controller, old.Spec.Controller, "spec", "controller")
}

func validateNetworkPolicy(policy *networkingv1.NetworkPolicy) errorList {
	spec, path := &policy.Spec, field.NewPath("spec")
	errs := validateLabelSelector(&spec.PodSelector, path.Child("podSelector"))
	for i, rule := range spec.Ingress {
		at := path.Child("ingress").Index(i)
		errs = append(errs, validatePolicyPorts(rule.Ports, at.Child("ports"))...)
		errs = append(errs, validatePolicyPeers(rule.From, at.Child("from"))...)
	}
	for i, rule := range spec.Egress {
		at := path.Child("egress").Index(i)
		errs = append(errs, validatePolicyPorts(rule.Ports, at.Child("ports"))...)
		errs = append(errs, validatePolicyPeers(rule.To, at.Child("to"))...)
	}
	for i, kind := range spec.PolicyTypes {
		errs = append(errs, validateOneOf(path.Child("policyTypes").Index(i), kind, networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress)...)
	}
	return errs
}

func validatePolicyPorts(ports []networkingv1.NetworkPolicyPort, path *field.Path) errorList {
	var errs errorList
	for i, port := range ports {
		at := path.Index(i)
		errs = append(errs, validateOptionalOneOf(at.Child("protocol"), port.Protocol, "TCP", "UDP", "SCTP")...)
		if port.Port != nil {
			errs = append(errs, validatePortOrName(*port.Port, at.Child("port"))...)
		}
		if end := port.EndPort; end != nil {
			switch {
			case port.Port == nil:
				errs = append(errs, field.Invalid(at.Child("endPort"), *end, "may not be specified when `port` is not specified"))
			case port.Port.Type == intstr.String:
				errs = append(errs, field.Invalid(at.Child("endPort"), *end, "may not be specified when `port` is non-numeric"))
			case *end < port.Port.IntVal:
				errs = append(errs, field.Invalid(at.Child("endPort"), *end, "must be greater than or equal to `port`"))
			}
		}
	}
	return errs
}

func validatePolicyPeers(peers []networkingv1.NetworkPolicyPeer, path *field.Path) errorList {
	var errs errorList
	for i, peer := range peers {
		at := path.Index(i)
		if peer.PodSelector != nil {
			errs = append(errs, validateLabelSelector(peer.PodSelector, at.Child("podSelector"))...)
		}
		if peer.NamespaceSelector != nil {
			errs = append(errs, validateLabelSelector(peer.NamespaceSelector, at.Child("namespaceSelector"))...)
		}
		selected := peer.PodSelector != nil || peer.NamespaceSelector != nil
		if peer.IPBlock != nil {
			errs = append(errs, validateNetwork(peer.IPBlock.CIDR, at.Child("ipBlock", "cidr"))...)
		}
		switch {
		case !selected && peer.IPBlock == nil:
			errs = append(errs, field.Required(at, "must specify a peer"))
		case selected && peer.IPBlock != nil:
			errs = append(errs, field.Forbidden(at, "may not specify both ipBlock and another peer"))
		}
	}
	return errs
}

// validateNetwork refuses what is no range of IP addresses.
func validateNetwork(value string, path *field.Path) errorList {
	if _, err := netip.ParsePrefix(value); err == nil {
		return nil
	}
	return errorList{field.Invalid(path, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")}
}

func validateServiceCIDR(cidr *networkingv1.ServiceCIDR) errorList {
	var errs errorList
	for i, network := range cidr.Spec.CIDRs {
		errs = append(errs, validateNetwork(network, field.NewPath("spec", "cidrs").Index(i))...)
	}
	return errs
}

func validateServiceCIDRUpdate(cidr, old *networkingv1.ServiceCIDR) errorList {
	var errs errorList
	for i := range min(len(cidr.Spec.CIDRs), len(old.Spec.CIDRs)) {
		if cidr.Spec.CIDRs[i] != old.Spec.CIDRs[i] {
			errs = append(errs, field.Invalid(field.NewPath("spec", "cidrs").Index(i), cidr.Spec.CIDRs[i], immutableMessage))
		}
	}
	return errs
}

func validateIPAddress(address *networkingv1.IPAddress) errorList {
	errs := validateAddress(field.NewPath("metadata", "name"), address.Name)
	if address.Spec.ParentRef == nil {
		return append(errs, field.Required(field.NewPath("spec", "parentRef"), ""))
	}
	return append(errs, required(field.NewPath("spec", "parentRef", "resource"), address.Spec.ParentRef.Resource)...)
}

func validateEndpointSlice(slice *discoveryv1.EndpointSlice) errorList {
	var errs errorList
	for i, port := range slice.Ports {
		if port.Name != nil && *port.Name != "" {
			errs = append(errs, dnsLabel(field.NewPath("ports").Index(i).Child("name"), *port.Name)...)
		}
	}
	if slice.AddressType == "" {
		errs = append(errs, field.Required(field.NewPath("addressType"), ""))
	} else {
		errs = append(errs, validateOneOf(field.NewPath("addressType"), slice.AddressType,
			discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6)...)
	}
	for i, endpoint := range slice.Endpoints {
		if len(endpoint.Addresses) == 0 {
			errs = append(errs, field.Required(field.NewPath("endpoints").Index(i).Child("addresses"), ""))
		}
	}
	return errs
}

func validateEndpointSliceUpdate(slice, old *discoveryv1.EndpointSlice) errorList {
	return immutableUnnamed(slice.AddressType, old.AddressType, "addressType")
}

func validateLease(lease *coordinationv1.Lease) errorList {
	var errs errorList
	spec := field.NewPath("spec")
	if seconds := lease.Spec.LeaseDurationSeconds; seconds != nil && *seconds <= 0 {
		errs = append(errs, field.Invalid(spec.Child("leaseDurationSeconds"), *seconds, "must be greater than 0"))
	}
	return append(errs, optionalNonNegative(spec.Child("leaseTransitions"), lease.Spec.LeaseTransitions)...)
}
