package resource

import (
	"context"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// gracefulPod says how long a pod that is deleted has to end: no time at all when it never ran.
func gracefulPod(object runtime.Object, options *metav1.DeleteOptions) bool {
	pod := object.(*corev1.Pod)
	var period int64
	switch {
	case pod.Spec.NodeName == "", pod.Status.Phase == corev1.PodFailed, pod.Status.Phase == corev1.PodSucceeded:
	case options.GracePeriodSeconds != nil:
		period = *options.GracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		period = *pod.Spec.TerminationGracePeriodSeconds
	}
	if period < 0 {
		period = 1
	}
	options.GracePeriodSeconds = &period
	return true
}

// preparePod sets a new pod's status.
func preparePod(pod *corev1.Pod, now metav1.Time) {
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: podQOS(pod)}
	if len(pod.Spec.SchedulingGates) > 0 {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
			Message: "Scheduling is blocked due to non-empty scheduling gates", LastTransitionTime: now,
		}}
	}
}

// preparePodStatus keeps what the pods/status endpoint does not change.
func preparePodStatus(_ context.Context, pod, old *corev1.Pod) {
	pod.DeletionTimestamp = nil
	pod.OwnerReferences = old.OwnerReferences
	if pod.Status.QOSClass == "" {
		pod.Status.QOSClass = old.Status.QOSClass
	}
}

// preparePodEphemeral keeps all but the ephemeral containers.
func preparePodEphemeral(ctx context.Context, pod, old *corev1.Pod) {
	containers := pod.Spec.EphemeralContainers
	pod.Spec, pod.Status = old.Spec, old.Status
	keepingMetadata(ctx, pod, old)
	pod.Spec.EphemeralContainers = containers
	countPodGeneration(pod, old)
}

// preparePodResize keeps all but the containers' resources and resize policies.
func preparePodResize(ctx context.Context, pod, old *corev1.Pod) {
	spec := *old.Spec.DeepCopy()
	if len(pod.Spec.Containers) == len(spec.Containers) && len(pod.Spec.InitContainers) == len(spec.InitContainers) {
		takeResources(spec.Containers, pod.Spec.Containers)
		takeResources(spec.InitContainers, pod.Spec.InitContainers)
		spec.Resources = pod.Spec.Resources
		pod.Spec, pod.Status = spec, old.Status
		keepingMetadata(ctx, pod, old)
	}
	countPodGeneration(pod, old)
}

func takeResources(into, from []corev1.Container) {
	for i := range into {
		if into[i].Name == from[i].Name {
			into[i].Resources, into[i].ResizePolicy = from[i].Resources, from[i].ResizePolicy
		}
	}
}

func countPodGeneration(pod, old *corev1.Pod) {
	if !reflect.DeepEqual(pod.Spec, old.Spec) {
		pod.Generation++
	}
}

// podQOS is the pod's quality of service class: that of the pod as a whole, if it has resources, else what its containers
// have in common.
func podQOS(pod *corev1.Pod) corev1.PodQOSClass {
	if all := pod.Spec.Resources; all != nil && len(all.Requests)+len(all.Limits) > 0 {
		return qosOf(all)
	}
	var class corev1.PodQOSClass
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		switch of := qosOf(&container.Resources); class {
		case "", of:
			class = of
		default:
			return corev1.PodQOSBurstable
		}
	}
	return class
}

// qosOf is the class of one container. It is guaranteed what it requests when it has limits and requests no less.
func qosOf(resources *corev1.ResourceRequirements) corev1.PodQOSClass {
	guaranteed, any := true, false
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		limit, hasLimit := resources.Limits[name]
		request, hasRequest := resources.Requests[name]
		hasLimit, hasRequest = hasLimit && !limit.IsZero(), hasRequest && !request.IsZero()
		any = any || hasLimit || hasRequest
		guaranteed = guaranteed && hasLimit && (!hasRequest || limit.Cmp(request) == 0)
	}
	switch {
	case !any:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// setPodCondition adds or changes a condition.
func setPodCondition(pod *corev1.Pod, condition corev1.PodCondition, now metav1.Time) {
	condition.LastTransitionTime = now
	condition.ObservedGeneration = 0
	at := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == condition.Type })
	if at < 0 {
		pod.Status.Conditions = append(pod.Status.Conditions, condition)
		return
	}
	if old := pod.Status.Conditions[at]; old.Status == condition.Status {
		condition.LastTransitionTime = old.LastTransitionTime
	}
	pod.Status.Conditions[at] = condition
}
