package resource

import (
	"fmt"
	"math"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validatePod checks a pod on its creation and on each update.
func validatePod(pod *corev1.Pod) errorList {
	spec, path := &pod.Spec, field.NewPath("spec")
	errs := validatePodSpec(spec, path)
	if spec.HostNetwork {
		errs = append(errs, validateHostNetworkPorts(spec.Containers, path.Child("containers"), false)...)
	}
	if spec.ServiceAccountName == "" {
		errs = append(errs, forbidTokens(spec.Volumes, path.Child("volumes"))...)
	}
	for name, containers := range containersOf(spec) {
		for i, container := range containers {
			if strings.TrimSpace(container.Image) != container.Image {
				errs = append(errs, field.Invalid(path.Child(name).Index(i).Child("image"), container.Image, "must not have leading or trailing whitespace"))
			}
		}
	}
	return errs
}

// validateNewPod checks what later updates, or other subresources, may bring.
func validateNewPod(pod *corev1.Pod) errorList {
	var errs errorList
	path := field.NewPath("spec")
	if len(pod.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(path.Child("ephemeralContainers"), "cannot be set on create"))
	}
	if pod.Spec.NodeName != "" && len(pod.Spec.SchedulingGates) > 0 {
		errs = append(errs, field.Forbidden(path.Child("nodeName"), "cannot be set until all schedulingGates have been cleared"))
	}
	return errs
}

// containersOf are the containers of a pod by the field that they are in, the ephemeral ones apart.
func containersOf(spec *corev1.PodSpec) func(yield func(string, []corev1.Container) bool) {
	return func(yield func(string, []corev1.Container) bool) {
		if yield("containers", spec.Containers) {
			yield("initContainers", spec.InitContainers)
		}
	}
}

// forbidTokens refuses volumes with the tokens of no account.
func forbidTokens(volumes []corev1.Volume, path *field.Path) errorList {
	var errs errorList
	for i, volume := range volumes {
		if volume.Projected == nil {
			continue
		}
		for j, source := range volume.Projected.Sources {
			if source.ServiceAccountToken != nil {
				errs = append(errs, field.Forbidden(path.Index(i).Child("projected", "sources").Index(j).Child("serviceAccountToken"),
					"must not be specified when serviceAccountName is not set"))
			}
		}
	}
	return errs
}

// validatePodTemplate checks the template of a kind that runs pods.
func validatePodTemplate(template *corev1.PodTemplateSpec, path *field.Path) errorList {
	errs := metav1validation.ValidateLabels(template.Labels, path.Child("labels"))
	errs = append(errs, apivalidation.ValidateAnnotations(template.Annotations, path.Child("annotations"))...)
	errs = append(errs, validatePodSpec(&template.Spec, path.Child("spec"))...)
	if template.Spec.HostNetwork {
		errs = append(errs, validateHostNetworkPorts(template.Spec.Containers, path.Child("spec", "containers"), true)...)
	}
	if len(template.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(path.Child("spec", "ephemeralContainers"), "ephemeral containers not allowed in pod template"))
	}
	return errs
}

// validatePodSpec checks what pods and templates have in common.
func validatePodSpec(spec *corev1.PodSpec, path *field.Path) errorList {
	var errs errorList
	check := func(more errorList) { errs = append(errs, more...) }

	check(validateVolumes(spec.Volumes, path.Child("volumes")))
	check(validateContainers(spec, path))
	check(validateInitContainers(spec, path.Child("initContainers")))
	check(validatePodResources(spec, path.Child("resources")))
	check(validateOneOf(path.Child("restartPolicy"), spec.RestartPolicy,
		corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever))
	check(validateOneOf(path.Child("dnsPolicy"), spec.DNSPolicy,
		corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone))
	check(metav1validation.ValidateLabels(spec.NodeSelector, path.Child("nodeSelector")))
	check(validatePodSecurity(spec.SecurityContext, path.Child("securityContext")))
	check(validateAffinity(spec.Affinity, path.Child("affinity")))
	check(validateDNSConfig(spec, path.Child("dnsConfig")))
	check(validateGates(spec.SchedulingGates, path.Child("schedulingGates")))
	check(validateSpread(spec.TopologySpreadConstraints, path.Child("topologySpreadConstraints")))
	for _, name := range []struct {
		field, value string
		check        func(*field.Path, string) errorList
	}{
		{"serviceAccountName", spec.ServiceAccountName, dnsSubdomain},
		{"nodeName", spec.NodeName, dnsSubdomain},
	} {
		if name.value != "" {
			check(name.check(path.Child(name.field), name.value))
		}
	}
	if seconds := spec.ActiveDeadlineSeconds; seconds != nil && (*seconds < 1 || *seconds > math.MaxInt32) {
		check(errorList{field.Invalid(path.Child("activeDeadlineSeconds"), *seconds, validation.InclusiveRangeError(1, math.MaxInt32))})
	}
	for _, name := range []struct{ field, value string }{{"hostname", spec.Hostname}, {"subdomain", spec.Subdomain}} {
		if name.value != "" {
			check(dnsLabel(path.Child(name.field), name.value))
		}
	}
	check(validateTolerations(spec.Tolerations, path.Child("tolerations")))
	if spec.PriorityClassName != "" {
		check(dnsSubdomain(path.Child("priorityClassName"), spec.PriorityClassName))
	}
	if spec.RuntimeClassName != nil {
		check(dnsSubdomain(path.Child("runtimeClassName"), *spec.RuntimeClassName))
	}
	return errs
}

