package resource

import (
	"context"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/registry/rest"
	storageerrors "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/utils/ptr"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

// Where the addresses and ports of services come from.
const (
	serviceNetwork  = "10.96.0.0/12"
	lowestNodePort  = 30000
	highestNodePort = 32767
)

// serviceStorage is the storage of services, which get their addresses and node ports from the server.
func serviceStorage(v *view) rest.Storage {
	v.strategy.prepareCreate = creating(func(_ context.Context, service *corev1.Service) { v.assign(service) })
	v.strategy.prepareUpdate = updating(func(_ context.Context, service, old *corev1.Service) {
		keepAssigned(service, old)
		dropUnneeded(&service.Spec, &old.Spec)
		v.assign(service)
	})
	v.strategy.validate = checks(func(service *corev1.Service) errorList {
		if errs := validateFree(service, v.othersThan(service)); len(errs) > 0 {
			return errs // the real API server finds them first
		}
		return validateService(service)
	})
	return &REST{v}
}

// lookUpService returns a stored service, or an apierrors.IsNotFound error. It must not be changed.
func (c *Catalogue) lookUpService(_ context.Context, namespace, name string) (*corev1.Service, error) {
	services := corev1.Resource("services")
	object, err := c.store.Get(store.Key{Resource: services, Namespace: namespace, Name: name})
	if err != nil {
		return nil, storageerrors.InterpretGetError(err, services, name)
	}
	return object.(*corev1.Service), nil
}

// othersThan returns the other services.
func (v *view) othersThan(service *corev1.Service) []*corev1.Service {
	var others []*corev1.Service
	for _, object := range v.catalogue.Stored(v.stored, "") {
		if other := object.(*corev1.Service); other.UID != service.UID {
			others = append(others, other)
		}
	}
	return others
}

// assign gives a service what it needs and does not have.
func (v *view) assign(service *corev1.Service) {
	spec := &service.Spec
	if spec.Type == corev1.ServiceTypeExternalName {
		spec.ClusterIP, spec.ClusterIPs, spec.IPFamilies, spec.IPFamilyPolicy = "", nil, nil, nil
		return
	}
	others := v.othersThan(service)
	if spec.ClusterIP == "" && len(spec.ClusterIPs) > 0 {
		spec.ClusterIP = spec.ClusterIPs[0]
	}
	if spec.ClusterIP == "" {
		spec.ClusterIP = freeAddress(others)
	}
	if len(spec.ClusterIPs) == 0 {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	if isHeadless(service) && len(spec.Selector) == 0 {
		// Nobody but its endpoints knows the families of such a service.
		orElsePtr(&spec.IPFamilyPolicy, corev1.IPFamilyPolicyRequireDualStack)
		if len(spec.IPFamilies) == 0 {
			spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
		}
	}
	orElsePtr(&spec.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack)
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	all := append(slices.Clone(others), service)
	for i := range spec.Ports {
		if needsNodePorts(spec) && spec.Ports[i].NodePort == 0 {
			spec.Ports[i].NodePort = freeNodePort(all)
		}
	}
	if needsHealthCheck(spec) && spec.HealthCheckNodePort == 0 {
		spec.HealthCheckNodePort = freeNodePort(all)
	}
}

func needsNodePorts(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeNodePort ||
		spec.Type == corev1.ServiceTypeLoadBalancer && ptr.Deref(spec.AllocateLoadBalancerNodePorts, true)
}

// needsHealthCheck tells whether the load balancer has to find out which nodes have endpoints.
func needsHealthCheck(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeLoadBalancer && spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// isExternal tells whether a service is reached from outside the cluster.
func isExternal(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeLoadBalancer || spec.Type == corev1.ServiceTypeNodePort ||
		spec.Type == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0
}

// keepAssigned lets a client that updates a service leave out what was assigned.
func keepAssigned(service, old *corev1.Service) {
	if service.Spec.Type == corev1.ServiceTypeExternalName || old.Spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	switch {
	case service.Spec.ClusterIP == "":
		service.Spec.ClusterIP, service.Spec.ClusterIPs = old.Spec.ClusterIP, old.Spec.ClusterIPs
	case service.Spec.ClusterIP != old.Spec.ClusterIP && slices.Equal(service.Spec.ClusterIPs, old.Spec.ClusterIPs):
		service.Spec.ClusterIPs = []string{service.Spec.ClusterIP} // by a client that knows of one address only
	}
	if len(service.Spec.IPFamilies) == 0 {
		service.Spec.IPFamilies = old.Spec.IPFamilies
	}
	if service.Spec.IPFamilyPolicy == nil {
		service.Spec.IPFamilyPolicy = old.Spec.IPFamilyPolicy
	}
	for i := range service.Spec.Ports {
		for _, port := range old.Spec.Ports {
			if service.Spec.Ports[i].NodePort == 0 && port.Port == service.Spec.Ports[i].Port && port.Protocol == service.Spec.Ports[i].Protocol &&
				service.Spec.Type != corev1.ServiceTypeClusterIP {
				service.Spec.Ports[i].NodePort = port.NodePort
			}
		}
	}
	if needsHealthCheck(&service.Spec) && service.Spec.HealthCheckNodePort == 0 {
		service.Spec.HealthCheckNodePort = old.Spec.HealthCheckNodePort
	}
}

// dropUnneeded lets a client that changes the type of a service leave alone what only the old type needed.
func dropUnneeded(spec, old *corev1.ServiceSpec) {
	if needsNodePorts(old) && !needsNodePorts(spec) {
		for i := range spec.Ports {
			assigned := func(port corev1.ServicePort) bool { return port.NodePort == spec.Ports[i].NodePort }
			if slices.ContainsFunc(old.Ports, assigned) {
				spec.Ports[i].NodePort = 0
			}
		}
	}
	if needsHealthCheck(old) && !needsHealthCheck(spec) && spec.HealthCheckNodePort == old.HealthCheckNodePort {
		spec.HealthCheckNodePort = 0
	}
	if isExternal(old) && !isExternal(spec) && spec.ExternalTrafficPolicy == old.ExternalTrafficPolicy {
		spec.ExternalTrafficPolicy = ""
	}
	if old.Type == corev1.ServiceTypeLoadBalancer && spec.Type != corev1.ServiceTypeLoadBalancer {
		dropUnchanged(&spec.AllocateLoadBalancerNodePorts, old.AllocateLoadBalancerNodePorts)
		dropUnchanged(&spec.LoadBalancerClass, old.LoadBalancerClass)
	}
	if old.Type != corev1.ServiceTypeExternalName && spec.Type == corev1.ServiceTypeExternalName {
		dropUnchanged(&spec.InternalTrafficPolicy, old.InternalTrafficPolicy)
	}
}

func dropUnchanged[T comparable](value **T, old *T) {
	if ptr.Equal(*value, old) {
		*value = nil
	}
}

func freeAddress(services []*corev1.Service) string {
	taken := map[string]bool{}
	for _, service := range services {
		taken[service.Spec.ClusterIP] = true
	}
	// The first two addresses are the network and what clusters give to the service of the API server.
	address := netip.MustParsePrefix(serviceNetwork).Addr().Next().Next()
	for taken[address.String()] {
		address = address.Next()
	}
	return address.String()
}

func freeNodePort(services []*corev1.Service) int32 {
	taken := map[int32]bool{}
	for _, service := range services {
		taken[service.Spec.HealthCheckNodePort] = true
		for _, port := range service.Spec.Ports {
			taken[port.NodePort] = true
		}
	}
	port := int32(lowestNodePort)
	for taken[port] {
		port++
	}
	return port
}
