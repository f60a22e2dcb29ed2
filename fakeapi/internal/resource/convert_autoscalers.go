package resource

import (
	"encoding/json"
	"fmt"
	"maps"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// The annotations in which autoscaling/v1 carries what it has no fields for.
const (
	metricsAnnotation        = "autoscaling.alpha.kubernetes.io/metrics"
	currentMetricsAnnotation = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation     = "autoscaling.alpha.kubernetes.io/conditions"
	behaviorAnnotation       = "autoscaling.alpha.kubernetes.io/behavior"
)

// withoutCarried returns annotations without those that carry fields.
func withoutCarried(annotations map[string]string) map[string]string {
	kept := maps.Clone(annotations)
	for _, name := range []string{metricsAnnotation, currentMetricsAnnotation, conditionsAnnotation, behaviorAnnotation} {
		delete(kept, name)
	}
	return kept
}

func autoscalerToV1(from *autoscalingv2.HorizontalPodAutoscaler, to *autoscalingv1.HorizontalPodAutoscaler) error {
	*to = autoscalingv1.HorizontalPodAutoscaler{
		ObjectMeta: *from.ObjectMeta.DeepCopy(),
		Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv1.CrossVersionObjectReference(from.Spec.ScaleTargetRef),
			MinReplicas:    copied(from.Spec.MinReplicas),
			MaxReplicas:    from.Spec.MaxReplicas,
		},
		Status: autoscalingv1.HorizontalPodAutoscalerStatus{
			ObservedGeneration: copied(from.Status.ObservedGeneration),
			LastScaleTime:      from.Status.LastScaleTime.DeepCopy(),
			CurrentReplicas:    from.Status.CurrentReplicas,
			DesiredReplicas:    from.Status.DesiredReplicas,
		},
	}
	to.Annotations = withoutCarried(to.Annotations)

	var others []autoscalingv1.MetricSpec
	for _, metric := range from.Spec.Metrics {
		if utilization := cpuUtilization(metric); utilization != nil {
			if to.Spec.TargetCPUUtilizationPercentage == nil {
				to.Spec.TargetCPUUtilizationPercentage = copied(utilization)
			}
			continue
		}
		others = append(others, metricToV1(metric))
	}
	var statuses []autoscalingv1.MetricStatus
	for _, metric := range from.Status.CurrentMetrics {
		if r := metric.Resource; metric.Type == autoscalingv2.ResourceMetricSourceType && r != nil && r.Name == corev1.ResourceCPU && r.Current.AverageUtilization != nil {
			to.Status.CurrentCPUUtilizationPercentage = copied(r.Current.AverageUtilization)
		}
		statuses = append(statuses, metricStatusToV1(metric))
	}
	carry := func(name string, value any, present bool) error {
		if !present {
			return nil
		}
		data, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("annotation %s: %w", name, err)
		}
		if to.Annotations == nil {
			to.Annotations = map[string]string{}
		}
		to.Annotations[name] = string(data)
		return nil
	}
	for _, err := range []error{
		carry(metricsAnnotation, others, len(others) > 0),
		carry(currentMetricsAnnotation, statuses, len(statuses) > 0),
		carry(conditionsAnnotation, from.Status.Conditions, len(from.Status.Conditions) > 0),
		carry(behaviorAnnotation, carriedBehaviorOf(from.Spec.Behavior), from.Spec.Behavior != nil),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func autoscalerToV2(from *autoscalingv1.HorizontalPodAutoscaler, to *autoscalingv2.HorizontalPodAutoscaler) error {
	*to = autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: *from.ObjectMeta.DeepCopy(),
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(from.Spec.ScaleTargetRef),
			MinReplicas:    copied(from.Spec.MinReplicas),
			MaxReplicas:    from.Spec.MaxReplicas,
		},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{
			ObservedGeneration: copied(from.Status.ObservedGeneration),
			LastScaleTime:      from.Status.LastScaleTime.DeepCopy(),
			CurrentReplicas:    from.Status.CurrentReplicas,
			DesiredReplicas:    from.Status.DesiredReplicas,
		},
	}
	// Annotations that do not parse are ignored, as the real API server does.
	var others []autoscalingv1.MetricSpec
	if carried(from.Annotations, metricsAnnotation, &others) {
		for _, metric := range others {
			to.Spec.Metrics = append(to.Spec.Metrics, metricToV2(metric))
		}
	}
	if utilization := from.Spec.TargetCPUUtilizationPercentage; utilization != nil {
		to.Spec.Metrics = append(to.Spec.Metrics, cpuMetric(*utilization))
	}
	if len(to.Spec.Metrics) == 0 {
		to.Spec.Metrics = []autoscalingv2.MetricSpec{cpuMetric(defaultUtilization)}
	}
	if utilization := from.Status.CurrentCPUUtilizationPercentage; utilization != nil {
		to.Status.CurrentMetrics = []autoscalingv2.MetricStatus{{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricStatus{
				Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{AverageUtilization: copied(utilization)},
			},
		}}
	}
	var statuses []autoscalingv1.MetricStatus
	if carried(from.Annotations, currentMetricsAnnotation, &statuses) {
		to.Status.CurrentMetrics = nil
		for _, metric := range statuses {
			to.Status.CurrentMetrics = append(to.Status.CurrentMetrics, metricStatusToV2(metric))
		}
	}
	var behavior autoscalingv2.HorizontalPodAutoscalerBehavior
	if carried(from.Annotations, behaviorAnnotation, &behavior) && behavior != (autoscalingv2.HorizontalPodAutoscalerBehavior{}) {
		to.Spec.Behavior = &behavior
	}
	var conditions []autoscalingv2.HorizontalPodAutoscalerCondition
	if carried(from.Annotations, conditionsAnnotation, &conditions) {
		to.Status.Conditions = conditions
	}
	to.Annotations = withoutCarried(to.Annotations)
	return nil
}

