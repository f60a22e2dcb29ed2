package resource

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// count is a number of a status.
type count struct {
	name  string
	value int64
}

func counted[T ~int32 | ~int64](name string, value T) count { return count{name, int64(value)} }

// countsOf checks that numbers of a status are none below 0.
func countsOf(counts ...count) errorList {
	var errs errorList
	for _, c := range counts {
		errs = append(errs, nonNegative(field.NewPath("status", c.name), c.value)...)
	}
	return errs
}

// partsOf checks that there are not more of some pods than of all.
func partsOf(all int32, whole string, parts ...count) errorList {
	var errs errorList
	for _, part := range parts {
		if part.value > int64(all) {
			errs = append(errs, field.Invalid(field.NewPath("status", part.name), part.value, "cannot be greater than "+whole))
		}
	}
	return errs
}

const allReplicas = "status.replicas"

// notDecremented lets a count of collisions grow only.
func notDecremented(value, old *int32) errorList {
	if old == nil || value != nil && *value >= *old {
		return nil
	}
	var now int32
	if value != nil {
		now = *value
	}
	return errorList{field.Invalid(field.NewPath("status", "collisionCount"), now, "cannot be decremented")}
}

func validateDeploymentStatus(deployment, old *appsv1.Deployment) errorList {
	s := &deployment.Status
	of := []count{
		counted("updatedReplicas", s.UpdatedReplicas), counted("readyReplicas", s.ReadyReplicas), counted("availableReplicas", s.AvailableReplicas),
	}
	return slices.Concat(
		countsOf(counted("observedGeneration", s.ObservedGeneration), counted("replicas", s.Replicas)), countsOf(of...),
		countsOf(counted("unavailableReplicas", s.UnavailableReplicas)),
		partsOf(s.Replicas, allReplicas, of...), partsOf(s.ReadyReplicas, "readyReplicas", of[2]),
		notDecremented(s.CollisionCount, old.Status.CollisionCount),
	)
}

func validateReplicaSetStatus(set, _ *appsv1.ReplicaSet) errorList {
	s := &set.Status
	return validateReplicas(s.Replicas, s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas, s.ObservedGeneration)
}

func validateReplicationControllerStatus(controller, _ *corev1.ReplicationController) errorList {
	s := &controller.Status
	return validateReplicas(s.Replicas, s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas, s.ObservedGeneration)
}

func validateReplicas(all, labeled, ready, available int32, observed int64) errorList {
	of := []count{counted("fullyLabeledReplicas", labeled), counted("readyReplicas", ready), counted("availableReplicas", available)}
	return slices.Concat(
		countsOf(counted("replicas", all)), countsOf(of...), countsOf(counted("observedGeneration", observed)),
		partsOf(all, allReplicas, of...), partsOf(ready, "readyReplicas", of[2]),
	)
}

func validateStatefulSetStatus(set, old *appsv1.StatefulSet) errorList {
	s := &set.Status
	of := []count{
		counted("readyReplicas", s.ReadyReplicas), counted("currentReplicas", s.CurrentReplicas),
		counted("updatedReplicas", s.UpdatedReplicas), counted("availableReplicas", s.AvailableReplicas),
	}
	return slices.Concat(
		countsOf(counted("replicas", s.Replicas)), countsOf(of...), countsOf(counted("observedGeneration", s.ObservedGeneration)),
		partsOf(s.Replicas, allReplicas, of...), partsOf(s.ReadyReplicas, "status.readyReplicas", of[3]),
		notDecremented(s.CollisionCount, old.Status.CollisionCount),
	)
}

func validateDaemonSetStatus(set, old *appsv1.DaemonSet) errorList {
	s := &set.Status
	return append(countsOf(
		counted("currentNumberScheduled", s.CurrentNumberScheduled), counted("numberMisscheduled", s.NumberMisscheduled),
		counted("desiredNumberScheduled", s.DesiredNumberScheduled), counted("numberReady", s.NumberReady),
		counted("observedGeneration", s.ObservedGeneration), counted("updatedNumberScheduled", s.UpdatedNumberScheduled),
		counted("numberAvailable", s.NumberAvailable), counted("numberUnavailable", s.NumberUnavailable),
	), notDecremented(s.CollisionCount, old.Status.CollisionCount)...)
}

func validatePodStatus(pod, old *corev1.Pod) errorList {
	path := field.NewPath("status")
	var errs errorList
	if name := pod.Status.NominatedNodeName; name != "" {
		errs = append(errs, dnsSubdomain(path.Child("nominatedNodeName"), name)...)
	}
	errs = append(errs, immutable(pod.Status.QOSClass, old.Status.QOSClass, "status", "qosClass")...)
	for i, address := range pod.Status.PodIPs {
		errs = append(errs, validateAddress(path.Child("podIPs").Index(i), address.IP)...)
	}
	return errs
}