// validatePodResources checks the resources of a pod as a whole, which may have none.
func validatePodResources(spec *corev1.PodSpec, path *field.Path) errorList {
	if spec.Resources == nil {
		return nil
	}
	errs := validateResources(spec.Resources, path)
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		request, requested := spec.Resources.Requests[name]
		if total, _ := ofContainers(spec, name, requestsOf); requested && request.Cmp(total) < 0 {
			errs = append(errs, field.Invalid(path.Child("requests").Key(string(name)), request.String(),
				fmt.Sprintf("must be greater than or equal to aggregate container requests of %s", total.String())))
		}
	}
	return errs
}

// validateHostNetworkPorts lets containers on the host's network have their own ports there. In a template the ports on
// the host may be left open.
func validateHostNetworkPorts(containers []corev1.Container, path *field.Path, template bool) errorList {
	var errs errorList
	for i, container := range containers {
		for j, port := range container.Ports {
			if port.HostPort != port.ContainerPort && (port.HostPort != 0 || !template) {
				errs = append(errs, field.Invalid(path.Index(i).Child("ports").Index(j).Child("hostPort"), port.HostPort,
					"must match `containerPort` when `hostNetwork` is true"))
			}
		}
	}
	return errs
}

func validatePodSecurity(security *corev1.PodSecurityContext, path *field.Path) errorList {
	if security == nil {
		return nil
	}
	errs := validateID(path.Child("fsGroup"), security.FSGroup, validation.IsValidGroupID)
	errs = append(errs, validateID(path.Child("runAsUser"), security.RunAsUser, validation.IsValidUserID)...)
	errs = append(errs, validateID(path.Child("runAsGroup"), security.RunAsGroup, validation.IsValidGroupID)...)
	for i, group := range security.SupplementalGroups {
		errs = append(errs, validateID(path.Child("supplementalGroups").Index(i), &group, validation.IsValidGroupID)...)
	}
	return errs
}

// validateID checks the number of a user or group, which may be absent.
func validateID(path *field.Path, id *int64, check func(int64) []string) errorList {
	if id == nil {
		return nil
	}
	return invalid(path, *id, check(*id))
}

func validateAffinity(affinity *corev1.Affinity, path *field.Path) errorList {
	if affinity == nil {
		return nil
	}
	var errs errorList
	const hard = "requiredDuringSchedulingIgnoredDuringExecution"
	if node := affinity.NodeAffinity; node != nil && node.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		if terms := node.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms; len(terms) == 0 {
			errs = append(errs, field.Required(path.Child("nodeAffinity", hard, "nodeSelectorTerms"), "must have at least one node selector term"))
		}
	}
	for _, terms := range affinityTerms(affinity) {
		errs = append(errs, validateAffinityTerms(terms.hard, path.Child(terms.field, hard))...)
	}
	return errs
}

// podTerms are the terms of a pod's affinity to other pods, or of its anti-affinity.
type podTerms struct {
	field string
	hard  []corev1.PodAffinityTerm
	soft  []corev1.WeightedPodAffinityTerm
}

// affinityTerms returns both kinds of terms. The affinity may be nil.
func affinityTerms(affinity *corev1.Affinity) []podTerms {
	if affinity == nil {
		return nil
	}
	var all []podTerms
	if to := affinity.PodAffinity; to != nil {
		all = append(all, podTerms{"podAffinity", to.RequiredDuringSchedulingIgnoredDuringExecution, to.PreferredDuringSchedulingIgnoredDuringExecution})
	}
	if from := affinity.PodAntiAffinity; from != nil {
		all = append(all, podTerms{"podAntiAffinity", from.RequiredDuringSchedulingIgnoredDuringExecution, from.PreferredDuringSchedulingIgnoredDuringExecution})
	}
	return all
}

