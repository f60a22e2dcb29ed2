package printers

import (
	"cmp"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
)

func clusterRoleBindingCells(binding *rbacv1.ClusterRoleBinding, now time.Time) []any {
	return bindingCells(binding, binding.RoleRef, binding.Subjects, now)
}

func roleBindingCells(binding *rbacv1.RoleBinding, now time.Time) []any {
	return bindingCells(binding, binding.RoleRef, binding.Subjects, now)
}

func bindingCells(binding metav1.Object, role rbacv1.RoleRef, subjects []rbacv1.Subject, now time.Time) []any {
	named := map[string][]string{}
	for _, subject := range subjects {
		name := subject.Name
		if subject.Kind == rbacv1.ServiceAccountKind {
			name = subject.Namespace + "/" + name
		}
		named[subject.Kind] = append(named[subject.Kind], name)
	}
	list := func(kind string) string { return strings.Join(named[kind], ", ") }
	return []any{
		binding.GetName(), role.Kind + "/" + role.Name, age(binding, now),
		list(rbacv1.UserKind), list(rbacv1.GroupKind), list(rbacv1.ServiceAccountKind),
	}
}

func signingRequestCells(request *certificatesv1.CertificateSigningRequest, now time.Time) []any {
	lives := none
	if request.Spec.ExpirationSeconds != nil {
		lives = duration.HumanDuration(time.Duration(*request.Spec.ExpirationSeconds) * time.Second)
	}
	is := map[certificatesv1.RequestConditionType]bool{}
	for _, condition := range request.Status.Conditions {
		is[condition.Type] = true
	}
	condition := "Pending"
	switch {
	case is[certificatesv1.CertificateDenied]:
		condition = "Denied"
	case is[certificatesv1.CertificateApproved]:
		condition = "Approved"
	}
	if is[certificatesv1.CertificateFailed] {
		condition += ",Failed"
	}
	if len(request.Status.Certificate) > 0 {
		condition += ",Issued"
	}
	return []any{request.Name, age(request, now), or(request.Spec.SignerName, none), request.Spec.Username, lives, condition}
}

func trustBundleCells(bundle *certificatesv1.ClusterTrustBundle, _ time.Time) []any {
	return []any{bundle.Name, or(bundle.Spec.SignerName, none)}
}

func podCertificateCells(request *certificatesv1.PodCertificateRequest, _ time.Time) []any {
	state := "Pending"
	for _, condition := range request.Status.Conditions {
		switch condition.Type {
		case certificatesv1.PodCertificateRequestConditionTypeIssued, certificatesv1.PodCertificateRequestConditionTypeDenied,
			certificatesv1.PodCertificateRequestConditionTypeFailed:
			state = condition.Type
		}
	}
	spec := request.Spec
	return []any{
		request.Name, spec.PodName, spec.ServiceAccountName, string(spec.NodeName), spec.SignerName, state,
		labels.FormatLabels(spec.UnverifiedUserAnnotations),
	}
}

func leaseCells(lease *coordinationv1.Lease, now time.Time) []any {
	return []any{lease.Name, valueOr(lease.Spec.HolderIdentity, ""), age(lease, now)}
}

func runtimeClassCells(class *nodev1.RuntimeClass, now time.Time) []any {
	return []any{class.Name, class.Handler, age(class, now)}
}

func priorityClassCells(class *schedulingv1.PriorityClass, now time.Time) []any {
	return []any{class.Name, int64(class.Value), class.GlobalDefault, age(class, now), string(valueOr(class.PreemptionPolicy, ""))}
}

func disruptionBudgetCells(budget *policyv1.PodDisruptionBudget, now time.Time) []any {
	least, most := "N/A", "N/A"
	if budget.Spec.MinAvailable != nil {
		least = budget.Spec.MinAvailable.String()
	}
	if budget.Spec.MaxUnavailable != nil {
		most = budget.Spec.MaxUnavailable.String()
	}
	return []any{budget.Name, least, most, int64(budget.Status.DisruptionsAllowed), age(budget, now)}
}

