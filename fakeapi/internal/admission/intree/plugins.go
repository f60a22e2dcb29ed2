package intree

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

// limitRanges gives the containers of a new pod the defaults of the namespace's LimitRanges, and notes in an annotation
// which.
func limitRanges(ctx context.Context, objects Objects, a admission.Attributes, pod, old *corev1.Pod) ([]string, error) {
	if old != nil {
		return nil, nil
	}
	ranges, err := list[*corev1.LimitRange](ctx, objects, corev1.SchemeGroupVersion.WithKind("LimitRange"), a.GetNamespace())
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	var changes []string
	for _, limitRange := range ranges {
		var notes []string
		complete := func(container *corev1.Container, what, path string, item corev1.LimitRangeItem) {
			for _, part := range []struct {
				name, path string
				list       *corev1.ResourceList
				defaults   corev1.ResourceList
			}{
				{"request", path + "/resources/requests/", &container.Resources.Requests, item.DefaultRequest},
				{"limit", path + "/resources/limits/", &container.Resources.Limits, item.Default},
			} {
				set := setMissing(part.list, part.defaults)
				if len(set) == 0 {
					continue
				}
				notes = append(notes, fmt.Sprintf("%s %s for %s %s", strings.Join(set, ", "), part.name, what, container.Name))
				for _, name := range set {
					value := part.defaults[corev1.ResourceName(name)]
					changes = append(changes, added(part.path+name, value.String()))
				}
			}
		}
		for _, item := range limitRange.Spec.Limits {
			if item.Type != corev1.LimitTypeContainer {
				continue
			}
			for i := range pod.Spec.Containers {
				complete(&pod.Spec.Containers[i], "container", fmt.Sprintf("/spec/containers/%d", i), item)
			}
			for i := range pod.Spec.InitContainers {
				complete(&pod.Spec.InitContainers[i], "init container", fmt.Sprintf("/spec/initContainers/%d", i), item)
			}
		}
		if len(notes) > 0 {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, "kubernetes.io/limit-ranger", "LimitRanger plugin set: "+strings.Join(notes, "; "))
		}
	}
	return changes, nil
}

// setMissing sets in the list what it lacks of the defaults, and returns the names of that, sorted.
func setMissing(list *corev1.ResourceList, defaults corev1.ResourceList) []string {
	var set []string
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		if _, ok := (*list)[name]; ok {
			continue
		}
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		value := defaults[name]
		(*list)[name] = value.DeepCopy()
		set = append(set, string(name))
	}
	return set
}

// added describes a field that was set, as the decision record does it.
func added(path string, value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return "add " + path
	}
	return "add " + path + " " + string(encoded)
}

const defaultAccount = "default"

// serviceAccount gives a new pod its service account and that account's imagePullSecrets. A mirror pod, which stands for
// one that a node runs on its own, has none.
func serviceAccount(ctx context.Context, objects Objects, a admission.Attributes, pod, old *corev1.Pod) ([]string, error) {
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; old != nil || mirror {
		return nil, nil
	}
	var changes []string
	if pod.Spec.ServiceAccountName == "" {
		pod.Spec.ServiceAccountName, pod.Spec.DeprecatedServiceAccount = defaultAccount, defaultAccount
		changes = append(changes, added("/spec/serviceAccountName", defaultAccount))
	}
	name := pod.Spec.ServiceAccountName
	account, err := get[*corev1.ServiceAccount](ctx, objects, corev1.SchemeGroupVersion.WithKind("ServiceAccount"), a.GetNamespace(), name)
	switch {
	case apierrors.IsNotFound(err) && name == defaultAccount:
		return changes, nil
	case apierrors.IsNotFound(err):
		return nil, admission.NewForbidden(a, fmt.Errorf("error looking up service account %s/%s: %w", a.GetNamespace(), name,
			apierrors.NewNotFound(corev1.Resource("serviceaccount"), name)))
	case err != nil:
		return nil, apierrors.NewInternalError(err)
	}
	if len(pod.Spec.ImagePullSecrets) == 0 && len(account.ImagePullSecrets) > 0 {
		pod.Spec.ImagePullSecrets = slices.Clone(account.ImagePullSecrets)
		changes = append(changes, added("/spec/imagePullSecrets", pod.Spec.ImagePullSecrets))
	}
	return changes, nil
}

// priority resolves a pod's priority class. An update keeps what the creation resolved.
func priority(ctx context.Context, objects Objects, a admission.Attributes, pod, old *corev1.Pod) ([]string, error) {
	spec := &pod.Spec
	if old != nil {
		if spec.Priority == nil {
			spec.Priority = old.Spec.Priority
		}
		if spec.PreemptionPolicy == nil {
			spec.PreemptionPolicy = old.Spec.PreemptionPolicy
		}
		return nil, nil
	}
	class, err := classOf(ctx, objects, a, spec.PriorityClassName)
	if err != nil {
		return nil, err
	}
	if spec.Priority != nil && *spec.Priority != class.Value {
		return nil, admission.NewForbidden(a, fmt.Errorf("the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", *spec.Priority, class.Value))
	}
	if given := spec.PreemptionPolicy; given != nil && class.PreemptionPolicy != nil && *given != *class.PreemptionPolicy {
		return nil, admission.NewForbidden(a, fmt.Errorf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", *given, *class.PreemptionPolicy))
	}
	var changes []string
	if spec.PriorityClassName != class.Name {
		spec.PriorityClassName = class.Name
		changes = append(changes, added("/spec/priorityClassName", class.Name))
	}
	if spec.Priority == nil {
		value := class.Value
		spec.Priority = &value
		changes = append(changes, added("/spec/priority", value))
	}
	if spec.PreemptionPolicy == nil && class.PreemptionPolicy != nil {
		policy := *class.PreemptionPolicy
		spec.PreemptionPolicy = &policy
		changes = append(changes, added("/spec/preemptionPolicy", policy))
	}
	return changes, nil
}

var priorityClassKind = schedulingv1.SchemeGroupVersion.WithKind("PriorityClass")

// classOf is the priority class of the name; for the empty name it is the global default, the lowest one if there are
// several, or the class without a name that stands for priority 0.
func classOf(ctx context.Context, objects Objects, a admission.Attributes, name string) (*schedulingv1.PriorityClass, error) {
	if name != "" {
		class, err := get[*schedulingv1.PriorityClass](ctx, objects, priorityClassKind, "", name)
		switch {
		case apierrors.IsNotFound(err):
			return nil, admission.NewForbidden(a, fmt.Errorf("no PriorityClass with name %v was found", name))
		case err != nil:
			return nil, apierrors.NewInternalError(err)
		}
		return class, nil
	}
	classes, err := list[*schedulingv1.PriorityClass](ctx, objects, priorityClassKind, "")
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	var found *schedulingv1.PriorityClass
	for _, class := range classes {
		if class.GlobalDefault && (found == nil || class.Value < found.Value) {
			found = class
		}
	}
	if found == nil {
		policy := corev1.PreemptLowerPriority
		return &schedulingv1.PriorityClass{PreemptionPolicy: &policy}, nil
	}
	return found, nil
}
