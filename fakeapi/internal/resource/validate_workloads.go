package resource

import (
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateDeployment(deployment *appsv1.Deployment) errorList {
	spec, path := &deployment.Spec, field.NewPath("spec")
	errs := optionalNonNegative(path.Child("replicas"), spec.Replicas)
	errs = append(errs, validateSelected("deployment", spec.Selector, &spec.Template, path)...)
	errs = append(errs, validateDeploymentStrategy(&spec.Strategy, path.Child("strategy"))...)
	errs = append(errs, nonNegative(path.Child("minReadySeconds"), spec.MinReadySeconds)...)
	errs = append(errs, optionalNonNegative(path.Child("revisionHistoryLimit"), spec.RevisionHistoryLimit)...)
	if deadline := spec.ProgressDeadlineSeconds; deadline != nil {
		errs = append(errs, nonNegative(path.Child("progressDeadlineSeconds"), *deadline)...)
		if *deadline <= spec.MinReadySeconds {
			errs = append(errs, field.Invalid(path.Child("progressDeadlineSeconds"), *deadline, "must be greater than minReadySeconds"))
		}
	}
	return errs
}

func validateDeploymentStrategy(strategy *appsv1.DeploymentStrategy, path *field.Path) errorList {
	rolling, at := strategy.RollingUpdate, path.Child("rollingUpdate")
	switch strategy.Type {
	case appsv1.RecreateDeploymentStrategyType:
		if rolling != nil {
			return errorList{field.Forbidden(at, "may not be specified when strategy `type` is 'Recreate'")}
		}
		return nil
	case appsv1.RollingUpdateDeploymentStrategyType:
		errs := countOrPercent(at.Child("maxUnavailable"), *rolling.MaxUnavailable)
		errs = append(errs, countOrPercent(at.Child("maxSurge"), *rolling.MaxSurge)...)
		if nothing(*rolling.MaxUnavailable) && nothing(*rolling.MaxSurge) {
			errs = append(errs, field.Invalid(at.Child("maxUnavailable"), *rolling.MaxUnavailable, "may not be 0 when `maxSurge` is 0"))
		}
		return append(errs, atMostAll(at.Child("maxUnavailable"), *rolling.MaxUnavailable)...)
	}
	return errorList{field.NotSupported(path, strategyValue{Type: string(strategy.Type)},
		[]appsv1.DeploymentStrategyType{appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType})}
}

// strategyValue is how the real API server writes a strategy of a type that it does not know.
type strategyValue struct {
	Type          string
	RollingUpdate *struct{}
}

func validateReplicaSet(set *appsv1.ReplicaSet) errorList {
	spec, path := &set.Spec, field.NewPath("spec")
	errs := optionalNonNegative(path.Child("replicas"), spec.Replicas)
	errs = append(errs, nonNegative(path.Child("minReadySeconds"), spec.MinReadySeconds)...)
	return append(errs, validateSelected("deployment", spec.Selector, &spec.Template, path)...)
}

// validateSelected checks the pods of deployments and replica sets, and that they are selected.
func validateSelected(kind string, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, path *field.Path) errorList {
	errs := validateSelector(kind, selector, path.Child("selector"))
	if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
		return append(errs, field.Invalid(path.Child("selector"), selector, "invalid label selector"))
	}
	errs = append(errs, validateTemplate(template, selector, path.Child("template"))...)
	if template.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(path.Child("template", "spec", "activeDeadlineSeconds"), "activeDeadlineSeconds in ReplicaSet is not Supported"))
	}
	return errs
}

// validateSelector checks the selector of a kind that does not do without.
func validateSelector(kind string, selector *metav1.LabelSelector, path *field.Path) errorList {
	if selector == nil {
		return errorList{field.Required(path, "")}
	}
	errs := validateLabelSelector(selector, path)
	if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		errs = append(errs, field.Invalid(path, selector, "empty selector is invalid for "+kind))
	}
	return errs
}

// validateTemplate checks the template of pods that are selected and run for ever.
func validateTemplate(template *corev1.PodTemplateSpec, selector *metav1.LabelSelector, path *field.Path) errorList {
	errs := validateSelection(template, selector, path)
	errs = append(errs, validatePodTemplate(template, path)...)
	return append(errs, validateRunsForever(template, path)...)
}

func validateSelection(template *corev1.PodTemplateSpec, selector *metav1.LabelSelector, path *field.Path) errorList {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || parsed.Empty() || parsed.Matches(labels.Set(template.Labels)) {
		return nil
	}
	return errorList{field.Invalid(path.Child("metadata", "labels"), template.Labels, "`selector` does not match template `labels`")}
}

