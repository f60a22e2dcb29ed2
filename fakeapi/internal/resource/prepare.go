package resource

import (
	"context"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// prepareJob selects the job's pods by its uid, unless the client selects them itself.
func prepareJob(_ context.Context, job *batchv1.Job) {
	if job.Spec.ManualSelector != nil && *job.Spec.ManualSelector {
		return
	}
	template := &job.Spec.Template
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	uid := string(job.UID)
	template.Labels["job-name"] = job.Name
	template.Labels[batchv1.JobNameLabel] = job.Name
	template.Labels["controller-uid"] = uid
	template.Labels[batchv1.ControllerUidLabel] = uid
	if job.Spec.Selector == nil {
		job.Spec.Selector = &metav1.LabelSelector{}
	}
	if job.Spec.Selector.MatchLabels == nil {
		job.Spec.Selector.MatchLabels = map[string]string{}
	}
	job.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel] = uid
}

// prepareClaim tells in both fields what the volume is filled with.
func prepareClaim(_ context.Context, claim *corev1.PersistentVolumeClaim) {
	claim.Status.Phase = corev1.ClaimPending
	spec := &claim.Spec
	switch source, ref := spec.DataSource, spec.DataSourceRef; {
	case source != nil && ref == nil:
		spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: source.APIGroup, Kind: source.Kind, Name: source.Name}
	case source == nil && ref != nil && ptr.Deref(ref.Namespace, "") == "":
		spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: ref.APIGroup, Kind: ref.Kind, Name: ref.Name}
	}
}

// prepareCSIDriverUpdate counts the changes of a driver, which is created without a count.
func prepareCSIDriverUpdate(_ context.Context, driver, old *storagev1.CSIDriver) {
	if !equality.Semantic.DeepEqual(driver.Spec, old.Spec) {
		driver.Generation = old.Generation + 1
	}
}

// prepareDaemonSet starts to count the templates of a set, for clients of old.
func prepareDaemonSet(_ context.Context, set *appsv1.DaemonSet) {
	generation, _ := strconv.Atoi(set.Annotations[appsv1.DeprecatedTemplateGeneration]) // a number since it was defaulted
	setTemplateGeneration(set, max(generation, 1))
}

func prepareDaemonSetUpdate(_ context.Context, set, old *appsv1.DaemonSet) {
	generation, err := strconv.Atoi(old.Annotations[appsv1.DeprecatedTemplateGeneration])
	if err != nil {
		generation = 1
	}
	if !equality.Semantic.DeepEqual(set.Spec.Template, old.Spec.Template) {
		generation++
	}
	setTemplateGeneration(set, generation)
}

func setTemplateGeneration(set *appsv1.DaemonSet, generation int) {
	if set.Annotations == nil {
		set.Annotations = map[string]string{}
	}
	set.Annotations[appsv1.DeprecatedTemplateGeneration] = strconv.Itoa(generation)
}
