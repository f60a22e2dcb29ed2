package printers

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
)

func componentStatusCells(component *corev1.ComponentStatus, _ time.Time) []any {
	for _, condition := range component.Conditions {
		if condition.Type != corev1.ComponentHealthy {
			continue
		}
		status := "Unhealthy"
		if condition.Status == corev1.ConditionTrue {
			status = "Healthy"
		}
		return []any{component.Name, status, condition.Message, condition.Error}
	}
	return []any{component.Name, "Unknown", "", ""}
}

func configMapCells(m *corev1.ConfigMap, now time.Time) []any {
	return []any{m.Name, int64(len(m.Data) + len(m.BinaryData)), age(m, now)}
}

func secretCells(secret *corev1.Secret, now time.Time) []any {
	return []any{secret.Name, string(secret.Type), int64(len(secret.Data)), age(secret, now)}
}

func serviceAccountCells(account *corev1.ServiceAccount, now time.Time) []any {
	return []any{account.Name, age(account, now)}
}

func namespaceCells(namespace *corev1.Namespace, now time.Time) []any {
	return []any{namespace.Name, string(namespace.Status.Phase), age(namespace, now)}
}

//lint:ignore SA1019 the deprecated kind is still served
func endpointsCells(endpoints *corev1.Endpoints, now time.Time) []any {
	var addresses []string
	for _, subset := range endpoints.Subsets {
		for _, port := range subset.Ports {
			for _, address := range subset.Addresses {
				addresses = append(addresses, net.JoinHostPort(address.IP, strconv.Itoa(int(port.Port))))
			}
		}
		if len(subset.Ports) == 0 {
			for _, address := range subset.Addresses {
				addresses = append(addresses, address.IP)
			}
		}
	}
	nothing := ""
	if len(endpoints.Subsets) == 0 {
		nothing = none
	}
	return []any{endpoints.Name, few(addresses, 3, ",", nothing), age(endpoints, now)}
}

// eventCells shows an event of either group, as both are kept the same.
func eventCells(event *corev1.Event, now time.Time) []any {
	first := since(event.FirstTimestamp, now)
	if event.FirstTimestamp.IsZero() {
		first = since(metav1.Time(event.EventTime), now)
	}
	last, count := since(event.LastTimestamp, now), max(event.Count, 1)
	if event.LastTimestamp.IsZero() {
		last = first
	}
	if event.Series != nil {
		last, count = since(metav1.Time(event.Series.LastObservedTime), now), event.Series.Count
	}
	about := strings.ToLower(event.InvolvedObject.Kind)
	if event.InvolvedObject.Name != "" {
		about += "/" + event.InvolvedObject.Name
	}
	source := or(event.Source.Component, event.ReportingController)
	if host := or(event.Source.Host, event.ReportingInstance); host != "" {
		source += ", " + host
	}
	return []any{
		last, event.Type, event.Reason, about, event.InvolvedObject.FieldPath, source, strings.TrimSpace(event.Message),
		first, int64(count), event.Name,
	}
}

func nodeCells(node *corev1.Node, now time.Time) []any {
	status := "Unknown"
	for _, condition := range node.Status.Conditions {
		if condition.Type != corev1.NodeReady {
			continue
		}
		status = "NotReady"
		if condition.Status == corev1.ConditionTrue {
			status = "Ready"
		}
	}
	if node.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	info := node.Status.NodeInfo
	kernel := or(info.KernelVersion, unknown)
	if info.Architecture != "" {
		kernel += " (" + info.Architecture + ")"
	}
	return []any{
		node.Name, status, nodeRoles(node), age(node, now), info.KubeletVersion,
		nodeAddress(node, corev1.NodeInternalIP), nodeAddress(node, corev1.NodeExternalIP),
		or(info.OSImage, unknown), kernel, or(info.ContainerRuntimeVersion, unknown),
	}
}

func nodeRoles(node *corev1.Node) string {
	roles := sets.New[string]()
	for label, value := range node.Labels {
		if role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/"); ok {
			roles.Insert(role)
		}
		if label == "kubernetes.io/role" {
			roles.Insert(value)
		}
	}
	return or(strings.Join(sets.List(roles.Delete("")), ","), none)
}

