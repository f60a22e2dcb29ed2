package resource

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func defaultPod(pod *corev1.Pod) {
	spec := &pod.Spec
	defaultPodSpec(spec)
	if *spec.TerminationGracePeriodSeconds < 0 {
		spec.TerminationGracePeriodSeconds = ptr.To[int64](1)
	}
	orElsePtr(&spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			requestLimits(&containers[i].Resources)
			if spec.HostNetwork {
				defaultHostPorts(containers[i].Ports)
			}
		}
	}
	status := &pod.Status
	switch {
	case status.PodIP != "" && (len(status.PodIPs) == 0 || status.PodIPs[0].IP != status.PodIP):
		status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	case status.PodIP == "" && len(status.PodIPs) > 0:
		status.PodIP = status.PodIPs[0].IP
	}
}

// requestLimits lets a container request what it is limited to when it does not say.
func requestLimits(resources *corev1.ResourceRequirements) {
	for name, limit := range resources.Limits {
		if resources.Requests == nil {
			resources.Requests = corev1.ResourceList{}
		}
		if _, ok := resources.Requests[name]; !ok {
			resources.Requests[name] = limit.DeepCopy()
		}
	}
}

func defaultHostPorts(ports []corev1.ContainerPort) {
	for i := range ports {
		orElse(&ports[i].HostPort, ports[i].ContainerPort)
	}
}

// defaultPodTemplate sets what the pods of a template get, as far as the template itself shows it.
func defaultPodTemplate(template *corev1.PodTemplateSpec) { defaultPodSpec(&template.Spec) }

func defaultPodSpec(spec *corev1.PodSpec) {
	orElse(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	orElse(&spec.DNSPolicy, corev1.DNSClusterFirst)
	orElse(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	orElse(&spec.SchedulerName, corev1.DefaultSchedulerName)
	orElsePtr(&spec.SecurityContext, corev1.PodSecurityContext{})
	orElsePtr(&spec.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
	for i := range spec.Volumes {
		defaultVolume(&spec.Volumes[i])
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			defaultContainer(&containers[i])
		}
	}
	for i := range spec.EphemeralContainers {
		// The common part has the same fields.
		container := corev1.Container(spec.EphemeralContainers[i].EphemeralContainerCommon)
		defaultContainer(&container)
		spec.EphemeralContainers[i].EphemeralContainerCommon = corev1.EphemeralContainerCommon(container)
	}
}

func defaultContainer(container *corev1.Container) {
	orElse(&container.ImagePullPolicy, pullPolicy(container.Image))
	orElse(&container.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	orElse(&container.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range container.Ports {
		orElse(&container.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range container.Env {
		from := container.Env[i].ValueFrom
		if from != nil && from.FieldRef != nil {
			orElse(&from.FieldRef.APIVersion, "v1")
		}
		if from != nil && from.FileKeyRef != nil {
			orElsePtr(&from.FileKeyRef.Optional, false)
		}
	}
	for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe, container.StartupProbe} {
		if probe != nil {
			defaultProbe(probe)
		}
	}
	if container.Lifecycle != nil {
		for _, handler := range []*corev1.LifecycleHandler{container.Lifecycle.PostStart, container.Lifecycle.PreStop} {
			if handler != nil && handler.HTTPGet != nil {
				defaultHTTPGet(handler.HTTPGet)
			}
		}
	}
}

// pullPolicy is Always for images that may change behind their name.
func pullPolicy(image string) corev1.PullPolicy {
	folder, name := "", image
	if at := strings.LastIndex(image, "/"); at >= 0 {
		folder, name = image[:at+1], image[at+1:]
	}
	if strings.Contains(name, "@") {
		return corev1.PullIfNotPresent
	}
	name, tag, tagged := strings.Cut(name, ":")
	if tagged && tag != "latest" || !isRepository(folder+name) {
		return corev1.PullIfNotPresent
	}
	return corev1.PullAlways
}

// isRepository tells whether images may be called that: in lower case, but for the host that they come from.
func isRepository(name string) bool {
	if host, rest, ok := strings.Cut(name, "/"); ok && (host == "localhost" || strings.ContainsAny(host, ".:") || strings.ToLower(host) != host) {
		name = rest
	}
	strange := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("._-/", r)
	}
	return name != "" && !strings.ContainsFunc(name, strange)
}

func defaultProbe(probe *corev1.Probe) {
	orElse(&probe.TimeoutSeconds, 1)
	orElse(&probe.PeriodSeconds, 10)
	orElse(&probe.SuccessThreshold, 1)
	orElse(&probe.FailureThreshold, 3)
	if probe.HTTPGet != nil {
		defaultHTTPGet(probe.HTTPGet)
	}
	if probe.GRPC != nil {
		orElsePtr(&probe.GRPC.Service, "")
	}
}

func defaultHTTPGet(action *corev1.HTTPGetAction) {
	orElse(&action.Path, "/")
	orElse(&action.Scheme, corev1.URISchemeHTTP)
}

func defaultVolume(volume *corev1.Volume) {
	source := &volume.VolumeSource
	if *source == (corev1.VolumeSource{}) {
		source.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	if source.Secret != nil {
		orElsePtr(&source.Secret.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
	}
	if source.ConfigMap != nil {
		orElsePtr(&source.ConfigMap.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
	}
	if source.DownwardAPI != nil {
		orElsePtr(&source.DownwardAPI.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		defaultDownwardItems(source.DownwardAPI.Items)
	}
	if source.Projected != nil {
		orElsePtr(&source.Projected.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
		for i := range source.Projected.Sources {
			if token := source.Projected.Sources[i].ServiceAccountToken; token != nil {
				orElsePtr(&token.ExpirationSeconds, int64(3600))
			}
			if downward := source.Projected.Sources[i].DownwardAPI; downward != nil {
				defaultDownwardItems(downward.Items)
			}
		}
	}
	if source.HostPath != nil {
		orElsePtr(&source.HostPath.Type, corev1.HostPathUnset)
	}
	if source.Image != nil {
		orElse(&source.Image.PullPolicy, pullPolicy(source.Image.Reference))
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
	if source.Ephemeral != nil && source.Ephemeral.VolumeClaimTemplate != nil {
		orElsePtr(&source.Ephemeral.VolumeClaimTemplate.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	}
}

const defaultISCSIInterface = "default"

func defaultRBD(pool, user, keyring *string) {
	orElse(pool, "rbd")
	orElse(user, "admin")
	orElse(keyring, "/etc/ceph/keyring")
}

func defaultScaleIO(mode, fsType *string) {
	orElse(mode, "ThinProvisioned")
	orElse(fsType, "xfs")
}

func defaultAzureDisk(disk *corev1.AzureDiskVolumeSource) {
	orElsePtr(&disk.CachingMode, corev1.AzureDataDiskCachingReadWrite)
	orElsePtr(&disk.Kind, corev1.AzureSharedBlobDisk)
	orElsePtr(&disk.FSType, "ext4")
	orElsePtr(&disk.ReadOnly, false)
}

func defaultDownwardItems(items []corev1.DownwardAPIVolumeFile) {
	for i := range items {
		if items[i].FieldRef != nil {
			orElse(&items[i].FieldRef.APIVersion, "v1")
		}
	}
}
