package resource

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
)

// eventStorage is the storage of events. Those of the group events.k8s.io have to be more complete.
func eventStorage(v *view) rest.Storage {
	controller := "reportingComponent"
	if v.kind.Group == eventsv1.GroupName {
		controller = "reportingController"
		v.strategy.validateCreate = v.checkStored(checks(validateNewEvent))
		v.strategy.validateUpdate = v.checkStoredUpdate(checksUpdate(validateEventUpdate))
	}
	v.strategy.validate = v.checkStored(checks(func(event *corev1.Event) errorList { return validateEvent(event, controller) }))
	return &REST{v}
}

// validateEvent checks an event of either group. One that says when it was, in microseconds, has to say more.
func validateEvent(event *corev1.Event, controller string) errorList {
	errs := validateEventNamespace(event)
	if event.EventTime.IsZero() {
		return errs
	}
	errs = append(errs, required(field.NewPath(controller), event.ReportingController)...)
	errs = append(errs, qualifiedName(field.NewPath(controller), event.ReportingController)...)
	errs = append(errs, required(field.NewPath("reportingInstance"), event.ReportingInstance)...)
	errs = append(errs, required(field.NewPath("action"), event.Action)...)
	return append(errs, required(field.NewPath("reason"), event.Reason)...)
}

// validateEventNamespace refuses events about an object of another namespace.
func validateEventNamespace(event *corev1.Event) errorList {
	of, in := event.InvolvedObject.Namespace, event.Namespace
	timed := !event.EventTime.IsZero()
	switch {
	case of == in, of != "" && timed:
		return nil
	case of == "" && (in == metav1.NamespaceDefault || timed && in == metav1.NamespaceSystem):
		return nil
	}
	return errorList{field.Invalid(field.NewPath("involvedObject", "namespace"), of, "does not match event.namespace")}
}

func validateNewEvent(event *corev1.Event) errorList {
	var errs errorList
	if event.EventTime.IsZero() {
		errs = append(errs, field.Required(field.NewPath("eventTime"), ""))
	}
	if event.Type != corev1.EventTypeNormal && event.Type != corev1.EventTypeWarning {
		errs = append(errs, field.Invalid(field.NewPath("type"), "", "has invalid value: "+event.Type))
	}
	for _, retired := range []struct {
		name string
		set  bool
	}{
		{"firstTimestamp", !event.FirstTimestamp.IsZero()}, {"lastTimestamp", !event.LastTimestamp.IsZero()},
		{"count", event.Count != 0}, {"source", event.Source != (corev1.EventSource{})},
	} {
		if retired.set {
			errs = append(errs, field.Invalid(field.NewPath(retired.name), "", "needs to be unset"))
		}
	}
	return errs
}

// validateEventUpdate lets an event be seen again, and nothing else.
func validateEventUpdate(event, old *corev1.Event) errorList {
	return slices.Concat(
		immutable(event.InvolvedObject, old.InvolvedObject, "involvedObject"),
		immutable(event.Reason, old.Reason, "reason"),
		immutable(event.Message, old.Message, "message"),
		immutable(event.Source, old.Source, "source"),
		immutable(event.FirstTimestamp, old.FirstTimestamp, "firstTimestamp"),
		immutable(event.LastTimestamp, old.LastTimestamp, "lastTimestamp"),
		immutable(event.Count, old.Count, "count"),
		immutable(event.Type, old.Type, "type"),
		immutable(event.EventTime, old.EventTime, "eventTime"),
		immutable(event.Action, old.Action, "action"),
		immutable(event.Related, old.Related, "related"),
		immutable(event.ReportingController, old.ReportingController, "reportingController"),
		immutable(event.ReportingInstance, old.ReportingInstance, "reportingInstance"),
	)
}
