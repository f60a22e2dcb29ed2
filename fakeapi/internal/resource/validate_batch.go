package resource

import (
	"fmt"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

func validateJob(job *batchv1.Job) errorList {
	spec, path := &job.Spec, field.NewPath("spec")
	errs := validateJobSpec(spec, path)
	if spec.Selector == nil {
		errs = append(errs, field.Required(path.Child("selector"), ""))
	} else {
		errs = append(errs, validateLabelSelector(spec.Selector, path.Child("selector"))...)
	}
	return append(errs, validateSelection(&spec.Template, spec.Selector, path.Child("template"))...)
}

// validateNewJob refuses a selector that the client made, unless it says that it does.
func validateNewJob(job *batchv1.Job) errorList {
	selector := job.Spec.Selector
	generated := &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: string(job.UID)}}
	if ptr.Deref(job.Spec.ManualSelector, false) || selector == nil || equality.Semantic.DeepEqual(selector, generated) {
		return nil
	}
	return errorList{field.Invalid(field.NewPath("spec", "selector"), selector, "`selector` not auto-generated")}
}

func validateJobSpec(spec *batchv1.JobSpec, path *field.Path) errorList {
	var errs errorList
	errs = append(errs, optionalNonNegative(path.Child("parallelism"), spec.Parallelism)...)
	errs = append(errs, optionalNonNegative(path.Child("completions"), spec.Completions)...)
	errs = append(errs, optionalNonNegative(path.Child("activeDeadlineSeconds"), spec.ActiveDeadlineSeconds)...)
	errs = append(errs, optionalNonNegative(path.Child("backoffLimit"), spec.BackoffLimit)...)
	errs = append(errs, optionalNonNegative(path.Child("ttlSecondsAfterFinished"), spec.TTLSecondsAfterFinished)...)
	errs = append(errs, optionalNonNegative(path.Child("backoffLimitPerIndex"), spec.BackoffLimitPerIndex)...)
	errs = append(errs, optionalNonNegative(path.Child("maxFailedIndexes"), spec.MaxFailedIndexes)...)
	errs = append(errs, validateOptionalOneOf(path.Child("completionMode"), spec.CompletionMode,
		batchv1.NonIndexedCompletion, batchv1.IndexedCompletion)...)
	switch ptr.Deref(spec.CompletionMode, batchv1.NonIndexedCompletion) {
	case batchv1.IndexedCompletion:
		if spec.Completions == nil {
			errs = append(errs, field.Required(path.Child("completions"), "when completion mode is Indexed"))
		}
	case batchv1.NonIndexedCompletion:
		for _, indexed := range []struct {
			name  string
			value *int32
		}{{"backoffLimitPerIndex", spec.BackoffLimitPerIndex}, {"maxFailedIndexes", spec.MaxFailedIndexes}} {
			if indexed.value != nil {
				errs = append(errs, field.Invalid(path.Child(indexed.name), *indexed.value, "requires indexed completion mode"))
			}
		}
	}
	errs = append(errs, validatePodTemplate(&spec.Template, path.Child("template"))...)
	at := path.Child("template", "spec", "restartPolicy")
	switch policy := spec.Template.Spec.RestartPolicy; {
	case policy == corev1.RestartPolicyAlways:
		errs = append(errs, field.Required(at, `valid values: "OnFailure", "Never"`))
	case policy == corev1.RestartPolicyOnFailure && spec.PodFailurePolicy != nil:
		errs = append(errs, field.Invalid(at, policy, `only "Never" is supported when podFailurePolicy is specified`))
	}
	return errs
}

func validateJobUpdate(job, old *batchv1.Job) errorList {
	spec, before := &job.Spec, &old.Spec
	var errs errorList
	switch changed := !equality.Semantic.DeepEqual(spec.Completions, before.Completions); {
	case ptr.Deref(spec.CompletionMode, batchv1.NonIndexedCompletion) != batchv1.IndexedCompletion:
		errs = immutable(spec.Completions, before.Completions, "spec", "completions")
	case changed && !ptr.Equal(spec.Completions, spec.Parallelism):
		errs = append(errs, field.Invalid(field.NewPath("spec", "completions"), spec.Completions, "can only be modified in tandem with spec.parallelism"))
	}
	errs = append(errs, immutable(spec.Selector, before.Selector, "spec", "selector")...)
	errs = append(errs, validateJobTemplateUpdate(spec, before)...)
	errs = append(errs, immutable(spec.CompletionMode, before.CompletionMode, "spec", "completionMode")...)
	errs = append(errs, immutable(spec.PodFailurePolicy, before.PodFailurePolicy, "spec", "podFailurePolicy")...)
	errs = append(errs, immutable(spec.BackoffLimitPerIndex, before.BackoffLimitPerIndex, "spec", "backoffLimitPerIndex")...)
	errs = append(errs, immutable(spec.ManagedBy, before.ManagedBy, "spec", "managedBy")...)
	return append(errs, immutable(spec.SuccessPolicy, before.SuccessPolicy, "spec", "successPolicy")...)
}

