package printers

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// podRows marks the pods that have ended, so that clients may show them differently.
func podRows(objects []runtime.Object, list bool, now time.Time) []metav1.TableRow {
	rows := each(podCells)(objects, list, now)
	for i, object := range objects {
		message := ""
		switch object.(*corev1.Pod).Status.Phase {
		case corev1.PodSucceeded:
			message = "The pod has completed successfully."
		case corev1.PodFailed:
			message = "The pod failed."
		default:
			continue
		}
		rows[i].Conditions = []metav1.TableRowCondition{{
			Type: metav1.RowCompleted, Status: metav1.ConditionTrue,
			Reason: string(object.(*corev1.Pod).Status.Phase), Message: message,
		}}
	}
	return rows
}

func podCells(pod *corev1.Pod, now time.Time) []any {
	s := summarize(pod)
	restarts := strconv.Itoa(s.restarts)
	if s.restarts > 0 && !s.restarted.IsZero() {
		restarts += fmt.Sprintf(" (%s ago)", since(s.restarted, now))
	}
	address := ""
	if len(pod.Status.PodIPs) > 0 {
		address = pod.Status.PodIPs[0].IP
	}
	return []any{
		pod.Name, fmt.Sprintf("%d/%d", s.ready, s.containers), s.status, restarts, age(pod, now),
		or(address, none), or(pod.Spec.NodeName, none), or(pod.Status.NominatedNodeName, none), readinessGates(pod),
	}
}

func readinessGates(pod *corev1.Pod) string {
	if len(pod.Spec.ReadinessGates) == 0 {
		return none
	}
	passed := 0
	for _, gate := range pod.Spec.ReadinessGates {
		if podCondition(pod, gate.ConditionType) {
			passed++
		}
	}
	return fmt.Sprintf("%d/%d", passed, len(pod.Spec.ReadinessGates))
}

// podCondition tells whether the pod has a condition that is true.
func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	return i >= 0 && pod.Status.Conditions[i].Status == corev1.ConditionTrue
}

// podSummary is what a pod's containers come to.
type podSummary struct {
	containers, ready int
	restarts          int
	// restarted is when a container last ended to be started again.
	restarted metav1.Time
	status    string
}

func (s *podSummary) countRestarts(container corev1.ContainerStatus) {
	s.restarts += int(container.RestartCount)
	if ended := container.LastTerminationState.Terminated; ended != nil && s.restarted.Before(&ended.FinishedAt) {
		s.restarted = ended.FinishedAt
	}
}

func summarize(pod *corev1.Pod) podSummary {
	s := podSummary{containers: len(pod.Spec.Containers), status: or(pod.Status.Reason, string(pod.Status.Phase))}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonSchedulingGated {
			s.status = corev1.PodReasonSchedulingGated
		}
	}
	// Sidecars are containers that start before the others and go on beside them.
	sidecars := map[string]bool{}
	for _, container := range pod.Spec.InitContainers {
		if container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecars[container.Name] = true
			s.containers++
		}
	}
	initialized := s.addInitContainers(pod, sidecars)
	if initialized || podCondition(pod, corev1.PodInitialized) {
		// From now on the restarts of containers that have done their work are of no interest.
		s.restarts, s.restarted = 0, metav1.Time{}
		for _, container := range pod.Status.InitContainerStatuses {
			if sidecars[container.Name] {
				s.countRestarts(container)
			}
			if !done(container, sidecars) {
				break
			}
		}
		s.addContainers(pod)
	}
	if pod.DeletionTimestamp != nil {
		switch {
		case pod.Status.Reason == "NodeLost":
			s.status = "Unknown"
		case pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed:
			s.status = "Terminating"
		}
	}
	return s
}

// done tells whether an init container lets the next one start.
func done(container corev1.ContainerStatus, sidecars map[string]bool) bool {
	return succeeded(container) || sidecars[container.Name] && container.Started != nil && *container.Started
}

func succeeded(container corev1.ContainerStatus) bool {
	return container.State.Terminated != nil && container.State.Terminated.ExitCode == 0
}

// addInitContainers goes through the init containers up to the first that is not done, and tells whether there is none.
func (s *podSummary) addInitContainers(pod *corev1.Pod, sidecars map[string]bool) bool {
	for i, container := range pod.Status.InitContainerStatuses {
		s.countRestarts(container)
		if done(container, sidecars) {
			if container.Ready && !succeeded(container) {
				s.ready++
			}
			continue
		}
		waiting := container.State.Waiting
		switch {
		case container.State.Terminated != nil:
			s.status = "Init:" + endOf(container.State.Terminated)
		case waiting != nil && waiting.Reason != "" && waiting.Reason != "PodInitializing":
			s.status = "Init:" + waiting.Reason
		default:
			s.status = fmt.Sprintf("Init:%d/%d", i, len(pod.Spec.InitContainers))
		}
		return false
	}
	return true
}

// addContainers goes through the containers; what the first of them has to tell stands in the end.
func (s *podSummary) addContainers(pod *corev1.Pod) {
	running, failure := false, ""
	for _, container := range slices.Backward(pod.Status.ContainerStatuses) {
		s.countRestarts(container)
		switch {
		case container.State.Waiting != nil && container.State.Waiting.Reason != "":
			s.status = container.State.Waiting.Reason
		case container.State.Terminated != nil:
			s.status = endOf(container.State.Terminated)
			if container.State.Terminated.ExitCode != 0 {
				failure = s.status
			}
		case container.Ready && container.State.Running != nil:
			running = true
			s.ready++
		}
	}
	if s.status != "Completed" {
		return
	}
	switch {
	case running && podCondition(pod, corev1.PodReady):
		s.status = "Running"
	case failure != "":
		s.status = failure
	case running:
		s.status = "NotReady"
	}
}

// endOf says how a container ended.
func endOf(state *corev1.ContainerStateTerminated) string {
	switch {
	case state.Reason != "":
		return state.Reason
	case state.Signal != 0:
		return fmt.Sprintf("Signal:%d", state.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", state.ExitCode)
}

func podTemplateCells(template *corev1.PodTemplate, _ time.Time) []any {
	names, images := containers(template.Template.Spec)
	return []any{template.Name, names, images, labels.FormatLabels(template.Template.Labels)}
}