// carriedBehavior is how the annotation has the behavior: as JSON without the field names of the API.
type carriedBehavior struct {
	ScaleUp, ScaleDown *carriedRules
}

type carriedRules struct {
	StabilizationWindowSeconds *int32
	SelectPolicy               *autoscalingv2.ScalingPolicySelect
	Policies                   []carriedPolicy
	Tolerance                  *resource.Quantity
}

type carriedPolicy struct {
	Type          autoscalingv2.HPAScalingPolicyType
	Value         int32
	PeriodSeconds int32
}

func carriedBehaviorOf(behavior *autoscalingv2.HorizontalPodAutoscalerBehavior) *carriedBehavior {
	if behavior == nil {
		return nil
	}
	rules := func(from *autoscalingv2.HPAScalingRules) *carriedRules {
		if from == nil {
			return nil
		}
		to := &carriedRules{from.StabilizationWindowSeconds, from.SelectPolicy, nil, from.Tolerance}
		for _, policy := range from.Policies {
			to.Policies = append(to.Policies, carriedPolicy(policy))
		}
		return to
	}
	return &carriedBehavior{rules(behavior.ScaleUp), rules(behavior.ScaleDown)}
}

func carried(annotations map[string]string, name string, into any) bool {
	value, ok := annotations[name]
	return ok && json.Unmarshal([]byte(value), into) == nil
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return ptr.To(*p)
}

// cpuUtilization is the target that autoscaling/v1 has a field for, or nil.
func cpuUtilization(metric autoscalingv2.MetricSpec) *int32 {
	if metric.Type != autoscalingv2.ResourceMetricSourceType || metric.Resource == nil || metric.Resource.Name != corev1.ResourceCPU {
		return nil
	}
	return metric.Resource.Target.AverageUtilization
}

func cpuMetric(utilization int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{
		Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{
			Name:   corev1.ResourceCPU,
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &utilization},
		},
	}
}

