package resource

import (
	"maps"
	"math"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The functions below fill in what versions before apps/v1 meant by fields that are left out, where apps/v1 means
// something else by them or wants them given. apps/v1beta2 differs in nothing.

func defaultExtensionsDeployment(deployment *appsv1.Deployment) {
	spec := &deployment.Spec
	selectByTemplate(&spec.Selector, &deployment.ObjectMeta, spec.Template.Labels)
	orElse(&spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType || spec.Strategy.RollingUpdate != nil {
		orElsePtr(&spec.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		orElsePtr(&spec.Strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		orElsePtr(&spec.Strategy.RollingUpdate.MaxSurge, intstr.FromInt32(1))
	}
	// These stand for no limit, which the version had by leaving them out.
	orElsePtr(&spec.ProgressDeadlineSeconds, math.MaxInt32)
	orElsePtr(&spec.RevisionHistoryLimit, math.MaxInt32)
}

func defaultAppsV1beta1Deployment(deployment *appsv1.Deployment) {
	selectByTemplate(&deployment.Spec.Selector, &deployment.ObjectMeta, deployment.Spec.Template.Labels)
	orElsePtr(&deployment.Spec.RevisionHistoryLimit, 2)
}

func defaultExtensionsReplicaSet(set *appsv1.ReplicaSet) {
	selectByTemplate(&set.Spec.Selector, &set.ObjectMeta, set.Spec.Template.Labels)
}

func defaultExtensionsDaemonSet(set *appsv1.DaemonSet) {
	selectByTemplate(&set.Spec.Selector, &set.ObjectMeta, set.Spec.Template.Labels)
	orElse(&set.Spec.UpdateStrategy.Type, appsv1.OnDeleteDaemonSetStrategyType)
}

func defaultAppsV1beta1StatefulSet(set *appsv1.StatefulSet) {
	selectByTemplate(&set.Spec.Selector, &set.ObjectMeta, set.Spec.Template.Labels)
	orElse(&set.Spec.UpdateStrategy.Type, appsv1.OnDeleteStatefulSetStrategyType)
}

// selectByTemplate takes the labels of the pod template for the selector and for the labels of the object itself.
func selectByTemplate(selector **metav1.LabelSelector, object *metav1.ObjectMeta, template map[string]string) {
	if template == nil {
		return
	}
	if *selector == nil {
		*selector = &metav1.LabelSelector{MatchLabels: maps.Clone(template)}
	}
	if len(object.Labels) == 0 {
		object.Labels = maps.Clone(template)
	}
}