func validateRunsForever(template *corev1.PodTemplateSpec, path *field.Path) errorList {
	return validateOneOf(path.Child("spec", "restartPolicy"), template.Spec.RestartPolicy, corev1.RestartPolicyAlways)
}

func validateStatefulSet(set *appsv1.StatefulSet) errorList {
	spec, path := &set.Spec, field.NewPath("spec")
	var errs errorList
	switch spec.PodManagementPolicy {
	case appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement:
	default:
		errs = append(errs, field.Invalid(path.Child("podManagementPolicy"), spec.PodManagementPolicy, "must be 'OrderedReady' or 'Parallel'"))
	}
	errs = append(errs, validateStatefulSetStrategy(&spec.UpdateStrategy, path.Child("updateStrategy"))...)
	for i := range spec.VolumeClaimTemplates {
		errs = append(errs, validateClaimSpec(&spec.VolumeClaimTemplates[i].Spec, path.Child("volumeClaimTemplates").Index(i).Child("spec"))...)
	}
	errs = append(errs, optionalNonNegative(path.Child("replicas"), spec.Replicas)...)
	errs = append(errs, nonNegative(path.Child("minReadySeconds"), spec.MinReadySeconds)...)
	if spec.ServiceName != "" {
		errs = append(errs, dnsLabel(path.Child("serviceName"), spec.ServiceName)...)
	}
	errs = append(errs, validateSelector("statefulset", spec.Selector, path.Child("selector"))...)
	if _, err := metav1.LabelSelectorAsSelector(spec.Selector); err != nil {
		errs = append(errs, field.Invalid(path.Child("selector"), spec.Selector, ""))
	} else {
		errs = append(errs, validateTemplate(withClaims(spec), spec.Selector, path.Child("template"))...)
	}
	if spec.Template.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(path.Child("template", "spec", "activeDeadlineSeconds"), "activeDeadlineSeconds in StatefulSet is not Supported"))
	}
	return errs
}

// withClaims returns the template with the volumes that the set's claims will be.
func withClaims(spec *appsv1.StatefulSetSpec) *corev1.PodTemplateSpec {
	if len(spec.VolumeClaimTemplates) == 0 {
		return &spec.Template
	}
	template := spec.Template.DeepCopy()
	var volumes []corev1.Volume
	claimed := map[string]bool{}
	for _, claim := range spec.VolumeClaimTemplates {
		claimed[claim.Name] = true
		volumes = append(volumes, corev1.Volume{Name: claim.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
		}})
	}
	for _, volume := range template.Spec.Volumes {
		if !claimed[volume.Name] {
			volumes = append(volumes, volume)
		}
	}
	template.Spec.Volumes = volumes
	return template
}

func validateStatefulSetStrategy(strategy *appsv1.StatefulSetUpdateStrategy, path *field.Path) errorList {
	rolling, at := strategy.RollingUpdate, path.Child("rollingUpdate")
	switch strategy.Type {
	case appsv1.OnDeleteStatefulSetStrategyType:
		if rolling != nil {
			return errorList{field.Invalid(at, rolling, "only allowed for updateStrategy 'RollingUpdate'")}
		}
		return nil
	case appsv1.RollingUpdateStatefulSetStrategyType:
		if rolling == nil {
			return nil
		}
		errs := optionalNonNegative(at.Child("partition"), rolling.Partition)
		if unavailable := rolling.MaxUnavailable; unavailable != nil {
			errs = append(errs, countOrPercent(at.Child("maxUnavailable"), *unavailable)...)
			if nothing(*unavailable) {
				errs = append(errs, field.Invalid(at.Child("maxUnavailable"), *unavailable, "cannot be 0"))
			}
			errs = append(errs, atMostAll(at.Child("maxUnavailable"), *unavailable)...)
		}
		return errs
	}
	return errorList{field.Invalid(path, strategyValue{Type: string(strategy.Type)}, "must be 'RollingUpdate' or 'OnDelete'")}
}

func validateStatefulSetUpdate(set, old *appsv1.StatefulSet) errorList {
	return slices.Concat(
		immutable(set.Spec.Selector, old.Spec.Selector, "spec", "selector"),
		immutable(set.Spec.VolumeClaimTemplates, old.Spec.VolumeClaimTemplates, "spec", "volumeClaimTemplates"),
		immutable(set.Spec.ServiceName, old.Spec.ServiceName, "spec", "serviceName"),
		immutable(set.Spec.PodManagementPolicy, old.Spec.PodManagementPolicy, "spec", "podManagementPolicy"),
	)
}