func metricToV1(metric autoscalingv2.MetricSpec) autoscalingv1.MetricSpec {
	result := autoscalingv1.MetricSpec{Type: autoscalingv1.MetricSourceType(metric.Type)}
	if m := metric.Object; m != nil {
		result.Object = &autoscalingv1.ObjectMetricSource{
			Target: autoscalingv1.CrossVersionObjectReference(m.DescribedObject), MetricName: m.Metric.Name,
			TargetValue: ptr.Deref(m.Target.Value, resource.Quantity{}), Selector: m.Metric.Selector, AverageValue: m.Target.AverageValue,
		}
	}
	if m := metric.Pods; m != nil {
		result.Pods = &autoscalingv1.PodsMetricSource{
			MetricName: m.Metric.Name, TargetAverageValue: ptr.Deref(m.Target.AverageValue, resource.Quantity{}), Selector: m.Metric.Selector,
		}
	}
	if m := metric.Resource; m != nil {
		result.Resource = &autoscalingv1.ResourceMetricSource{
			Name: m.Name, TargetAverageUtilization: m.Target.AverageUtilization, TargetAverageValue: m.Target.AverageValue,
		}
	}
	if m := metric.ContainerResource; m != nil {
		result.ContainerResource = &autoscalingv1.ContainerResourceMetricSource{
			Name: m.Name, Container: m.Container,
			TargetAverageUtilization: m.Target.AverageUtilization, TargetAverageValue: m.Target.AverageValue,
		}
	}
	if m := metric.External; m != nil {
		result.External = &autoscalingv1.ExternalMetricSource{
			MetricName: m.Metric.Name, MetricSelector: m.Metric.Selector, TargetValue: m.Target.Value, TargetAverageValue: m.Target.AverageValue,
		}
	}
	return result
}

func metricToV2(metric autoscalingv1.MetricSpec) autoscalingv2.MetricSpec {
	result := autoscalingv2.MetricSpec{Type: autoscalingv2.MetricSourceType(metric.Type)}
	if m := metric.Object; m != nil {
		target := autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: &m.TargetValue}
		if m.AverageValue != nil {
			target = autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: m.AverageValue}
		}
		result.Object = &autoscalingv2.ObjectMetricSource{
			DescribedObject: autoscalingv2.CrossVersionObjectReference(m.Target), Target: target,
			Metric: autoscalingv2.MetricIdentifier{Name: m.MetricName, Selector: m.Selector},
		}
	}
	if m := metric.Pods; m != nil {
		result.Pods = &autoscalingv2.PodsMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: m.MetricName, Selector: m.Selector},
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &m.TargetAverageValue},
		}
	}
	if m := metric.Resource; m != nil {
		result.Resource = &autoscalingv2.ResourceMetricSource{
			Name: m.Name, Target: averageTarget(m.TargetAverageUtilization, m.TargetAverageValue),
		}
	}
	if m := metric.ContainerResource; m != nil {
		result.ContainerResource = &autoscalingv2.ContainerResourceMetricSource{
			Name: m.Name, Container: m.Container, Target: averageTarget(m.TargetAverageUtilization, m.TargetAverageValue),
		}
	}
	if m := metric.External; m != nil {
		target := autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: m.TargetAverageValue}
		if m.TargetValue != nil {
			target = autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: m.TargetValue, AverageValue: m.TargetAverageValue}
		}
		result.External = &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: m.MetricName, Selector: m.MetricSelector}, Target: target,
		}
	}
	return result
}

func averageTarget(utilization *int32, value *resource.Quantity) autoscalingv2.MetricTarget {
	kind := autoscalingv2.UtilizationMetricType
	if utilization == nil {
		kind = autoscalingv2.AverageValueMetricType
	}
	return autoscalingv2.MetricTarget{Type: kind, AverageUtilization: utilization, AverageValue: value}
}