func validateAffinityTerms(terms []corev1.PodAffinityTerm, path *field.Path) errorList {
	var errs errorList
	for i, term := range terms {
		at := path.Index(i)
		if term.LabelSelector != nil {
			errs = append(errs, validateLabelSelector(term.LabelSelector, at.Child("labelSelector"))...)
		}
		if term.TopologyKey == "" {
			errs = append(errs, field.Required(at.Child("topologyKey"), "can not be empty"))
		}
		errs = append(errs, qualifiedName(at.Child("topologyKey"), term.TopologyKey)...)
	}
	return errs
}

func validateDNSConfig(spec *corev1.PodSpec, path *field.Path) errorList {
	switch config := spec.DNSConfig; {
	case config == nil && spec.DNSPolicy == corev1.DNSNone:
		return errorList{field.Required(path, fmt.Sprintf("must provide `dnsConfig` when `dnsPolicy` is %s", corev1.DNSNone))}
	case config == nil:
		return nil
	case len(config.Nameservers) == 0 && spec.DNSPolicy == corev1.DNSNone:
		return errorList{field.Required(path.Child("nameservers"),
			fmt.Sprintf("must provide at least one DNS nameserver when `dnsPolicy` is %s", corev1.DNSNone))}
	}
	var errs errorList
	for i, server := range spec.DNSConfig.Nameservers {
		errs = append(errs, validateAddress(path.Child("nameservers").Index(i), server)...)
	}
	return errs
}

// validateAddress refuses what is no IP address.
func validateAddress(path *field.Path, value string) errorList {
	if _, err := netip.ParseAddr(value); err == nil {
		return nil
	}
	return errorList{field.Invalid(path, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")}
}

func validateGates(gates []corev1.PodSchedulingGate, path *field.Path) errorList {
	var errs errorList
	seen := map[string]bool{}
	for i, gate := range gates {
		errs = append(errs, qualifiedName(path.Index(i), gate.Name)...)
		if seen[gate.Name] {
			errs = append(errs, field.Duplicate(path.Index(i), gate.Name))
		}
		seen[gate.Name] = true
	}
	return errs
}

func validateSpread(constraints []corev1.TopologySpreadConstraint, path *field.Path) errorList {
	var errs errorList
	for i, constraint := range constraints {
		at := path.Index(i)
		if constraint.MaxSkew <= 0 {
			errs = append(errs, field.Invalid(at.Child("maxSkew"), constraint.MaxSkew, "must be greater than zero"))
		}
		if constraint.TopologyKey == "" {
			errs = append(errs, field.Required(at.Child("topologyKey"), "can not be empty"))
		}
		errs = append(errs, validateOneOf(at.Child("whenUnsatisfiable"), constraint.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway)...)
		if constraint.LabelSelector != nil {
			errs = append(errs, validateLabelSelector(constraint.LabelSelector, at.Child("labelSelector"))...)
		}
	}
	return errs
}

func validateTolerations(tolerations []corev1.Toleration, path *field.Path) errorList {
	var errs errorList
	for i, toleration := range tolerations {
		at := path.Index(i)
		if toleration.Key != "" {
			errs = append(errs, qualifiedName(at.Child("key"), toleration.Key)...)
		} else if toleration.Operator != corev1.TolerationOpExists {
			errs = append(errs, field.Invalid(at.Child("operator"), toleration.Operator,
				"operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
		}
		if toleration.TolerationSeconds != nil && toleration.Effect != corev1.TaintEffectNoExecute {
			errs = append(errs, field.Invalid(at.Child("effect"), toleration.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
		}
		switch toleration.Operator {
		case corev1.TolerationOpEqual, "":
			if messages := validation.IsValidLabelValue(toleration.Value); len(messages) > 0 {
				errs = append(errs, field.Invalid(at.Child("operator"), toleration.Value, strings.Join(messages, ";")))
			}
		case corev1.TolerationOpExists:
			if toleration.Value != "" {
				errs = append(errs, field.Invalid(at.Child("operator"), toleration.Value, "value must be empty when `operator` is 'Exists'"))
			}
		default:
			errs = append(errs, validateOneOf(at.Child("operator"), toleration.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists)...)
		}
		if toleration.Effect != "" {
			errs = append(errs, validateTaintEffect(at.Child("effect"), toleration.Effect)...)
		}
	}
	return errs
}

func validateTaintEffect(path *field.Path, effect corev1.TaintEffect) errorList {
	return validateOneOf(path, effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
}
