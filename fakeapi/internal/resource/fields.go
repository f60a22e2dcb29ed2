package resource

import (
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// knownFields accepts the field selectors that a kind supports besides the name and, in most kinds, the namespace. set
// holds their names.
func knownFields(row *row, gvk schema.GroupVersionKind, set fields.Set) runtime.FieldLabelConversionFunc {
	hasNamespace := row.namespaced && gvk.GroupKind() != (schema.GroupKind{Group: certificatesv1.GroupName, Kind: "PodCertificateRequest"})
	pods := gvk.GroupKind() == (schema.GroupKind{Kind: "Pod"})
	return func(label, value string) (string, string, error) {
		if pods && label == "spec.host" { // as it was once called
			label = "spec.nodeName"
		}
		known := set.Has(label) && (row.strategy.selectable == nil || row.strategy.selectable(gvk.GroupVersion(), label))
		if known || label == "metadata.name" || label == "metadata.namespace" && hasNamespace {
			return label, value, nil
		}
		switch gvk.GroupKind() {
		case schema.GroupKind{Group: batchv1.GroupName, Kind: "Job"}:
			return "", "", fmt.Errorf("field label %q not supported for Job", label)
		case schema.GroupKind{Group: resourcev1.GroupName, Kind: "ResourceSlice"}:
			return "", "", fmt.Errorf("field label not supported for %s: %s", gvk, label)
		}
		return "", "", fmt.Errorf("field label not supported: %s", label)
	}
}

// What field selectors may ask for, besides metadata.name and metadata.namespace.

func podFields(pod *corev1.Pod) fields.Set {
	ip := pod.Status.PodIP
	if len(pod.Status.PodIPs) > 0 {
		ip = pod.Status.PodIPs[0].IP
	}
	return fields.Set{
		"spec.nodeName":            pod.Spec.NodeName,
		"spec.restartPolicy":       string(pod.Spec.RestartPolicy),
		"spec.schedulerName":       pod.Spec.SchedulerName,
		"spec.serviceAccountName":  pod.Spec.ServiceAccountName,
		"spec.hostNetwork":         strconv.FormatBool(pod.Spec.HostNetwork),
		"status.phase":             string(pod.Status.Phase),
		"status.podIP":             ip,
		"status.podIPs":            "", // may be asked for and is never there
		"status.nominatedNodeName": pod.Status.NominatedNodeName,
	}
}

func nodeFields(node *corev1.Node) fields.Set {
	return fields.Set{"spec.unschedulable": strconv.FormatBool(node.Spec.Unschedulable)}
}

func namespaceFields(namespace *corev1.Namespace) fields.Set {
	return fields.Set{"status.phase": string(namespace.Status.Phase)}
}

func secretFields(secret *corev1.Secret) fields.Set {
	return fields.Set{"type": string(secret.Type)}
}

func serviceFields(service *corev1.Service) fields.Set {
	return fields.Set{"spec.clusterIP": service.Spec.ClusterIP, "spec.type": string(service.Spec.Type)}
}

func replicationControllerFields(controller *corev1.ReplicationController) fields.Set {
	return fields.Set{"status.replicas": strconv.Itoa(int(controller.Status.Replicas))}
}

func jobFields(job *batchv1.Job) fields.Set {
	return fields.Set{"status.successful": strconv.Itoa(int(job.Status.Succeeded))}
}

func eventFields(event *corev1.Event) fields.Set {
	source := event.Source.Component
	if source == "" {
		source = event.ReportingController
	}
	set := fields.Set{
		"reason": event.Reason, "type": event.Type,
		"reportingComponent": event.ReportingController, "source": source,
		// As events.k8s.io names it.
		"reportingController": event.ReportingController,
	}
	for name, value := range map[string]string{
		"kind":            event.InvolvedObject.Kind,
		"namespace":       event.InvolvedObject.Namespace,
		"name":            event.InvolvedObject.Name,
		"uid":             string(event.InvolvedObject.UID),
		"apiVersion":      event.InvolvedObject.APIVersion,
		"resourceVersion": event.InvolvedObject.ResourceVersion,
		"fieldPath":       event.InvolvedObject.FieldPath,
	} {
		set["involvedObject."+name] = value
		set["regarding."+name] = value
	}
	return set
}

// selectableEventField tells the names of core events from those of events.k8s.io.
func selectableEventField(version groupVersion, name string) bool {
	newName := strings.HasPrefix(name, "regarding.") || name == "reportingController"
	oldName := strings.HasPrefix(name, "involvedObject.") || name == "reportingComponent" || name == "source"
	if version.Group == eventsv1.GroupName {
		return !oldName
	}
	return !newName
}

func signingRequestFields(request *certificatesv1.CertificateSigningRequest) fields.Set {
	return fields.Set{"spec.signerName": request.Spec.SignerName}
}

func trustBundleFields(bundle *certificatesv1.ClusterTrustBundle) fields.Set {
	return fields.Set{"spec.signerName": bundle.Spec.SignerName}
}

func podCertificateFields(request *certificatesv1.PodCertificateRequest) fields.Set {
	return fields.Set{
		"spec.signerName": request.Spec.SignerName, "spec.podName": request.Spec.PodName,
		"spec.nodeName": string(request.Spec.NodeName),
	}
}

func resourceSliceFields(slice *resourcev1.ResourceSlice) fields.Set {
	node := ""
	if slice.Spec.NodeName != nil {
		node = *slice.Spec.NodeName
	}
	return fields.Set{"spec.driver": slice.Spec.Driver, "spec.nodeName": node, "spec.pool.name": slice.Spec.Pool.Name}
}
