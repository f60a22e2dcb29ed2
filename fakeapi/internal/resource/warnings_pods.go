package resource

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func podWarnings(pod, old *corev1.Pod) []string {
	if old != nil {
		return nil // most of a pod does not change
	}
	var warnings []string
	if messages := validation.IsDNS1123Label(pod.Name); len(messages) > 0 {
		warnings = append(warnings, fmt.Sprintf(
			"metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: %v", messages))
	}
	return append(warnings, podSpecWarnings(&pod.Spec, pod.Annotations, nil)...)
}

// templateWarnings are those of a kind with a pod template at a path. They are not repeated until something changes.
func templateWarnings[T metav1.Object](template func(T) *corev1.PodTemplateSpec, path ...string) func(object, old runtime.Object) []string {
	at := field.NewPath(path[0], path[1:]...)
	return func(object, old runtime.Object) []string {
		of := object.(T)
		if old != nil && old.(T).GetGeneration() == of.GetGeneration() {
			return nil
		}
		if t := template(of); t != nil {
			return podSpecWarnings(&t.Spec, t.Annotations, at)
		}
		return nil
	}
}

// withNameWarning adds a warning about a new object whose name is to be part of the names of pods.
func withNameWarning(warnings func(object, old runtime.Object) []string) func(object, old runtime.Object) []string {
	return func(object, old runtime.Object) []string {
		var all []string
		if messages := validation.IsDNS1123Label(object.(metav1.Object).GetName()); old == nil && len(messages) > 0 {
			all = append(all, fmt.Sprintf(
				"metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: %v", messages))
		}
		return append(all, warnings(object, old)...)
	}
}

// podSpecWarnings are those of a pod or template at a path, which is nil for the pod itself.
func podSpecWarnings(spec *corev1.PodSpec, annotations map[string]string, path *field.Path) []string {
	var warnings []string
	warn := func(at *field.Path, format string, values ...any) {
		warnings = append(warnings, at.String()+": "+fmt.Sprintf(format, values...))
	}
	at, metadata := path.Child("spec"), path.Child("metadata", "annotations")
	for _, label := range sortedKeys(spec.NodeSelector) {
		if advice, deprecated := deprecatedNodeLabel(label); deprecated {
			warn(at.Child("nodeSelector").Key(label), "%s", advice)
		}
	}
	for i, constraint := range spec.TopologySpreadConstraints {
		if constraint.LabelSelector == nil {
			warn(at.Child("topologySpreadConstraints").Index(i).Child("labelSelector"), matchesNothing)
		}
	}
	if _, ok := annotations["scheduler.alpha.kubernetes.io/critical-pod"]; ok {
		warn(metadata.Key("scheduler.alpha.kubernetes.io/critical-pod"), `non-functional in v1.16+; use the "priorityClassName" field instead`)
	}
	for i := range spec.Volumes {
		for _, volume := range deprecatedVolumes(&spec.Volumes[i].VolumeSource) {
			if volume.set {
				warn(at.Child("volumes").Index(i).Child(volume.name), "%s", volume.advice)
			}
		}
	}
	secrets := map[string]bool{}
	for i, secret := range spec.ImagePullSecrets {
		if secrets[secret.Name] {
			warn(at.Child("imagePullSecrets").Index(i).Child("name"), "duplicate name %q", secret.Name)
		}
		secrets[secret.Name] = true
	}
	for i, secret := range spec.ImagePullSecrets {
		if secret.Name == "" {
			warn(at.Child("imagePullSecrets").Index(i).Child("name"), "invalid empty name %q", secret.Name)
		}
	}
	if _, ok := annotations[corev1.SeccompPodAnnotationKey]; ok && (spec.SecurityContext == nil || spec.SecurityContext.SeccompProfile == nil) {
		warn(metadata.Key(corev1.SeccompPodAnnotationKey), `non-functional in v1.27+; use the "seccompProfile" field instead`)
	}
	eachContainer(spec, at, func(container *corev1.Container, at *field.Path) {
		containerWarnings(container, at, warn)
	})
	portWarnings(spec, at, warn)
	for _, terms := range affinityTerms(spec.Affinity) {
		affinityWarnings(terms, at.Child("affinity", terms.field), warn)
	}
	return warnings
}

// warner takes a warning about a field.
type warner func(at *field.Path, format string, values ...any)

const matchesNothing = "a null labelSelector results in matching no pod"

func affinityWarnings(terms podTerms, path *field.Path, warn warner) {
	for i, term := range terms.hard {
		if term.LabelSelector == nil {
			warn(path.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i).Child("labelSelector"), matchesNothing)
		}
	}
	for i, term := range terms.soft {
		if term.PodAffinityTerm.LabelSelector == nil {
			warn(path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("podAffinityTerm", "labelSelector"), matchesNothing)
		}
	}
}