func metricStatusToV1(metric autoscalingv2.MetricStatus) autoscalingv1.MetricStatus {
	result := autoscalingv1.MetricStatus{Type: autoscalingv1.MetricSourceType(metric.Type)}
	if m := metric.Object; m != nil {
		result.Object = &autoscalingv1.ObjectMetricStatus{
			Target: autoscalingv1.CrossVersionObjectReference(m.DescribedObject), MetricName: m.Metric.Name, Selector: m.Metric.Selector,
			CurrentValue: ptr.Deref(m.Current.Value, resource.Quantity{}), AverageValue: m.Current.AverageValue,
		}
	}
	if m := metric.Pods; m != nil {
		result.Pods = &autoscalingv1.PodsMetricStatus{
			MetricName: m.Metric.Name, Selector: m.Metric.Selector, CurrentAverageValue: ptr.Deref(m.Current.AverageValue, resource.Quantity{}),
		}
	}
	if m := metric.Resource; m != nil {
		result.Resource = &autoscalingv1.ResourceMetricStatus{
			Name: m.Name, CurrentAverageUtilization: m.Current.AverageUtilization,
			CurrentAverageValue: ptr.Deref(m.Current.AverageValue, resource.Quantity{}),
		}
	}
	if m := metric.ContainerResource; m != nil {
		result.ContainerResource = &autoscalingv1.ContainerResourceMetricStatus{
			Name: m.Name, Container: m.Container, CurrentAverageUtilization: m.Current.AverageUtilization,
			CurrentAverageValue: ptr.Deref(m.Current.AverageValue, resource.Quantity{}),
		}
	}
	if m := metric.External; m != nil {
		result.External = &autoscalingv1.ExternalMetricStatus{
			MetricName: m.Metric.Name, MetricSelector: m.Metric.Selector,
			CurrentValue: ptr.Deref(m.Current.Value, resource.Quantity{}), CurrentAverageValue: m.Current.AverageValue,
		}
	}
	return result
}

func metricStatusToV2(metric autoscalingv1.MetricStatus) autoscalingv2.MetricStatus {
	result := autoscalingv2.MetricStatus{Type: autoscalingv2.MetricSourceType(metric.Type)}
	if m := metric.Object; m != nil {
		result.Object = &autoscalingv2.ObjectMetricStatus{
			DescribedObject: autoscalingv2.CrossVersionObjectReference(m.Target),
			Metric:          autoscalingv2.MetricIdentifier{Name: m.MetricName, Selector: m.Selector},
			Current:         autoscalingv2.MetricValueStatus{Value: &m.CurrentValue, AverageValue: m.AverageValue},
		}
	}
	if m := metric.Pods; m != nil {
		result.Pods = &autoscalingv2.PodsMetricStatus{
			Metric:  autoscalingv2.MetricIdentifier{Name: m.MetricName, Selector: m.Selector},
			Current: autoscalingv2.MetricValueStatus{AverageValue: &m.CurrentAverageValue},
		}
	}
	if m := metric.Resource; m != nil {
		result.Resource = &autoscalingv2.ResourceMetricStatus{Name: m.Name, Current: autoscalingv2.MetricValueStatus{
			AverageUtilization: m.CurrentAverageUtilization, AverageValue: &m.CurrentAverageValue,
		}}
	}
	if m := metric.ContainerResource; m != nil {
		result.ContainerResource = &autoscalingv2.ContainerResourceMetricStatus{
			Name: m.Name, Container: m.Container, Current: autoscalingv2.MetricValueStatus{
				AverageUtilization: m.CurrentAverageUtilization, AverageValue: &m.CurrentAverageValue,
			},
		}
	}
	if m := metric.External; m != nil {
		result.External = &autoscalingv2.ExternalMetricStatus{
			Metric:  autoscalingv2.MetricIdentifier{Name: m.MetricName, Selector: m.MetricSelector},
			Current: autoscalingv2.MetricValueStatus{Value: &m.CurrentValue, AverageValue: m.CurrentAverageValue},
		}
	}
	return result
}
