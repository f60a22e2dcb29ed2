package printers

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

func endpointSliceCells(slice *discoveryv1.EndpointSlice, now time.Time) []any {
	var ports, addresses []string
	for _, port := range slice.Ports {
		switch {
		case port.Port != nil:
			ports = append(ports, strconv.Itoa(int(*port.Port)))
		default:
			ports = append(ports, valueOr(port.Name, "*"))
		}
	}
	for _, endpoint := range slice.Endpoints {
		addresses = append(addresses, endpoint.Addresses...)
	}
	return []any{slice.Name, string(slice.AddressType), few(ports, 3, ",", unset), few(addresses, 3, ",", unset), age(slice, now)}
}

func ingressClassCells(class *networkingv1.IngressClass, now time.Time) []any {
	name := class.Name
	if class.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true" {
		name += " (default)"
	}
	parameters := none
	if ref := class.Spec.Parameters; ref != nil {
		parameters = ref.Kind
		if ref.APIGroup != nil {
			parameters += "." + *ref.APIGroup
		}
		parameters += "/" + ref.Name
	}
	return []any{name, class.Spec.Controller, parameters, age(class, now)}
}

func ingressCells(ingress *networkingv1.Ingress, now time.Time) []any {
	addresses := sets.New[string]()
	for _, balancer := range ingress.Status.LoadBalancer.Ingress {
		addresses.Insert(or(balancer.IP, balancer.Hostname))
	}
	ports := "80"
	if len(ingress.Spec.TLS) > 0 {
		ports = "80, 443"
	}
	return []any{
		ingress.Name, valueOr(ingress.Spec.IngressClassName, none), hosts(ingress.Spec.Rules),
		strings.Join(sets.List(addresses.Delete("")), ","), ports, age(ingress, now),
	}
}

// hosts shows the first hosts that rules are for; rules for any host do not count among them.
func hosts(rules []networkingv1.IngressRule) string {
	const most = 3
	var shown []string
	for _, rule := range rules {
		if len(shown) == most {
			return fmt.Sprintf("%s + %d more...", strings.Join(shown, ","), len(rules)-most)
		}
		if rule.Host != "" {
			shown = append(shown, rule.Host)
		}
	}
	return or(strings.Join(shown, ","), "*")
}

// addressCells has the age too, for which there is no column.
func addressCells(address *networkingv1.IPAddress, now time.Time) []any {
	parent := none
	if ref := address.Spec.ParentRef; ref != nil {
		resource := schema.GroupResource{Group: ref.Group, Resource: ref.Resource}
		parent = strings.ToLower(resource.String())
		if ref.Namespace != "" {
			parent += "/" + ref.Namespace
		}
		parent += "/" + ref.Name
	}
	return []any{address.Name, parent, age(address, now)}
}

func networkPolicyCells(policy *networkingv1.NetworkPolicy, now time.Time) []any {
	return []any{policy.Name, metav1.FormatLabelSelector(&policy.Spec.PodSelector), age(policy, now)}
}

func serviceCIDRCells(cidr *networkingv1.ServiceCIDR, now time.Time) []any {
	return []any{cidr.Name, strings.Join(cidr.Spec.CIDRs, ","), age(cidr, now)}
}
