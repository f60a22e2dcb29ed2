package resource

import (
	"math"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

func defaultDeployment(deployment *appsv1.Deployment) {
	spec := &deployment.Spec
	orElsePtr(&spec.Replicas, 1)
	orElsePtr(&spec.RevisionHistoryLimit, 10)
	orElsePtr(&spec.ProgressDeadlineSeconds, 600)
	orElse(&spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		orElsePtr(&spec.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		orElsePtr(&spec.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		orElsePtr(&spec.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	defaultPodTemplate(&spec.Template)
}

func defaultReplicaSet(set *appsv1.ReplicaSet) {
	orElsePtr(&set.Spec.Replicas, 1)
	defaultPodTemplate(&set.Spec.Template)
}

func defaultStatefulSet(set *appsv1.StatefulSet) {
	spec := &set.Spec
	orElsePtr(&spec.Replicas, 1)
	orElsePtr(&spec.RevisionHistoryLimit, 10)
	orElse(&spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
	if spec.UpdateStrategy.Type == "" {
		spec.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		orElsePtr(&spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
	}
	if rolling := spec.UpdateStrategy.RollingUpdate; rolling != nil {
		orElsePtr(&rolling.Partition, 0)
		if spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType {
			orElsePtr(&rolling.MaxUnavailable, intstr.FromInt32(1))
		}
	}
	orElsePtr(&spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	orElse(&spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	orElse(&spec.PersistentVolumeClaimRetentionPolicy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	defaultPodTemplate(&spec.Template)
	for i := range spec.VolumeClaimTemplates {
		template := &spec.VolumeClaimTemplates[i]
		defaultClaim(template)
		orElse(&template.Kind, "PersistentVolumeClaim")
		orElse(&template.APIVersion, "v1")
	}
}

func defaultDaemonSet(set *appsv1.DaemonSet) {
	spec := &set.Spec
	orElsePtr(&spec.RevisionHistoryLimit, 10)
	orElse(&spec.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	if spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		orElsePtr(&spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
		orElsePtr(&spec.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		orElsePtr(&spec.UpdateStrategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
	if rolling := spec.UpdateStrategy.RollingUpdate; rolling != nil { // of another strategy, where it does not matter
		orElsePtr(&rolling.MaxUnavailable, intstr.FromInt32(0))
		orElsePtr(&rolling.MaxSurge, intstr.FromInt32(0))
	}
	defaultPodTemplate(&spec.Template)
	// The number of templates so far is shown in an annotation; until the set is created it is 0.
	if _, err := strconv.Atoi(set.Annotations[appsv1.DeprecatedTemplateGeneration]); err != nil {
		setTemplateGeneration(set, 0)
	}
}

func defaultReplicationController(controller *corev1.ReplicationController) {
	orElsePtr(&controller.Spec.Replicas, 1)
	template := controller.Spec.Template
	if template == nil {
		return
	}
	if template.Labels != nil && len(controller.Spec.Selector) == 0 {
		controller.Spec.Selector = template.Labels
	}
	if template.Labels != nil && len(controller.Labels) == 0 {
		controller.Labels = template.Labels
	}
	defaultPodTemplate(template)
}

func defaultJob(job *batchv1.Job) {
	if labels := job.Spec.Template.Labels; labels != nil && len(job.Labels) == 0 {
		job.Labels = labels
	}
	defaultJobSpec(&job.Spec)
}

func defaultJobSpec(spec *batchv1.JobSpec) {
	if spec.Completions == nil && spec.Parallelism == nil {
		spec.Completions = ptr.To[int32](1)
	}
	orElsePtr(&spec.Parallelism, 1)
	if spec.BackoffLimitPerIndex != nil {
		orElsePtr(&spec.BackoffLimit, math.MaxInt32)
	}
	orElsePtr(&spec.BackoffLimit, 6)
	orElsePtr(&spec.CompletionMode, batchv1.NonIndexedCompletion)
	orElsePtr(&spec.Suspend, false)
	orElsePtr(&spec.ManualSelector, false)
	if policy := spec.PodFailurePolicy; policy != nil {
		orElsePtr(&spec.PodReplacementPolicy, batchv1.Failed)
		defaultFailurePolicy(policy)
	}
	orElsePtr(&spec.PodReplacementPolicy, batchv1.TerminatingOrFailed)
	defaultPodTemplate(&spec.Template)
}

func defaultCronJob(job *batchv1.CronJob) {
	spec := &job.Spec
	orElse(&spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
	orElsePtr(&spec.Suspend, false)
	orElsePtr(&spec.SuccessfulJobsHistoryLimit, 3)
	orElsePtr(&spec.FailedJobsHistoryLimit, 1)
	// A job template gets the defaults of its pods and of lists only; the rest comes with each job.
	defaultPodTemplate(&spec.JobTemplate.Spec.Template)
	if policy := spec.JobTemplate.Spec.PodFailurePolicy; policy != nil {
		defaultFailurePolicy(policy)
	}
}

func defaultFailurePolicy(policy *batchv1.PodFailurePolicy) {
	for i := range policy.Rules {
		for j := range policy.Rules[i].OnPodConditions {
			orElse(&policy.Rules[i].OnPodConditions[j].Status, corev1.ConditionTrue)
		}
	}
}

func defaultAutoscalerV1(autoscaler *autoscalingv1.HorizontalPodAutoscaler) {
	orElsePtr(&autoscaler.Spec.MinReplicas, 1)
	if _, others := autoscaler.Annotations[metricsAnnotation]; !others {
		orElsePtr(&autoscaler.Spec.TargetCPUUtilizationPercentage, defaultUtilization)
	}
}

// defaultUtilization is the percentage of the requested CPU time that a HorizontalPodAutoscaler aims at when it does
// not say.
const defaultUtilization int32 = 80

func defaultAutoscaler(autoscaler *autoscalingv2.HorizontalPodAutoscaler) {
	spec := &autoscaler.Spec
	orElsePtr(&spec.MinReplicas, 1)
	if len(spec.Metrics) == 0 {
		spec.Metrics = []autoscalingv2.MetricSpec{{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{
				Name:   corev1.ResourceCPU,
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To(defaultUtilization)},
			},
		}}
	}
	if behavior := spec.Behavior; behavior != nil {
		behavior.ScaleUp = withScalingRules(behavior.ScaleUp, ptr.To[int32](0),
			autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 15},
			autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15})
		behavior.ScaleDown = withScalingRules(behavior.ScaleDown, nil,
			autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15})
	}
}

func withScalingRules(rules *autoscalingv2.HPAScalingRules, window *int32, policies ...autoscalingv2.HPAScalingPolicy) *autoscalingv2.HPAScalingRules {
	if rules == nil {
		rules = &autoscalingv2.HPAScalingRules{}
	}
	orElsePtr(&rules.SelectPolicy, autoscalingv2.MaxChangePolicySelect)
	if rules.StabilizationWindowSeconds == nil {
		rules.StabilizationWindowSeconds = window
	}
	if len(rules.Policies) == 0 {
		rules.Policies = policies
	}
	return rules
}