// flowSchemaRows lists flow schemas in the order in which requests are matched.
func flowSchemaRows(objects []runtime.Object, list bool, now time.Time) []metav1.TableRow {
	sorted := slices.Clone(objects)
	slices.SortFunc(sorted, func(a, b runtime.Object) int {
		x, y := a.(*flowcontrolv1.FlowSchema), b.(*flowcontrolv1.FlowSchema)
		return cmp.Or(cmp.Compare(x.Spec.MatchingPrecedence, y.Spec.MatchingPrecedence), strings.Compare(x.Name, y.Name))
	})
	return each(flowSchemaCells)(sorted, list, now)
}

func flowSchemaCells(flow *flowcontrolv1.FlowSchema, now time.Time) []any {
	method := none
	if flow.Spec.DistinguisherMethod != nil {
		method = string(flow.Spec.DistinguisherMethod.Type)
	}
	dangling := "?"
	for _, condition := range flow.Status.Conditions {
		if condition.Type == flowcontrolv1.FlowSchemaConditionDangling {
			dangling = string(condition.Status)
			break
		}
	}
	return []any{
		flow.Name, flow.Spec.PriorityLevelConfiguration.Name, int64(flow.Spec.MatchingPrecedence), method, age(flow, now), dangling,
	}
}

func priorityLevelCells(level *flowcontrolv1.PriorityLevelConfiguration, now time.Time) []any {
	cells := []any{level.Name, string(level.Spec.Type), none, none, none, none, age(level, now)}
	if limited := level.Spec.Limited; limited != nil {
		cells[2] = valueOr(limited.NominalConcurrencyShares, 0)
		if queuing := limited.LimitResponse.Queuing; queuing != nil {
			cells[3], cells[4], cells[5] = queuing.Queues, queuing.HandSize, queuing.QueueLengthLimit
		}
	}
	return cells
}

func deviceClassCells(class *resourcev1.DeviceClass, now time.Time) []any {
	return []any{class.Name, age(class, now)}
}

func deviceTaintCells(rule *resourcev1.DeviceTaintRule, now time.Time) []any {
	taint, added := rule.Spec.Taint, ""
	if taint.TimeAdded != nil {
		added = since(*taint.TimeAdded, now)
	}
	return []any{rule.Name, taint.Key, taint.Value, string(taint.Effect), added, age(rule, now)}
}

func resourceClaimCells(claim *resourcev1.ResourceClaim, now time.Time) []any {
	var states []string
	if claim.DeletionTimestamp != nil {
		states = append(states, "deleted")
	}
	switch {
	case claim.Status.Allocation != nil:
		states = append(states, "allocated")
		if len(claim.Status.ReservedFor) > 0 {
			states = append(states, "reserved")
		}
	case claim.DeletionTimestamp == nil:
		states = append(states, "pending")
	}
	return []any{claim.Name, strings.Join(states, ","), age(claim, now)}
}

func resourceClaimTemplateCells(template *resourcev1.ResourceClaimTemplate, now time.Time) []any {
	return []any{template.Name, age(template, now)}
}

func resourceSliceCells(slice *resourcev1.ResourceSlice, now time.Time) []any {
	return []any{slice.Name, valueOr(slice.Spec.NodeName, ""), slice.Spec.Driver, slice.Spec.Pool.Name, age(slice, now)}
}

func migrationCells(migration *storagemigrationv1.StorageVersionMigration, _ time.Time) []any {
	status := "Unknown"
	for _, condition := range migration.Status.Conditions {
		if condition.Status != metav1.ConditionTrue {
			continue
		}
		switch storagemigrationv1.MigrationConditionType(condition.Type) {
		case storagemigrationv1.MigrationRunning, storagemigrationv1.MigrationFailed, storagemigrationv1.MigrationSucceeded:
			status = condition.Type
		}
	}
	return []any{migration.Name, migration.Spec.Resource.String(), status}
}
