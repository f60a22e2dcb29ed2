package resource

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func defaultService(service *corev1.Service) {
	spec := &service.Spec
	orElse(&spec.SessionAffinity, corev1.ServiceAffinityNone)
	if spec.SessionAffinity == corev1.ServiceAffinityNone {
		spec.SessionAffinityConfig = nil
	}
	if spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		config := spec.SessionAffinityConfig
		if config == nil || config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil {
			seconds := corev1.DefaultClientIPServiceAffinitySeconds
			spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
		}
	}
	orElse(&spec.Type, corev1.ServiceTypeClusterIP)
	for i := range spec.Ports {
		port := &spec.Ports[i]
		orElse(&port.Protocol, corev1.ProtocolTCP)
		if port.TargetPort == intstr.FromInt32(0) || port.TargetPort == intstr.FromString("") {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
	}
	external := spec.Type == corev1.ServiceTypeLoadBalancer || spec.Type == corev1.ServiceTypeNodePort ||
		(spec.Type == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0)
	if external {
		orElse(&spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
	}
	switch spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer:
		orElsePtr(&spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
	if spec.Type == corev1.ServiceTypeLoadBalancer {
		orElsePtr(&spec.AllocateLoadBalancerNodePorts, true)
		for i := range service.Status.LoadBalancer.Ingress {
			if ingress := &service.Status.LoadBalancer.Ingress[i]; ingress.IP != "" {
				orElsePtr(&ingress.IPMode, corev1.LoadBalancerIPModeVIP)
			}
		}
	}
}

// defaultSecret also takes what a client wrote as text into the data, so that nobody else sees it as text.
func defaultSecret(secret *corev1.Secret) {
	orElse(&secret.Type, corev1.SecretTypeOpaque)
	for key, value := range secret.StringData {
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
}

//lint:ignore SA1019 the deprecated kind is still served
func defaultEndpoints(endpoints *corev1.Endpoints) {
	for i := range endpoints.Subsets {
		for j := range endpoints.Subsets[i].Ports {
			orElse(&endpoints.Subsets[i].Ports[j].Protocol, corev1.ProtocolTCP)
		}
	}
}

func defaultClaim(claim *corev1.PersistentVolumeClaim) {
	orElse(&claim.Status.Phase, corev1.ClaimPending)
	orElsePtr(&claim.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
}

func defaultVolumeOfCluster(volume *corev1.PersistentVolume) {
	orElse(&volume.Status.Phase, corev1.VolumePending)
	orElse(&volume.Spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
	orElsePtr(&volume.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	source := &volume.Spec.PersistentVolumeSource
	if source.HostPath != nil {
		orElsePtr(&source.HostPath.Type, corev1.HostPathUnset)
	}
	if source.ISCSI != nil {
		orElse(&source.ISCSI.ISCSIInterface, defaultISCSIInterface)
	}
	if source.RBD != nil {
		defaultRBD(&source.RBD.RBDPool, &source.RBD.RadosUser, &source.RBD.Keyring)
	}
	if source.ScaleIO != nil {
		defaultScaleIO(&source.ScaleIO.StorageMode, &source.ScaleIO.FSType)
	}
	if source.AzureDisk != nil {
		defaultAzureDisk(source.AzureDisk)
	}
}

func defaultNode(node *corev1.Node) {
	switch spec := &node.Spec; {
	case spec.PodCIDR != "" && (len(spec.PodCIDRs) == 0 || spec.PodCIDRs[0] != spec.PodCIDR):
		spec.PodCIDRs = []string{spec.PodCIDR}
	case spec.PodCIDR == "" && len(spec.PodCIDRs) > 0:
		spec.PodCIDR = spec.PodCIDRs[0]
	}
	if node.Status.Allocatable == nil && node.Status.Capacity != nil {
		node.Status.Allocatable = node.Status.Capacity.DeepCopy()
	}
}

func defaultTemplate(template *corev1.PodTemplate) { defaultPodTemplate(&template.Template) }

func defaultLimitRange(limits *corev1.LimitRange) {
	for i := range limits.Spec.Limits {
		item := &limits.Spec.Limits[i]
		if item.Type != corev1.LimitTypeContainer {
			continue
		}
		fill := func(into *corev1.ResourceList, from corev1.ResourceList) {
			for name, quantity := range from {
				if *into == nil {
					*into = corev1.ResourceList{}
				}
				if _, ok := (*into)[name]; !ok {
					(*into)[name] = quantity.DeepCopy()
				}
			}
		}
		fill(&item.Default, item.Max)
		fill(&item.DefaultRequest, item.Default)
		fill(&item.DefaultRequest, item.Min)
	}
}

func defaultNetworkPolicy(policy *networkingv1.NetworkPolicy) {
	ports := func(ports []networkingv1.NetworkPolicyPort) {
		for i := range ports {
			orElsePtr(&ports[i].Protocol, corev1.ProtocolTCP)
		}
	}
	for i := range policy.Spec.Ingress {
		ports(policy.Spec.Ingress[i].Ports)
	}
	for i := range policy.Spec.Egress {
		ports(policy.Spec.Egress[i].Ports)
	}
	if len(policy.Spec.PolicyTypes) == 0 {
		policy.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(policy.Spec.Egress) > 0 {
			policy.Spec.PolicyTypes = append(policy.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
	}
}

func defaultIngressClass(class *networkingv1.IngressClass) {
	if class.Spec.Parameters != nil {
		orElsePtr(&class.Spec.Parameters.Scope, networkingv1.IngressClassParametersReferenceScopeCluster)
	}
}

func defaultEndpointSlice(slice *discoveryv1.EndpointSlice) {
	for i := range slice.Ports {
		orElsePtr(&slice.Ports[i].Name, "")
		orElsePtr(&slice.Ports[i].Protocol, corev1.ProtocolTCP)
	}
}

func settleRole(role *rbacv1.Role) { noneIfEmpty(&role.Rules) }

func settleClusterRole(role *rbacv1.ClusterRole) { noneIfEmpty(&role.Rules) }

func settleEndpointSlice(slice *discoveryv1.EndpointSlice) {
	noneIfEmpty(&slice.Ports)
	noneIfEmpty(&slice.Endpoints)
}

func defaultRoleBinding(binding *rbacv1.RoleBinding) {
	orElse(&binding.RoleRef.APIGroup, rbacv1.GroupName)
	defaultSubjects(binding.Subjects)
}

func defaultClusterRoleBinding(binding *rbacv1.ClusterRoleBinding) {
	orElse(&binding.RoleRef.APIGroup, rbacv1.GroupName)
	defaultSubjects(binding.Subjects)
}

func defaultSubjects(subjects []rbacv1.Subject) {
	for i := range subjects {
		if subjects[i].Kind == rbacv1.UserKind || subjects[i].Kind == rbacv1.GroupKind {
			orElse(&subjects[i].APIGroup, rbacv1.GroupName)
		}
	}
}

func defaultPriorityClass(class *schedulingv1.PriorityClass) {
	orElsePtr(&class.PreemptionPolicy, corev1.PreemptLowerPriority)
}

func defaultStorageClass(class *storagev1.StorageClass) {
	orElsePtr(&class.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	orElsePtr(&class.VolumeBindingMode, storagev1.VolumeBindingImmediate)
}

func defaultCSIDriver(driver *storagev1.CSIDriver) {
	spec := &driver.Spec
	orElsePtr(&spec.AttachRequired, true)
	orElsePtr(&spec.PodInfoOnMount, false)
	orElsePtr(&spec.StorageCapacity, false)
	orElsePtr(&spec.RequiresRepublish, false)
	orElsePtr(&spec.SELinuxMount, false)
	orElsePtr(&spec.PreventPodSchedulingIfMissing, false)
	orElsePtr(&spec.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	if len(spec.VolumeLifecycleModes) == 0 {
		spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
}

func defaultFlowSchema(schema *flowcontrolv1.FlowSchema) {
	orElse(&schema.Spec.MatchingPrecedence, 1000)
}

func defaultPriorityLevel(level *flowcontrolv1.PriorityLevelConfiguration) {
	if exempt := level.Spec.Exempt; exempt != nil {
		orElsePtr(&exempt.NominalConcurrencyShares, 0)
		orElsePtr(&exempt.LendablePercent, 0)
	}
	if limited := level.Spec.Limited; limited != nil {
		orElsePtr(&limited.NominalConcurrencyShares, 30)
		orElsePtr(&limited.LendablePercent, 0)
		if queuing := limited.LimitResponse.Queuing; queuing != nil {
			orElse(&queuing.HandSize, 8)
			orElse(&queuing.Queues, 64)
			orElse(&queuing.QueueLengthLimit, 50)
		}
	}
}
