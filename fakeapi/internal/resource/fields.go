package resource

import (
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// What field selectors may ask for, besides metadata.name and metadata.namespace.

func podFields(pod *corev1.Pod) fields.Set {
	return fields.Set{
		"spec.nodeName":            pod.Spec.NodeName,
		"spec.restartPolicy":       string(pod.Spec.RestartPolicy),
		"spec.schedulerName":       pod.Spec.SchedulerName,
		"spec.serviceAccountName":  pod.Spec.ServiceAccountName,
		"spec.hostNetwork":         strconv.FormatBool(pod.Spec.HostNetwork),
		"status.phase":             string(pod.Status.Phase),
		"status.podIP":             pod.Status.PodIP,
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

func replicaSetFields(set *appsv1.ReplicaSet) fields.Set {
	return fields.Set{"status.replicas": strconv.Itoa(int(set.Status.Replicas))}
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
	return fields.Set{"spec.driver": slice.Spec.Driver, "spec.nodeName": node}
}