// eachContainer visits the containers in the order in which the real API server does.
func eachContainer(spec *corev1.PodSpec, path *field.Path, visit func(container *corev1.Container, path *field.Path)) {
	for i := range spec.InitContainers {
		visit(&spec.InitContainers[i], path.Child("initContainers").Index(i))
	}
	for i := range spec.Containers {
		visit(&spec.Containers[i], path.Child("containers").Index(i))
	}
}

func containerWarnings(container *corev1.Container, path *field.Path, warn warner) {
	for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		for _, list := range []struct {
			name      string
			resources corev1.ResourceList
		}{{"limits", container.Resources.Limits}, {"requests", container.Resources.Requests}} {
			if quantity, ok := list.resources[name]; ok && quantity.MilliValue()%1000 != 0 {
				warn(path.Child("resources", list.name).Key(string(name)), "fractional byte value %q is invalid, must be an integer", quantity.String())
			}
		}
	}
	seen := map[string]bool{}
	for i, variable := range container.Env {
		reference := "$(" + variable.Name + ")"
		extends := variable.ValueFrom == nil && variable.Value != reference && strings.Contains(variable.Value, reference)
		if seen[variable.Name] && !extends {
			warn(path.Child("env").Index(i), "hides previous definition of %q, which may be dropped when using apply", variable.Name)
		}
		seen[variable.Name] = true
	}
}

// portWarnings are of ports that containers of a pod have in common.
func portWarnings(spec *corev1.PodSpec, path *field.Path, warn warner) {
	type placed struct {
		corev1.ContainerPort
		at *field.Path
	}
	ports, names := map[string][]placed{}, map[string]*field.Path{}
	eachContainer(spec, path, func(container *corev1.Container, path *field.Path) {
		for i, port := range container.Ports {
			at, key := path.Child("ports").Index(i), fmt.Sprintf("%d/%s", port.ContainerPort, port.Protocol)
			for _, other := range ports[key] {
				switch {
				case port.HostIP == other.HostIP && port.HostPort == other.HostPort:
					warn(at, "duplicate port definition with %s", other.at)
				case port.HostPort == 0 || other.HostPort == 0:
					warn(at, "overlapping port definition with %s", other.at)
				case port.HostPort == other.HostPort && (port.HostIP == "") != (other.HostIP == ""):
					warn(at, "dangerously ambiguous port definition with %s", other.at)
				}
			}
			ports[key] = append(ports[key], placed{port, at})
		}
	})
	eachContainer(spec, path, func(container *corev1.Container, path *field.Path) {
		for i, port := range container.Ports {
			at := path.Child("ports").Index(i)
			switch other, taken := names[port.Name]; {
			case port.Name == "":
			case taken:
				warn(at, "duplicate port name %q with %s, services and probes that select ports by name will use %s", port.Name, other, other)
			default:
				names[port.Name] = at
			}
		}
	})
}

// deprecatedNodeLabel says what replaced a label of nodes.
func deprecatedNodeLabel(label string) (string, bool) {
	switch label {
	case corev1.LabelFailureDomainBetaZone:
		return `deprecated since v1.17; use "` + corev1.LabelTopologyZone + `" instead`, true
	case corev1.LabelFailureDomainBetaRegion:
		return `deprecated since v1.17; use "` + corev1.LabelTopologyRegion + `" instead`, true
	case corev1.LabelInstanceType:
		return `deprecated since v1.17; use "` + corev1.LabelInstanceTypeStable + `" instead`, true
	case "beta.kubernetes.io/arch":
		return `deprecated since v1.14; use "` + corev1.LabelArchStable + `" instead`, true
	case "beta.kubernetes.io/os":
		return `deprecated since v1.14; use "` + corev1.LabelOSStable + `" instead`, true
	}
	return "", false
}

// deprecatedVolume is a kind of volume that is out of use.
type deprecatedVolume struct {
	name   string
	set    bool
	advice string
}

func deprecatedVolumes(s *corev1.VolumeSource) []deprecatedVolume {
	return []deprecatedVolume{
		{"photonPersistentDisk", s.PhotonPersistentDisk != nil, "deprecated in v1.11, non-functional in v1.16+"},
		{"gitRepo", s.GitRepo != nil, "deprecated in v1.11, and disabled by default in v1.33+"},
		{"scaleIO", s.ScaleIO != nil, "deprecated in v1.16, non-functional in v1.22+"},
		{"flocker", s.Flocker != nil, "deprecated in v1.22, non-functional in v1.25+"},
		{"storageOS", s.StorageOS != nil, "deprecated in v1.22, non-functional in v1.25+"},
		{"quobyte", s.Quobyte != nil, "deprecated in v1.22, non-functional in v1.25+"},
		{"glusterfs", s.Glusterfs != nil, "deprecated in v1.25, non-functional in v1.26+"},
		{"cephfs", s.CephFS != nil, "deprecated in v1.28, non-functional in v1.31+"},
		{"rbd", s.RBD != nil, "deprecated in v1.28, non-functional in v1.31+"},
	}
}