func validateDaemonSet(set *appsv1.DaemonSet) errorList {
	spec, path := &set.Spec, field.NewPath("spec")
	var errs errorList
	if spec.Selector != nil {
		errs = validateLabelSelector(spec.Selector, path.Child("selector"))
	}
	errs = append(errs, validateSelection(&spec.Template, spec.Selector, path.Child("template"))...)
	if spec.Selector != nil && len(spec.Selector.MatchLabels)+len(spec.Selector.MatchExpressions) == 0 {
		errs = append(errs, field.Invalid(path.Child("selector"), spec.Selector, "empty selector is invalid for daemonset"))
	}
	errs = append(errs, validatePodTemplate(&spec.Template, path.Child("template"))...)
	errs = append(errs, validateRunsForever(&spec.Template, path.Child("template"))...)
	if spec.Template.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(path.Child("template", "spec", "activeDeadlineSeconds"), "activeDeadlineSeconds in DaemonSet is not Supported"))
	}
	errs = append(errs, nonNegative(path.Child("minReadySeconds"), spec.MinReadySeconds)...)
	errs = append(errs, validateDaemonSetStrategy(&spec.UpdateStrategy, path.Child("updateStrategy"))...)
	return append(errs, optionalNonNegative(path.Child("revisionHistoryLimit"), spec.RevisionHistoryLimit)...)
}

func validateDaemonSetStrategy(strategy *appsv1.DaemonSetUpdateStrategy, path *field.Path) errorList {
	switch strategy.Type {
	case appsv1.OnDeleteDaemonSetStrategyType:
		return nil
	case appsv1.RollingUpdateDaemonSetStrategyType:
		at := path.Child("rollingUpdate")
		unavailable, surge := *strategy.RollingUpdate.MaxUnavailable, *strategy.RollingUpdate.MaxSurge
		errs := slices.Concat(
			countOrPercent(at.Child("maxUnavailable"), unavailable), countOrPercent(at.Child("maxSurge"), surge),
			atMostAll(at.Child("maxUnavailable"), unavailable), atMostAll(at.Child("maxSurge"), surge),
		)
		switch {
		case !nothing(unavailable) && !nothing(surge):
			errs = append(errs, field.Invalid(at.Child("maxSurge"), surge, "may not be set when maxUnavailable is non-zero"))
		case nothing(unavailable) && nothing(surge):
			errs = append(errs, field.Required(at.Child("maxUnavailable"), "cannot be 0 when maxSurge is 0"))
		}
		return errs
	}
	return errorList{field.NotSupported(path, strategyValue{Type: string(strategy.Type)},
		[]appsv1.DaemonSetUpdateStrategyType{appsv1.RollingUpdateDaemonSetStrategyType, appsv1.OnDeleteDaemonSetStrategyType})}
}

func validateControllerRevision(revision *appsv1.ControllerRevision) errorList {
	return nonNegative(field.NewPath("revision"), revision.Revision)
}

func validateNewControllerRevision(revision *appsv1.ControllerRevision) errorList {
	var data map[string]any
	if json.Unmarshal(revision.Data.Raw, &data) != nil || data == nil {
		return errorList{field.Required(field.NewPath("data"), "data is mandatory")}
	}
	return nil
}

func validateControllerRevisionUpdate(revision, old *appsv1.ControllerRevision) errorList {
	return immutable(revision.Data, old.Data, "data")
}

func validateDisruptionBudget(budget *policyv1.PodDisruptionBudget) errorList {
	spec, path := &budget.Spec, field.NewPath("spec")
	var errs errorList
	if spec.MinAvailable != nil && spec.MaxUnavailable != nil {
		errs = append(errs, field.Invalid(path, struct { // as the real API server writes it
			MinAvailable               *intstr.IntOrString
			Selector                   *metav1.LabelSelector
			MaxUnavailable             *intstr.IntOrString
			UnhealthyPodEvictionPolicy *policyv1.UnhealthyPodEvictionPolicyType
		}(*spec), "minAvailable and maxUnavailable cannot be both set"))
	}
	for _, limit := range []struct {
		name  string
		value *intstr.IntOrString
	}{{"minAvailable", spec.MinAvailable}, {"maxUnavailable", spec.MaxUnavailable}} {
		if limit.value != nil {
			errs = append(errs, countOrPercent(path.Child(limit.name), *limit.value)...)
			errs = append(errs, atMostAll(path.Child(limit.name), *limit.value)...)
		}
	}
	if spec.Selector != nil {
		errs = append(errs, validateLabelSelector(spec.Selector, path.Child("selector"))...)
	}
	return append(errs, validateOptionalOneOf(path.Child("unhealthyPodEvictionPolicy"), spec.UnhealthyPodEvictionPolicy,
		policyv1.AlwaysAllow, policyv1.IfHealthyBudget)...)
}