func nodeAddress(node *corev1.Node, kind corev1.NodeAddressType) string {
	for _, address := range node.Status.Addresses {
		if address.Type == kind {
			return address.Address
		}
	}
	return none
}

func quotaCells(quota *corev1.ResourceQuota, now time.Time) []any {
	var requests, limits []string
	for _, name := range slices.Sorted(maps.Keys(quota.Status.Hard)) {
		used, hard := quota.Status.Used[name], quota.Status.Hard[name]
		text := fmt.Sprintf("%s: %s/%s", name, used.String(), hard.String())
		if strings.HasPrefix(string(name), "limits.") {
			limits = append(limits, text)
		} else {
			requests = append(requests, text)
		}
	}
	return []any{quota.Name, strings.Join(requests, ", "), strings.Join(limits, ", "), age(quota, now)}
}

func claimCells(claim *corev1.PersistentVolumeClaim, now time.Time) []any {
	phase := string(claim.Status.Phase)
	if claim.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	capacity, modes := "", ""
	if claim.Spec.VolumeName != "" {
		storage := claim.Status.Capacity[corev1.ResourceStorage]
		capacity, modes = storage.String(), accessModes(claim.Status.AccessModes)
	}
	class, ok := claim.Annotations[corev1.BetaStorageClassAnnotation]
	if !ok {
		class = valueOr(claim.Spec.StorageClassName, "")
	}
	return []any{
		claim.Name, phase, claim.Spec.VolumeName, capacity, modes, class,
		valueOr(claim.Spec.VolumeAttributesClassName, unset), age(claim, now), string(valueOr(claim.Spec.VolumeMode, unset)),
	}
}

func volumeCells(volume *corev1.PersistentVolume, now time.Time) []any {
	phase := string(volume.Status.Phase)
	if volume.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	claim := ""
	if volume.Spec.ClaimRef != nil {
		claim = volume.Spec.ClaimRef.Namespace + "/" + volume.Spec.ClaimRef.Name
	}
	class, ok := volume.Annotations[corev1.BetaStorageClassAnnotation]
	if !ok {
		class = volume.Spec.StorageClassName
	}
	capacity := volume.Spec.Capacity[corev1.ResourceStorage]
	return []any{
		volume.Name, capacity.String(), accessModes(volume.Spec.AccessModes), string(volume.Spec.PersistentVolumeReclaimPolicy),
		phase, claim, class, valueOr(volume.Spec.VolumeAttributesClassName, unset), volume.Status.Reason, age(volume, now),
		string(valueOr(volume.Spec.VolumeMode, unset)),
	}
}

func accessModes(modes []corev1.PersistentVolumeAccessMode) string {
	var short []string
	for _, mode := range []struct {
		mode  corev1.PersistentVolumeAccessMode
		short string
	}{
		{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"}, {corev1.ReadWriteMany, "RWX"}, {corev1.ReadWriteOncePod, "RWOP"},
	} {
		if slices.Contains(modes, mode.mode) {
			short = append(short, mode.short)
		}
	}
	return strings.Join(short, ",")
}

func serviceCells(service *corev1.Service, now time.Time) []any {
	internal := none
	if len(service.Spec.ClusterIPs) > 0 {
		internal = service.Spec.ClusterIPs[0]
	}
	var ports []string
	for _, port := range service.Spec.Ports {
		text := strconv.Itoa(int(port.Port))
		if port.NodePort > 0 {
			text += ":" + strconv.Itoa(int(port.NodePort))
		}
		ports = append(ports, text+"/"+string(port.Protocol))
	}
	return []any{
		service.Name, string(service.Spec.Type), internal, externalAddress(service), or(strings.Join(ports, ","), none),
		age(service, now), labels.FormatLabels(service.Spec.Selector),
	}
}

// externalAddress is where a service is reached from outside, as far as its type has such a place.
func externalAddress(service *corev1.Service) string {
	given := service.Spec.ExternalIPs
	switch service.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return or(strings.Join(given, ","), none)
	case corev1.ServiceTypeLoadBalancer:
		balancers := sets.New[string]()
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			balancers.Insert(or(ingress.IP, ingress.Hostname))
		}
		return or(strings.Join(append(sets.List(balancers.Delete("")), given...), ","), "<pending>")
	case corev1.ServiceTypeExternalName:
		return service.Spec.ExternalName
	}
	return unknown
}