// validateJobTemplateUpdate lets nothing of the pods change, but where they are scheduled, and with what resources,
// while the job is suspended.
func validateJobTemplateUpdate(spec, before *batchv1.JobSpec) errorList {
	if !ptr.Deref(before.Suspend, false) {
		return immutable(spec.Template, before.Template, "spec", "template")
	}
	allowed := before.Template.DeepCopy()
	allowed.Labels, allowed.Annotations = spec.Template.Labels, spec.Template.Annotations
	allowed.Spec.NodeSelector, allowed.Spec.Tolerations = spec.Template.Spec.NodeSelector, spec.Template.Spec.Tolerations
	allowed.Spec.SchedulingGates, allowed.Spec.Affinity = spec.Template.Spec.SchedulingGates, spec.Template.Spec.Affinity
	for _, containers := range [][2][]corev1.Container{
		{allowed.Spec.Containers, spec.Template.Spec.Containers}, {allowed.Spec.InitContainers, spec.Template.Spec.InitContainers},
	} {
		if len(containers[0]) == len(containers[1]) {
			takeResources(containers[0], containers[1])
		}
	}
	return immutable(spec.Template.Spec, allowed.Spec, "spec", "template", "spec")
}

func validateCronJob(job *batchv1.CronJob) errorList {
	spec, path := &job.Spec, field.NewPath("spec")
	var errs errorList
	switch fields := strings.Fields(spec.Schedule); {
	case spec.Schedule == "":
		errs = append(errs, field.Required(path.Child("schedule"), ""))
	case strings.Contains(spec.Schedule, "TZ"):
		errs = append(errs, field.Invalid(path.Child("schedule"), spec.Schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
	case len(fields) != 5 && !strings.HasPrefix(spec.Schedule, "@"):
		errs = append(errs, field.Invalid(path.Child("schedule"), spec.Schedule,
			fmt.Sprintf("expected exactly 5 fields, found %d: %v", len(fields), fields)))
	}
	errs = append(errs, optionalNonNegative(path.Child("startingDeadlineSeconds"), spec.StartingDeadlineSeconds)...)
	errs = append(errs, validateOneOf(path.Child("concurrencyPolicy"), spec.ConcurrencyPolicy,
		batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent)...)
	errs = append(errs, validateJobSpec(&spec.JobTemplate.Spec, path.Child("jobTemplate", "spec"))...)
	errs = append(errs, optionalNonNegative(path.Child("successfulJobsHistoryLimit"), spec.SuccessfulJobsHistoryLimit)...)
	errs = append(errs, optionalNonNegative(path.Child("failedJobsHistoryLimit"), spec.FailedJobsHistoryLimit)...)
	if len(job.Name) > validation.DNS1123LabelMaxLength-11 {
		errs = append(errs, field.Invalid(field.NewPath("metadata").Child("name"), job.Name, "must be no more than 52 characters"))
	}
	return errs
}

func validateAutoscaler(autoscaler *autoscalingv2.HorizontalPodAutoscaler) errorList {
	spec, path := &autoscaler.Spec, field.NewPath("spec")
	var errs errorList
	lowest := ptr.Deref(spec.MinReplicas, 1)
	errs = append(errs, nonNegative(path.Child("minReplicas"), lowest)...)
	if spec.MaxReplicas < lowest {
		errs = append(errs, field.Invalid(path.Child("maxReplicas"), spec.MaxReplicas, "must be greater than or equal to `minReplicas`"))
	}
	target, ref := path.Child("scaleTargetRef"), spec.ScaleTargetRef
	errs = append(errs, required(target.Child("kind"), ref.Kind)...)
	errs = append(errs, required(target.Child("name"), ref.Name)...)
	if !strings.Contains(ref.APIVersion, "/") && ref.Kind != "ReplicationController" {
		errs = append(errs, field.Invalid(target.Child("apiVersion"), ref.APIVersion, "apiVersion must specify API group"))
	}
	errs = append(errs, validateMetrics(spec.Metrics, lowest, path.Child("metrics"))...)
	errs = append(errs, validateBehavior(spec.Behavior, path.Child("behavior"))...)
	if spec.MaxReplicas == 0 {
		errs = append(errs, field.Required(path.Child("maxReplicas"), ""))
	}
	return errs
}

func validateMetrics(metrics []autoscalingv2.MetricSpec, lowest int32, path *field.Path) errorList {
	var errs errorList
	outside := false
	for i := range metrics {
		metric, at := &metrics[i], path.Index(i)
		outside = outside || metric.Object != nil || metric.External != nil
		errs = append(errs, validateMetric(metric, at)...)
	}
	if lowest == 0 && !outside {
		errs = append(errs, field.Forbidden(path, "must specify at least one Object or External metric to support scaling to zero replicas"))
	}
	return errs
}

func validateMetric(metric *autoscalingv2.MetricSpec, path *field.Path) errorList {
	for _, source := range []struct {
		kind autoscalingv2.MetricSourceType
		name string
		set  bool
	}{
		{autoscalingv2.ContainerResourceMetricSourceType, "containerResource", metric.ContainerResource != nil},
		{autoscalingv2.ExternalMetricSourceType, "external", metric.External != nil},
		{autoscalingv2.ObjectMetricSourceType, "object", metric.Object != nil},
		{autoscalingv2.PodsMetricSourceType, "pods", metric.Pods != nil},
		{autoscalingv2.ResourceMetricSourceType, "resource", metric.Resource != nil},
	} {
		switch {
		case metric.Type != source.kind:
		case !source.set:
			return errorList{field.Required(path.Child(source.name), "must populate information for the given metric source")}
		case metric.Resource != nil:
			return validateResourceTarget(&metric.Resource.Target, path.Child("resource", "target"))
		default:
			return nil
		}
	}
	return validateOneOf(path.Child("type"), metric.Type, autoscalingv2.ContainerResourceMetricSourceType, autoscalingv2.ExternalMetricSourceType,
		autoscalingv2.ObjectMetricSourceType, autoscalingv2.PodsMetricSourceType, autoscalingv2.ResourceMetricSourceType)
}

func validateResourceTarget(target *autoscalingv2.MetricTarget, path *field.Path) errorList {
	at := path.Child("averageUtilization")
	switch utilization := target.AverageUtilization; {
	case utilization == nil && target.AverageValue == nil:
		return errorList{field.Required(at, "must set either a target raw value or a target utilization")}
	case utilization != nil && target.AverageValue != nil:
		return errorList{field.Forbidden(path.Child("averageValue"), "may not set both a target raw value and a target utilization")}
	case utilization != nil && *utilization < 1:
		return errorList{field.Invalid(at, *utilization, "must be greater than 0")}
	}
	return nil
}

func validateBehavior(behavior *autoscalingv2.HorizontalPodAutoscalerBehavior, path *field.Path) errorList {
	if behavior == nil {
		return nil
	}
	return append(validateScalingRules(behavior.ScaleUp, path.Child("scaleUp")), validateScalingRules(behavior.ScaleDown, path.Child("scaleDown"))...)
}

func validateScalingRules(rules *autoscalingv2.HPAScalingRules, path *field.Path) errorList {
	if rules == nil {
		return nil
	}
	errs := optionalNonNegative(path.Child("stabilizationWindowSeconds"), rules.StabilizationWindowSeconds)
	errs = append(errs, validateOptionalOneOf(path.Child("selectPolicy"), rules.SelectPolicy,
		autoscalingv2.DisabledPolicySelect, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect)...)
	for i, policy := range rules.Policies {
		at := path.Child("policies").Index(i)
		errs = append(errs, validateOneOf(at.Child("type"), policy.Type, autoscalingv2.PercentScalingPolicy, autoscalingv2.PodsScalingPolicy)...)
		for _, number := range []struct {
			name  string
			value int32
		}{{"value", policy.Value}, {"periodSeconds", policy.PeriodSeconds}} {
			if number.value <= 0 {
				errs = append(errs, field.Invalid(at.Child(number.name), number.value, "must be greater than zero"))
			}
		}
	}
	return errs
}
