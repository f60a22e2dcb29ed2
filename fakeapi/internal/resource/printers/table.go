package printers

import (
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
)

// What stands where there is nothing to tell.
const (
	none    = "<none>"
	unset   = "<unset>"
	unknown = "<unknown>"
)

// printers make the rows of the resources that have columns of their own.
var printers = sync.OnceValue(func() map[schema.GroupResource]rowsFunc {
	table := map[schema.GroupResource]rowsFunc{}
	for group, resources := range map[string]map[string]rowsFunc{
		"": {
			"componentstatuses": each(componentStatusCells), "configmaps": each(configMapCells), "endpoints": each(endpointsCells),
			"events": each(eventCells), "namespaces": each(namespaceCells), "nodes": each(nodeCells),
			"persistentvolumeclaims": each(claimCells), "persistentvolumes": each(volumeCells), "pods": podRows,
			"podtemplates": each(podTemplateCells), "replicationcontrollers": each(replicationControllerCells),
			"resourcequotas": each(quotaCells), "secrets": each(secretCells), "serviceaccounts": each(serviceAccountCells),
			"services": each(serviceCells),
		},
		"admissionregistration.k8s.io": {
			"mutatingadmissionpolicies": each(mutatingPolicyCells), "mutatingadmissionpolicybindings": each(mutatingBindingCells),
			"mutatingwebhookconfigurations": each(mutatingWebhookCells), "validatingadmissionpolicies": each(validatingPolicyCells),
			"validatingadmissionpolicybindings": each(validatingBindingCells), "validatingwebhookconfigurations": each(validatingWebhookCells),
		},
		"apiextensions.k8s.io":   {"customresourcedefinitions": each(definitionCells)},
		"apiregistration.k8s.io": {"apiservices": each(apiServiceCells)},
		"apps": {
			"controllerrevisions": each(controllerRevisionCells), "daemonsets": each(daemonSetCells),
			"deployments": each(deploymentCells), "replicasets": each(replicaSetCells), "statefulsets": each(statefulSetCells),
		},
		"autoscaling": {"horizontalpodautoscalers": each(autoscalerCells)},
		"batch":       {"cronjobs": each(cronJobCells), "jobs": each(jobCells)},
		"certificates.k8s.io": {
			"certificatesigningrequests": each(signingRequestCells), "clustertrustbundles": each(trustBundleCells),
			"podcertificaterequests": each(podCertificateCells),
		},
		"coordination.k8s.io": {"leases": each(leaseCells)},
		"discovery.k8s.io":    {"endpointslices": each(endpointSliceCells)},
		"flowcontrol.apiserver.k8s.io": {
			"flowschemas": flowSchemaRows, "prioritylevelconfigurations": each(priorityLevelCells),
		},
		"networking.k8s.io": {
			"ingressclasses": each(ingressClassCells), "ingresses": each(ingressCells), "ipaddresses": each(addressCells),
			"networkpolicies": each(networkPolicyCells), "servicecidrs": each(serviceCIDRCells),
		},
		"node.k8s.io": {"runtimeclasses": each(runtimeClassCells)},
		"policy":      {"poddisruptionbudgets": each(disruptionBudgetCells)},
		"rbac.authorization.k8s.io": {
			"clusterrolebindings": each(clusterRoleBindingCells), "rolebindings": each(roleBindingCells),
		},
		"resource.k8s.io": {
			"deviceclasses": each(deviceClassCells), "devicetaintrules": each(deviceTaintCells), "resourceclaims": each(resourceClaimCells),
			"resourceclaimtemplates": each(resourceClaimTemplateCells), "resourceslices": each(resourceSliceCells),
		},
		"scheduling.k8s.io": {"priorityclasses": each(priorityClassCells)},
		"storage.k8s.io": {
			"csidrivers": each(driverCells), "csinodes": each(driverNodeCells), "storageclasses": storageClassRows,
			"volumeattachments": each(attachmentCells), "volumeattributesclasses": each(volumeAttributesCells),
		},
		"storagemigration.k8s.io": {"storageversionmigrations": each(migrationCells)},
	} {
		for resource, rows := range resources {
			table[schema.GroupResource{Group: group, Resource: resource}] = rows
		}
	}
	return table
})

// age is how long ago an object was created.
func age(object metav1.Object, now time.Time) string {
	return since(object.GetCreationTimestamp(), now)
}

// since is how long ago something was, in few characters.
func since(timestamp metav1.Time, now time.Time) string {
	if timestamp.IsZero() {
		return unknown
	}
	return duration.HumanDuration(now.Sub(timestamp.Time))
}

// or returns a text, or another when it is empty.
func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// valueOr returns what a pointer points at, or something else when it is nil.
func valueOr[T any](pointer *T, otherwise T) T {
	if pointer == nil {
		return otherwise
	}
	return *pointer
}

// few joins the first items of a list and counts the rest.
func few(items []string, most int, separator, nothing string) string {
	switch {
	case len(items) == 0:
		return nothing
	case len(items) <= most:
		return strings.Join(items, separator)
	}
	return fmt.Sprintf("%s + %d more...", strings.Join(items[:most], separator), len(items)-most)
}
