package resource

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validatePod(pod *corev1.Pod) errorList {
	return validatePodSpec(&pod.Spec, field.NewPath("spec"))
}

func validatePodSpec(spec *corev1.PodSpec, path *field.Path) errorList {
	var errs errorList
	if len(spec.Containers) == 0 {
		errs = append(errs, field.Required(path.Child("containers"), ""))
	}
	volumes, names := map[string]bool{}, map[string]bool{}
	for i, volume := range spec.Volumes {
		at := path.Child("volumes").Index(i).Child("name")
		switch {
		case volume.Name == "":
			errs = append(errs, field.Required(at, ""))
		case volumes[volume.Name]:
			errs = append(errs, field.Duplicate(at, volume.Name))
		}
		volumes[volume.Name] = true
	}
	for i := range spec.InitContainers {
		errs = append(errs, validateContainer(&spec.InitContainers[i], names, volumes, path.Child("initContainers").Index(i))...)
	}
	for i := range spec.Containers {
		errs = append(errs, validateContainer(&spec.Containers[i], names, volumes, path.Child("containers").Index(i))...)
	}
	policies := []corev1.RestartPolicy{corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}
	errs = append(errs, validateOneOf(path.Child("restartPolicy"), spec.RestartPolicy, policies)...)
	dns := []corev1.DNSPolicy{corev1.DNSClusterFirst, corev1.DNSClusterFirstWithHostNet, corev1.DNSDefault, corev1.DNSNone}
	return append(errs, validateOneOf(path.Child("dnsPolicy"), spec.DNSPolicy, dns)...)
}

func validateContainer(container *corev1.Container, names, volumes map[string]bool, path *field.Path) errorList {
	var errs errorList
	switch messages := validation.IsDNS1123Label(container.Name); {
	case container.Name == "":
		errs = append(errs, field.Required(path.Child("name"), ""))
	case len(messages) > 0:
		errs = append(errs, field.Invalid(path.Child("name"), container.Name, strings.Join(messages, ", ")))
	case names[container.Name]:
		errs = append(errs, field.Duplicate(path.Child("name"), container.Name))
	}
	names[container.Name] = true
	switch {
	case container.Image == "":
		errs = append(errs, field.Required(path.Child("image"), ""))
	case strings.TrimSpace(container.Image) != container.Image:
		errs = append(errs, field.Invalid(path.Child("image"), container.Image, "must not have leading or trailing whitespace"))
	}
	pulls := []corev1.PullPolicy{corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever}
	errs = append(errs, validateOneOf(path.Child("imagePullPolicy"), container.ImagePullPolicy, pulls)...)
	for i, port := range container.Ports {
		at := path.Child("ports").Index(i).Child("containerPort")
		if port.ContainerPort == 0 {
			errs = append(errs, field.Required(at, ""))
			continue
		}
		for _, message := range validation.IsValidPortNum(int(port.ContainerPort)) {
			errs = append(errs, field.Invalid(at, port.ContainerPort, message))
		}
	}
	for i, variable := range container.Env {
		if variable.Name == "" {
			errs = append(errs, field.Required(path.Child("env").Index(i).Child("name"), ""))
		}
	}
	for i, mount := range container.VolumeMounts {
		at := path.Child("volumeMounts").Index(i)
		if !volumes[mount.Name] {
			errs = append(errs, field.NotFound(at.Child("name"), mount.Name))
		}
		if mount.MountPath == "" {
			errs = append(errs, field.Required(at.Child("mountPath"), ""))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(container.Resources.Requests)) {
		request := container.Resources.Requests[name]
		if limit, ok := container.Resources.Limits[name]; ok && request.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(path.Child("resources", "requests"), request.String(),
				fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String())))
		}
	}
	return errs
}

// validatePodUpdate lets an update change images, deadlines, scheduling gates and tolerations, and nothing else of the
// spec.
func validatePodUpdate(pod, old *corev1.Pod) errorList {
	path := field.NewPath("spec")
	if len(pod.Spec.Containers) != len(old.Spec.Containers) {
		return errorList{field.Forbidden(path.Child("containers"), "pod updates may not add or remove containers")}
	}
	if len(pod.Spec.InitContainers) != len(old.Spec.InitContainers) {
		return errorList{field.Forbidden(path.Child("initContainers"), "pod updates may not add or remove containers")}
	}
	var errs errorList
	for _, toleration := range old.Spec.Tolerations {
		kept := slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return t.MatchToleration(&toleration) })
		if !kept {
			errs = append(errs, field.Forbidden(path.Child("tolerations"), "existing toleration can not be modified except its tolerationSeconds"))
		}
	}
	for i, gate := range pod.Spec.SchedulingGates {
		if !slices.Contains(old.Spec.SchedulingGates, gate) {
			errs = append(errs, field.Forbidden(path.Child("schedulingGates").Index(i).Child("name"), "only deletion is allowed, but found new scheduling gate '"+gate.Name+"'"))
		}
	}
	spec := pod.Spec.DeepCopy()
	for i := range spec.Containers {
		spec.Containers[i].Image = old.Spec.Containers[i].Image
	}
	for i := range spec.InitContainers {
		spec.InitContainers[i].Image = old.Spec.InitContainers[i].Image
	}
	spec.ActiveDeadlineSeconds = old.Spec.ActiveDeadlineSeconds
	spec.SchedulingGates = old.Spec.SchedulingGates
	spec.Tolerations = old.Spec.Tolerations
	if len(old.Spec.SchedulingGates) > 0 {
		spec.NodeSelector = old.Spec.NodeSelector
		spec.Affinity = old.Spec.Affinity
	}
	if !equality.Semantic.DeepEqual(*spec, old.Spec) {
		errs = append(errs, field.Forbidden(path, "pod updates may not change fields other than `spec.containers[*].image`,"+
			"`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"+
			"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"))
	}
	return errs
}

