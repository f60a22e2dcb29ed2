package printers

import (
	"fmt"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
)

func autoscalerCells(autoscaler *autoscalingv2.HorizontalPodAutoscaler, now time.Time) []any {
	least := unset
	if autoscaler.Spec.MinReplicas != nil {
		least = fmt.Sprint(*autoscaler.Spec.MinReplicas)
	}
	target := autoscaler.Spec.ScaleTargetRef
	return []any{
		autoscaler.Name, target.Kind + "/" + target.Name, metrics(autoscaler), least, int64(autoscaler.Spec.MaxReplicas),
		int64(autoscaler.Status.CurrentReplicas), age(autoscaler, now),
	}
}

// metrics shows what an autoscaler looks at, as current/target.
func metrics(autoscaler *autoscalingv2.HorizontalPodAutoscaler) string {
	var shown []string
	for i, spec := range autoscaler.Spec.Metrics {
		// The status of a metric stands where its spec does.
		var status autoscalingv2.MetricStatus
		if i < len(autoscaler.Status.CurrentMetrics) {
			status = autoscaler.Status.CurrentMetrics[i]
		}
		shown = append(shown, metric(spec, status))
	}
	return few(shown, 2, ", ", none)
}

func metric(spec autoscalingv2.MetricSpec, status autoscalingv2.MetricStatus) string {
	switch {
	case spec.Type == autoscalingv2.ExternalMetricSourceType && spec.External != nil:
		var current *autoscalingv2.MetricValueStatus
		if status.External != nil {
			current = &status.External.Current
		}
		return amount(spec.External.Target, current)
	case spec.Type == autoscalingv2.ObjectMetricSourceType && spec.Object != nil:
		var current *autoscalingv2.MetricValueStatus
		if status.Object != nil {
			current = &status.Object.Current
		}
		return amount(spec.Object.Target, current)
	case spec.Type == autoscalingv2.PodsMetricSourceType && spec.Pods != nil:
		current := unknown
		if status.Pods != nil {
			current = quantity(status.Pods.Current.AverageValue, "<nil>")
		}
		return current + "/" + quantity(spec.Pods.Target.AverageValue, "<nil>")
	case spec.Type == autoscalingv2.ResourceMetricSourceType && spec.Resource != nil:
		var current *autoscalingv2.MetricValueStatus
		if status.Resource != nil {
			current = &status.Resource.Current
		}
		return spec.Resource.Name.String() + ": " + utilization(spec.Resource.Target, current)
	case spec.Type == autoscalingv2.ContainerResourceMetricSourceType && spec.ContainerResource != nil:
		var current *autoscalingv2.MetricValueStatus
		if status.ContainerResource != nil {
			current = &status.ContainerResource.Current
		}
		return spec.ContainerResource.Name.String() + ": " + utilization(spec.ContainerResource.Target, current)
	}
	return "<unknown type>"
}

// amount shows a metric that is a number, of all pods together or of each.
func amount(target autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	if current == nil {
		current = &autoscalingv2.MetricValueStatus{}
	}
	if target.AverageValue != nil {
		return quantity(current.AverageValue, unknown) + "/" + target.AverageValue.String() + " (avg)"
	}
	return quantity(current.Value, unknown) + "/" + quantity(target.Value, "<nil>")
}

// utilization shows a metric that is a number of each pod, or a share of what the pods request.
func utilization(target autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	if current == nil {
		current = &autoscalingv2.MetricValueStatus{}
	}
	if target.AverageValue != nil {
		return quantity(current.AverageValue, unknown) + "/" + target.AverageValue.String()
	}
	return percent(current.AverageUtilization, unknown) + "/" + percent(target.AverageUtilization, "<auto>")
}

func quantity(q *resource.Quantity, otherwise string) string {
	if q == nil {
		return otherwise
	}
	return q.String()
}

func percent(p *int32, otherwise string) string {
	if p == nil {
		return otherwise
	}
	return fmt.Sprintf("%d%%", *p)
}
