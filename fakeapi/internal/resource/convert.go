package resource

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// addHandWrittenConversions registers the conversions between versions that have different fields.
func addHandWrittenConversions(scheme *runtime.Scheme) error {
	scheme.AddTypeDefaultingFunc(&autoscalingv1.HorizontalPodAutoscaler{}, func(object any) {
		defaultAutoscalerV1(object.(*autoscalingv1.HorizontalPodAutoscaler))
	})
	for _, add := range []error{
		addWorkloadConversions(scheme),
		addConversions(scheme, convertScale, scales()...),
		addConversion(scheme, eventToCore),
		addConversion(scheme, eventFromCore),
		addConversion(scheme, autoscalerToV1),
		addConversion(scheme, autoscalerToV2),
		addConversion(scheme, func(from *autoscalingv1.HorizontalPodAutoscalerList, to *autoscalingv2.HorizontalPodAutoscalerList) error {
			to.ListMeta = from.ListMeta
			return convertItems(from.Items, &to.Items, autoscalerToV2)
		}),
		addConversion(scheme, func(from *autoscalingv2.HorizontalPodAutoscalerList, to *autoscalingv1.HorizontalPodAutoscalerList) error {
			to.ListMeta = from.ListMeta
			return convertItems(from.Items, &to.Items, autoscalerToV1)
		}),
	} {
		if add != nil {
			return add
		}
	}
	return nil
}

func addConversion[From, To any](scheme *runtime.Scheme, convert func(*From, *To) error) error {
	return scheme.AddConversionFunc((*From)(nil), (*To)(nil), func(from, to any, _ conversion.Scope) error {
		return convert(from.(*From), to.(*To))
	})
}

func convertItems[From, To any](from []From, to *[]To, convert func(*From, *To) error) error {
	*to = make([]To, len(from))
	for i := range from {
		if err := convert(&from[i], &(*to)[i]); err != nil {
			return err
		}
	}
	return nil
}

// eventToCore and eventFromCore rename the fields of events.

func eventToCore(from *eventsv1.Event, to *corev1.Event) error {
	*to = corev1.Event{
		ObjectMeta:          *from.ObjectMeta.DeepCopy(),
		InvolvedObject:      from.Regarding,
		Reason:              from.Reason,
		Message:             from.Note,
		Source:              from.DeprecatedSource,
		FirstTimestamp:      from.DeprecatedFirstTimestamp,
		LastTimestamp:       from.DeprecatedLastTimestamp,
		Count:               from.DeprecatedCount,
		Type:                from.Type,
		EventTime:           from.EventTime,
		Action:              from.Action,
		Related:             from.Related.DeepCopy(),
		ReportingController: from.ReportingController,
		ReportingInstance:   from.ReportingInstance,
	}
	if from.Series != nil {
		to.Series = &corev1.EventSeries{Count: from.Series.Count, LastObservedTime: from.Series.LastObservedTime}
	}
	return nil
}

func eventFromCore(from *corev1.Event, to *eventsv1.Event) error {
	*to = eventsv1.Event{
		ObjectMeta:               *from.ObjectMeta.DeepCopy(),
		Regarding:                from.InvolvedObject,
		Reason:                   from.Reason,
		Note:                     from.Message,
		DeprecatedSource:         from.Source,
		DeprecatedFirstTimestamp: from.FirstTimestamp,
		DeprecatedLastTimestamp:  from.LastTimestamp,
		DeprecatedCount:          from.Count,
		Type:                     from.Type,
		EventTime:                from.EventTime,
		Action:                   from.Action,
		Related:                  from.Related.DeepCopy(),
		ReportingController:      from.ReportingController,
		ReportingInstance:        from.ReportingInstance,
	}
	if from.Series != nil {
		to.Series = &eventsv1.EventSeries{Count: from.Series.Count, LastObservedTime: from.Series.LastObservedTime}
	}
	return nil
}