func validateEphemeralContainers(pod, old *corev1.Pod) errorList {
	var errs errorList
	path := field.NewPath("spec", "ephemeralContainers")
	names := map[string]bool{}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		names[container.Name] = true
	}
	for i, container := range pod.Spec.EphemeralContainers {
		switch {
		case container.Name == "":
			errs = append(errs, field.Required(path.Index(i).Child("name"), ""))
		case names[container.Name]:
			errs = append(errs, field.Duplicate(path.Index(i).Child("name"), container.Name))
		}
		names[container.Name] = true
		if container.Image == "" {
			errs = append(errs, field.Required(path.Index(i).Child("image"), ""))
		}
	}
	for _, container := range old.Spec.EphemeralContainers {
		at := slices.IndexFunc(pod.Spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool { return c.Name == container.Name })
		switch {
		case at < 0:
			errs = append(errs, field.Forbidden(path, fmt.Sprintf("existing ephemeral containers %q may not be removed\n", container.Name)))
		case !equality.Semantic.DeepEqual(pod.Spec.EphemeralContainers[at], container):
			errs = append(errs, field.Forbidden(path, fmt.Sprintf("existing ephemeral containers %q may not be changed\n", container.Name)))
		}
	}
	return errs
}

func validatePodResize(pod, old *corev1.Pod) errorList {
	path := field.NewPath("spec")
	if len(pod.Spec.Containers) != len(old.Spec.Containers) || len(pod.Spec.InitContainers) != len(old.Spec.InitContainers) {
		return errorList{field.Forbidden(path, "containers may not be added, removed or renamed")}
	}
	errs := validatePodSpec(&pod.Spec, path)
	if class := podQOS(old); podQOS(pod) != class {
		errs = append(errs, field.Invalid(path, class, "Pod QOS Class may not change as a result of resizing"))
	}
	return errs
}

func validateReplicationController(controller *corev1.ReplicationController) errorList {
	path := field.NewPath("spec")
	if len(controller.Spec.Selector) == 0 {
		return errorList{field.Required(path.Child("selector"), "")}
	}
	if controller.Spec.Template == nil {
		return errorList{field.Required(path.Child("template"), "")}
	}
	return validateTemplate(controller.Spec.Template, &metav1.LabelSelector{MatchLabels: controller.Spec.Selector}, path)
}

func validateDeployment(deployment *appsv1.Deployment) errorList {
	return validateWorkload("deployment", deployment.Spec.Replicas, deployment.Spec.Selector, &deployment.Spec.Template)
}

func validateReplicaSet(set *appsv1.ReplicaSet) errorList {
	return validateWorkload("deployment", set.Spec.Replicas, set.Spec.Selector, &set.Spec.Template)
}

func validateStatefulSet(set *appsv1.StatefulSet) errorList {
	return validateWorkload("statefulset", set.Spec.Replicas, set.Spec.Selector, &set.Spec.Template)
}

func validateDaemonSet(set *appsv1.DaemonSet) errorList {
	return validateWorkload("daemonset", nil, set.Spec.Selector, &set.Spec.Template)
}

// validateWorkload checks what the kinds that run equal pods have in common.
func validateWorkload(kind string, replicas *int32, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec) errorList {
	var errs errorList
	path := field.NewPath("spec")
	if replicas != nil && *replicas < 0 {
		errs = append(errs, field.Invalid(path.Child("replicas"), *replicas, "must be greater than or equal to 0"))
	}
	switch {
	case selector == nil:
		errs = append(errs, field.Required(path.Child("selector"), ""))
	default:
		errs = append(errs, validateLabelSelector(selector, path.Child("selector"))...)
		if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
			errs = append(errs, field.Invalid(path.Child("selector"), selector, "empty selector is invalid for "+kind))
		}
	}
	return append(errs, validateTemplate(template, selector, path)...)
}

