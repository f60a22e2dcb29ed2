package resource

import (
	"context"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
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

// prepareDaemonSet starts to count the templates of a set, for clients of old.
func prepareDaemonSet(_ context.Context, set *appsv1.DaemonSet) { setTemplateGeneration(set, 1) }

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

// prepareSigningRequest says who asks.
func prepareSigningRequest(ctx context.Context, csr *certificatesv1.CertificateSigningRequest) {
	csr.Spec.Username, csr.Spec.UID, csr.Spec.Groups, csr.Spec.Extra = "", "", nil, nil
	user, ok := request.UserFrom(ctx)
	if !ok {
		return
	}
	csr.Spec.Username, csr.Spec.UID, csr.Spec.Groups = user.GetName(), user.GetUID(), user.GetGroups()
	for key, values := range user.GetExtra() {
		if csr.Spec.Extra == nil {
			csr.Spec.Extra = map[string]certificatesv1.ExtraValue{}
		}
		csr.Spec.Extra[key] = values
	}
}

// prepareApproval lets the approval subresource change the approving conditions only.
func prepareApproval(now func() metav1.Time) func(ctx context.Context, object, old runtime.Object) {
	return updating(func(_ context.Context, csr, old *certificatesv1.CertificateSigningRequest) {
		csr.Spec = old.Spec
		csr.Status.Certificate = old.Status.Certificate
		csr.Status.Conditions = conditionsOf(csr, old, now(), isApproval)
	})
}

// prepareCertificateStatus lets the status subresource change all but the approving conditions.
func prepareCertificateStatus(now func() metav1.Time) func(ctx context.Context, object, old runtime.Object) {
	return updating(func(_ context.Context, csr, old *certificatesv1.CertificateSigningRequest) {
		csr.Status.Conditions = conditionsOf(csr, old, now(), func(t certificatesv1.RequestConditionType) bool { return !isApproval(t) })
	})
}

func isApproval(t certificatesv1.RequestConditionType) bool {
	return t == certificatesv1.CertificateApproved || t == certificatesv1.CertificateDenied
}

// conditionsOf takes the conditions that may be changed from the new object and the others from the old one.
func conditionsOf(csr, old *certificatesv1.CertificateSigningRequest, now metav1.Time, may func(certificatesv1.RequestConditionType) bool) []certificatesv1.CertificateSigningRequestCondition {
	var conditions []certificatesv1.CertificateSigningRequestCondition
	for _, condition := range old.Status.Conditions {
		if !may(condition.Type) {
			conditions = append(conditions, condition)
		}
	}
	for _, condition := range csr.Status.Conditions {
		if !may(condition.Type) {
			continue
		}
		orElse(&condition.LastUpdateTime, now)
		orElse(&condition.LastTransitionTime, now)
		conditions = append(conditions, condition)
	}
	return conditions
}
