package resource

import (
	"context"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/utils/ptr"
)

// completeNewPod fills in what depends on the whole pod, after all mutation of it.
func completeNewPod(ctx context.Context, pod *corev1.Pod) {
	takeProfiles(ctx, pod)
	mergeLabelKeys(pod)
	if resources := pod.Spec.Resources; resources != nil && len(resources.Requests)+len(resources.Limits) > 0 {
		completePodResources(&pod.Spec)
	}
}

// completePodResources lets a pod that has resources as a whole request what its containers do, or else what it is
// limited to, and limits it to what they all are limited to.
func completePodResources(spec *corev1.PodSpec) {
	resources := spec.Resources
	requests := maps.Clone(resources.Limits)
	if requests == nil {
		requests = corev1.ResourceList{}
	}
	podWide := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}
	for _, name := range podWide {
		if total, of := ofContainers(spec, name, requestsOf); of > 0 {
			requests[name] = total
		}
	}
	maps.Copy(requests, resources.Requests)
	resources.Requests = requests
	for _, name := range podWide {
		request, requested := requests[name]
		total, of := ofContainers(spec, name, limitsOf)
		if _, limited := resources.Limits[name]; limited || !requested || of < len(spec.InitContainers)+len(spec.Containers) {
			continue
		}
		if request.Cmp(total) > 0 {
			total = request
		}
		if resources.Limits == nil {
			resources.Limits = corev1.ResourceList{}
		}
		resources.Limits[name] = total
	}
}

func requestsOf(container *corev1.Container) corev1.ResourceList { return container.Resources.Requests }

func limitsOf(container *corev1.Container) corev1.ResourceList { return container.Resources.Limits }

// ofContainers is what the containers of a pod have at most at one time of a resource, and how many of them have any. The
// init containers run one after the other, but for those that stay.
func ofContainers(spec *corev1.PodSpec, name corev1.ResourceName, list func(*corev1.Container) corev1.ResourceList) (most resource.Quantity, of int) {
	var staying resource.Quantity
	for i := range spec.InitContainers {
		container := &spec.InitContainers[i]
		quantity, ok := list(container)[name]
		if !ok {
			continue
		}
		of++
		now := staying.DeepCopy()
		now.Add(quantity)
		if ptr.Deref(container.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways {
			staying = now
		}
		if now.Cmp(most) > 0 {
			most = now
		}
	}
	for i := range spec.Containers {
		if quantity, ok := list(&spec.Containers[i])[name]; ok {
			of++
			staying.Add(quantity)
		}
	}
	if staying.Cmp(most) > 0 {
		most = staying
	}
	return most, of
}

// mergeLabelKeys puts the labels that a pod shares with others, by the keys that it names, into the selectors of them.
func mergeLabelKeys(pod *corev1.Pod) {
	merge := func(selector *metav1.LabelSelector, keys []string, operator metav1.LabelSelectorOperator) {
		for _, key := range keys {
			if value, ok := pod.Labels[key]; ok && selector != nil {
				requirement := metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}}
				selector.MatchExpressions = append(selector.MatchExpressions, requirement)
			}
		}
	}
	term := func(term *corev1.PodAffinityTerm) {
		merge(term.LabelSelector, term.MatchLabelKeys, metav1.LabelSelectorOpIn)
		merge(term.LabelSelector, term.MismatchLabelKeys, metav1.LabelSelectorOpNotIn)
	}
	for _, terms := range affinityTerms(pod.Spec.Affinity) {
		for i := range terms.hard {
			term(&terms.hard[i])
		}
		for i := range terms.soft {
			term(&terms.soft[i].PodAffinityTerm)
		}
	}
	for i := range pod.Spec.TopologySpreadConstraints {
		constraint := &pod.Spec.TopologySpreadConstraints[i]
		merge(constraint.LabelSelector, constraint.MatchLabelKeys, metav1.LabelSelectorOpIn)
	}
}

// takeProfiles sets the AppArmor profiles that old clients have in annotations.
func takeProfiles(ctx context.Context, pod *corev1.Pod) {
	take := func(container *corev1.Container) {
		key := corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + container.Name
		value, annotated := pod.Annotations[key]
		if !annotated || container.SecurityContext != nil && container.SecurityContext.AppArmorProfile != nil {
			return
		}
		if profile := profileOf(value); profile != nil {
			orElsePtr(&container.SecurityContext, corev1.SecurityContext{})
			container.SecurityContext.AppArmorProfile = profile
		}
		warning.AddWarning(ctx, "", fmt.Sprintf(`%s: deprecated since v1.30; use the "appArmorProfile" field instead`,
			field.NewPath("metadata", "annotations").Key(key)))
	}
	eachContainer(&pod.Spec, nil, func(container *corev1.Container, _ *field.Path) { take(container) })
}

// profileOf is the profile that the value of an annotation stands for, or nil.
func profileOf(annotation string) *corev1.AppArmorProfile {
	file, local := strings.CutPrefix(annotation, corev1.DeprecatedAppArmorBetaProfileNamePrefix)
	switch {
	case annotation == corev1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	case annotation == corev1.DeprecatedAppArmorBetaProfileRuntimeDefault:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	case local && file != "":
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: &file}
	}
	return nil
}
