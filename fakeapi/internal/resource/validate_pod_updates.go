package resource

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

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
			break
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