func validateTemplate(template *corev1.PodTemplateSpec, selector *metav1.LabelSelector, path *field.Path) errorList {
	var errs errorList
	at := path.Child("template")
	if parsed, err := metav1.LabelSelectorAsSelector(selector); err == nil && !parsed.Empty() && !parsed.Matches(labels.Set(template.Labels)) {
		errs = append(errs, field.Invalid(at.Child("metadata", "labels"), template.Labels, "`selector` does not match template `labels`"))
	}
	errs = append(errs, validatePodSpec(&template.Spec, at.Child("spec"))...)
	if policy := template.Spec.RestartPolicy; policy == corev1.RestartPolicyNever || policy == corev1.RestartPolicyOnFailure {
		errs = append(errs, field.NotSupported(at.Child("spec", "restartPolicy"), policy, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	return errs
}

func validateStatefulSetUpdate(set, old *appsv1.StatefulSet) errorList {
	return slices.Concat(
		immutable(set.Spec.Selector, old.Spec.Selector, "spec", "selector"),
		immutable(set.Spec.VolumeClaimTemplates, old.Spec.VolumeClaimTemplates, "spec", "volumeClaimTemplates"),
		immutable(set.Spec.ServiceName, old.Spec.ServiceName, "spec", "serviceName"),
		immutable(set.Spec.PodManagementPolicy, old.Spec.PodManagementPolicy, "spec", "podManagementPolicy"),
	)
}

func validateControllerRevisionUpdate(revision, old *appsv1.ControllerRevision) errorList {
	return immutable(revision.Data, old.Data, "data")
}

func validateJob(job *batchv1.Job) errorList {
	return validateJobSpec(&job.Spec, field.NewPath("spec"))
}

func validateJobSpec(spec *batchv1.JobSpec, path *field.Path) errorList {
	var errs errorList
	for _, count := range []struct {
		name  string
		value *int32
	}{{"parallelism", spec.Parallelism}, {"completions", spec.Completions}, {"backoffLimit", spec.BackoffLimit}} {
		if count.value != nil && *count.value < 0 {
			errs = append(errs, field.Invalid(path.Child(count.name), *count.value, "must be greater than or equal to 0"))
		}
	}
	at := path.Child("template", "spec")
	errs = append(errs, validatePodSpec(&spec.Template.Spec, at)...)
	if spec.Template.Spec.RestartPolicy == corev1.RestartPolicyAlways {
		errs = append(errs, field.Required(at.Child("restartPolicy"), `valid values: "OnFailure", "Never"`))
	}
	return errs
}

func validateJobUpdate(job, old *batchv1.Job) errorList {
	var errs errorList
	errs = append(errs, immutable(job.Spec.Selector, old.Spec.Selector, "spec", "selector")...)
	errs = append(errs, immutable(job.Spec.CompletionMode, old.Spec.CompletionMode, "spec", "completionMode")...)
	if suspended := old.Spec.Suspend != nil && *old.Spec.Suspend; !suspended {
		errs = append(errs, immutable(job.Spec.Template, old.Spec.Template, "spec", "template")...)
	}
	return errs
}

func validateCronJob(job *batchv1.CronJob) errorList {
	var errs errorList
	path := field.NewPath("spec")
	if job.Spec.Schedule == "" {
		errs = append(errs, field.Required(path.Child("schedule"), ""))
	}
	if len(job.Name) > validation.DNS1123LabelMaxLength-11 {
		errs = append(errs, field.Invalid(field.NewPath("metadata").Child("name"), job.Name, "must be no more than 52 characters"))
	}
	return append(errs, validateJobSpec(&job.Spec.JobTemplate.Spec, path.Child("jobTemplate", "spec"))...)
}

func validateAutoscaler(autoscaler *autoscalingv2.HorizontalPodAutoscaler) errorList {
	var errs errorList
	path := field.NewPath("spec")
	if lowest := autoscaler.Spec.MinReplicas; lowest != nil && *lowest < 1 {
		errs = append(errs, field.Invalid(path.Child("minReplicas"), *lowest, "must be greater than or equal to 1"))
	}
	if lowest := autoscaler.Spec.MinReplicas; lowest != nil && autoscaler.Spec.MaxReplicas < *lowest {
		errs = append(errs, field.Invalid(path.Child("maxReplicas"), autoscaler.Spec.MaxReplicas, "must be greater than or equal to `minReplicas`"))
	}
	if autoscaler.Spec.MaxReplicas == 0 {
		errs = append(errs, field.Required(path.Child("maxReplicas"), ""))
	}
	target := path.Child("scaleTargetRef")
	if autoscaler.Spec.ScaleTargetRef.Kind == "" {
		errs = append(errs, field.Required(target.Child("kind"), ""))
	}
	if autoscaler.Spec.ScaleTargetRef.Name == "" {
		errs = append(errs, field.Required(target.Child("name"), ""))
	}
	return errs
}

func validateDisruptionBudget(budget *policyv1.PodDisruptionBudget) errorList {
	var errs errorList
	path := field.NewPath("spec")
	if budget.Spec.MinAvailable != nil && budget.Spec.MaxUnavailable != nil {
		errs = append(errs, field.Invalid(path, budget.Spec, "minAvailable and maxUnavailable cannot be both set"))
	}
	if budget.Spec.Selector != nil {
		errs = append(errs, validateLabelSelector(budget.Spec.Selector, path.Child("selector"))...)
	}
	return errs
}
