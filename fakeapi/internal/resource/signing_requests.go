package resource

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
)

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

// prepareApproval lets the approval subresource change the conditions only.
func prepareApproval(now func() metav1.Time) func(ctx context.Context, object, old runtime.Object) {
	return updating(func(_ context.Context, csr, old *certificatesv1.CertificateSigningRequest) {
		csr.Spec = old.Spec
		csr.Status.Certificate = old.Status.Certificate
		stampConditions(csr, old, now())
	})
}

// prepareCertificateStatus keeps what the approval subresource says; that conditions come or go is refused later.
func prepareCertificateStatus(now func() metav1.Time) func(ctx context.Context, object, old runtime.Object) {
	return updating(func(_ context.Context, csr, old *certificatesv1.CertificateSigningRequest) {
		for _, kind := range approvals() {
			before, after := conditionsOf(old, kind), conditionsOf(csr, kind)
			if len(before) != len(after) {
				continue
			}
			for i := range after {
				*after[i] = *before[i]
			}
		}
		stampConditions(csr, old, now())
	})
}

// approvals are the conditions that are set by the approval subresource alone.
func approvals() []certificatesv1.RequestConditionType {
	return []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved, certificatesv1.CertificateDenied}
}

func conditionsOf(csr *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType) []*certificatesv1.CertificateSigningRequestCondition {
	var found []*certificatesv1.CertificateSigningRequestCondition
	for i := range csr.Status.Conditions {
		if csr.Status.Conditions[i].Type == kind {
			found = append(found, &csr.Status.Conditions[i])
		}
	}
	return found
}

// stampConditions sets the times that the client left out.
func stampConditions(csr, old *certificatesv1.CertificateSigningRequest, now metav1.Time) {
	for i := range csr.Status.Conditions {
		condition := &csr.Status.Conditions[i]
		orElse(&condition.LastUpdateTime, now)
		for _, before := range conditionsOf(old, condition.Type) {
			if before.Status == condition.Status {
				orElse(&condition.LastTransitionTime, before.LastTransitionTime)
			}
		}
		orElse(&condition.LastTransitionTime, now)
	}
}

// validateApproval checks an update of the approval subresource.
func validateApproval(csr, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("status", "conditions")
	approved, denied := conditionsOf(csr, certificatesv1.CertificateApproved), conditionsOf(csr, certificatesv1.CertificateDenied)
	if len(approved) > 0 && len(denied) > 0 {
		errs = append(errs, field.Invalid(path, certificatesv1.CertificateDenied, "Approved and Denied conditions are mutually exclusive"))
	}
	for _, kind := range append(approvals(), certificatesv1.CertificateFailed) {
		if len(conditionsOf(csr, kind)) < len(conditionsOf(old, kind)) {
			errs = append(errs, field.Forbidden(path, fmt.Sprintf("updates may not remove a condition of type %q", kind)))
		}
	}
	return errs
}

// validateCertificateStatus checks an update of the status subresource, which leaves the approval alone.
func validateCertificateStatus(csr, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
	errs := validateApproval(csr, old)
	for _, kind := range approvals() {
		before, after := conditionsOf(old, kind), conditionsOf(csr, kind)
		switch {
		case len(after) > len(before):
			errs = append(errs, field.Forbidden(field.NewPath("status", "conditions"), fmt.Sprintf("updates may not add a condition of type %q", kind)))
		case len(after) == len(before) && !equality.Semantic.DeepEqual(before, after):
			errs = append(errs, field.Forbidden(field.NewPath("status", "conditions"), fmt.Sprintf("updates may not modify a condition of type %q", kind)))
		}
	}
	if certificate := old.Status.Certificate; len(certificate) > 0 && !equality.Semantic.DeepEqual(csr.Status.Certificate, certificate) {
		errs = append(errs, field.Forbidden(field.NewPath("status", "certificate"), "updates may not modify existing certificate content"))
	}
	return errs
}
