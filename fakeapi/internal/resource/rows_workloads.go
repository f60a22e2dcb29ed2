package resource

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

func appsRows() []row {
	all := []string{"all"}
	return []row{
		{
			stored: appsv1.SchemeGroupVersion, kind: "ControllerRevision", resource: "controllerrevisions", namespaced: true,
			served: controllerRevisionVersions(),
			strategy: strategy{
				validate: checks(validateControllerRevision), validateCreate: checks(validateNewControllerRevision),
				validateUpdate: checksUpdate(validateControllerRevisionUpdate),
			},
		},
		{
			stored: appsv1.SchemeGroupVersion, kind: "DaemonSet", resource: "daemonsets", namespaced: true, served: daemonSetVersions(),
			shortNames: []string{"ds"}, categories: all, subresources: []subresource{checkedStatus(nil, checksUpdate(validateDaemonSetStatus))},
			strategy: strategy{
				generation: []string{"Spec"}, defaults: each(defaultDaemonSet), validate: checks(validateDaemonSet),
				warnings:      templateWarnings(func(w *appsv1.DaemonSet) *corev1.PodTemplateSpec { return &w.Spec.Template }, "spec", "template"),
				prepareCreate: creating(prepareDaemonSet), prepareUpdate: updating(prepareDaemonSetUpdate),
				validateUpdate: checksUpdate(func(set, old *appsv1.DaemonSet) errorList {
					return immutable(set.Spec.Selector, old.Spec.Selector, "spec", "selector")
				}),
			},
		},
		{
			stored: appsv1.SchemeGroupVersion, kind: "Deployment", resource: "deployments", namespaced: true, served: deploymentVersions(),
			shortNames: []string{"deploy"}, categories: all,
			subresources: []subresource{
				scaled(func(d *appsv1.Deployment) (*int32, int32, *metav1.LabelSelector) {
					return d.Spec.Replicas, d.Status.Replicas, d.Spec.Selector
				}, func(d *appsv1.Deployment, replicas int32) { d.Spec.Replicas = &replicas }),
				checkedStatus(updating(func(_ context.Context, d, old *appsv1.Deployment) { d.Labels = old.Labels }),
					checksUpdate(validateDeploymentStatus), fieldpath.MakePathOrDie("metadata", "labels")),
			},
			strategy: strategy{
				// Annotations are copied to replica sets, so that they count as well.
				generation: []string{"Spec", "Annotations"}, defaults: each(defaultDeployment), validate: checks(validateDeployment),
				warnings: withNameWarning(templateWarnings(func(w *appsv1.Deployment) *corev1.PodTemplateSpec { return &w.Spec.Template }, "spec", "template")),
				validateUpdate: checksUpdate(func(d, old *appsv1.Deployment) errorList {
					return immutable(d.Spec.Selector, old.Spec.Selector, "spec", "selector")
				}),
			},
		},
		{
			stored: appsv1.SchemeGroupVersion, kind: "ReplicaSet", resource: "replicasets", namespaced: true, served: replicaSetVersions(),
			shortNames: []string{"rs"}, categories: all,
			subresources: []subresource{
				scaled(func(s *appsv1.ReplicaSet) (*int32, int32, *metav1.LabelSelector) {
					return s.Spec.Replicas, s.Status.Replicas, s.Spec.Selector
				}, func(s *appsv1.ReplicaSet, replicas int32) { s.Spec.Replicas = &replicas }),
				checkedStatus(nil, checksUpdate(validateReplicaSetStatus)),
			},
			strategy: strategy{
				generation: []string{"Spec"}, defaults: each(defaultReplicaSet), validate: checks(validateReplicaSet),
				warnings: withNameWarning(templateWarnings(func(w *appsv1.ReplicaSet) *corev1.PodTemplateSpec { return &w.Spec.Template }, "spec", "template")),
				validateUpdate: checksUpdate(func(s, old *appsv1.ReplicaSet) errorList {
					return immutable(s.Spec.Selector, old.Spec.Selector, "spec", "selector")
				}),
			},
		},
		{
			stored: appsv1.SchemeGroupVersion, kind: "StatefulSet", resource: "statefulsets", namespaced: true, served: statefulSetVersions(),
			shortNames: []string{"sts"}, categories: all,
			subresources: []subresource{
				scaled(func(s *appsv1.StatefulSet) (*int32, int32, *metav1.LabelSelector) {
					return s.Spec.Replicas, s.Status.Replicas, s.Spec.Selector
				}, func(s *appsv1.StatefulSet, replicas int32) { s.Spec.Replicas = &replicas }),
				checkedStatus(nil, checksUpdate(validateStatefulSetStatus)),
			},
			strategy: strategy{
				name: validation.NameIsDNSLabel, generation: []string{"Spec"}, defaults: each(defaultStatefulSet), validate: checks(validateStatefulSet),
				warnings:       templateWarnings(func(w *appsv1.StatefulSet) *corev1.PodTemplateSpec { return &w.Spec.Template }, "spec", "template"),
				validateUpdate: checksUpdate(validateStatefulSetUpdate),
			},
		},
	}
}

func batchRows() []row {
	all := []string{"all"}
	return []row{
		{
			stored: batchv1.SchemeGroupVersion, kind: "CronJob", resource: "cronjobs", namespaced: true,
			shortNames: []string{"cj"}, categories: all, subresources: []subresource{status(nil)},
			strategy: strategy{
				generation: []string{"Spec"}, defaults: each(defaultCronJob), validate: checks(validateCronJob),
				warnings: withNameWarning(templateWarnings(func(job *batchv1.CronJob) *corev1.PodTemplateSpec {
					return &job.Spec.JobTemplate.Spec.Template
				}, "spec", "jobTemplate", "spec", "template")),
			},
		},
		{
			stored: batchv1.SchemeGroupVersion, kind: "Job", resource: "jobs", namespaced: true,
			categories: all, subresources: []subresource{status(nil)},
			strategy: strategy{
				generation: []string{"Spec"}, defaults: each(defaultJob), prepareCreate: creating(prepareJob),
				validate: checks(validateJob), validateCreate: checks(validateNewJob), validateUpdate: checksUpdate(validateJobUpdate),
				warnings: withNameWarning(templateWarnings(func(job *batchv1.Job) *corev1.PodTemplateSpec { return &job.Spec.Template }, "spec", "template")),
				fields:   selects(jobFields), collection: rest.OrphanDependents,
				deleteWarning: "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
			},
		},
	}
}

func autoscalingRows() []row {
	return []row{{
		stored: autoscalingv2.SchemeGroupVersion,
		served: versions(groupVersions(autoscalingv2.SchemeGroupVersion, autoscalingv1.SchemeGroupVersion)),
		kind:   "HorizontalPodAutoscaler", resource: "horizontalpodautoscalers", namespaced: true,
		shortNames: []string{"hpa"}, categories: []string{"all"}, subresources: []subresource{status(nil)},
		strategy: strategy{generation: []string{"Spec"}, defaults: each(defaultAutoscaler), validate: checks(validateAutoscaler)},
	}}
}

func policyRows() []row {
	return []row{{
		stored: policyv1.SchemeGroupVersion, kind: "PodDisruptionBudget", resource: "poddisruptionbudgets", namespaced: true,
		shortNames: []string{"pdb"}, subresources: []subresource{status(nil)},
		strategy: strategy{conditionalUpdate: true, generation: []string{"Spec"}, validate: checks(validateDisruptionBudget)},
	}}
}
