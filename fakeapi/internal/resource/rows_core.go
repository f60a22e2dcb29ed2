package resource

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

func coreRows() []row {
	bindings := coreKind("Binding", "bindings", true)
	bindings.verbs = []string{"create"}
	bindings.storage = legacyBindings

	componentStatuses := coreKind("ComponentStatus", "componentstatuses", false, "cs")
	componentStatuses.verbs = []string{"get", "list"}
	componentStatuses.storage = func(v *view) rest.Storage { return newReadOnlyREST(&REST{v}) }

	configMaps := coreKind("ConfigMap", "configmaps", true, "cm")
	configMaps.strategy.validate = checks(validateConfigMap)
	configMaps.strategy.validateUpdate = checksUpdate(validateConfigMapUpdate)

	endpoints := coreKind("Endpoints", "endpoints", true, "ep")
	endpoints.singular = "endpoints"
	endpoints.strategy.createOnUpdate = true
	endpoints.strategy.defaults = each(defaultEndpoints)
	endpoints.strategy.validate = checks(validateEndpoints)

	limitRanges := coreKind("LimitRange", "limitranges", true, "limits")
	limitRanges.strategy.createOnUpdate = true
	limitRanges.strategy.defaults = each(defaultLimitRange)
	limitRanges.strategy.validate = checks(validateLimitRange)

	volumes := coreKind("PersistentVolume", "persistentvolumes", false, "pv")
	volumes.subresources = []subresource{status(nil)}
	volumes.strategy.returnsDeleted = true
	volumes.strategy.defaults = each(defaultVolumeOfCluster)
	volumes.strategy.validate = checks(validateVolumeOfCluster)
	volumes.strategy.validateUpdate = checksUpdate(validateVolumeOfClusterUpdate)
	volumes.storage = func(v *view) rest.Storage {
		v.strategy.prepareCreate = creating(func(_ context.Context, volume *corev1.PersistentVolume) {
			now := v.now()
			volume.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: &now}
		})
		return &REST{v}
	}

	claims := coreKind("PersistentVolumeClaim", "persistentvolumeclaims", true, "pvc")
	claims.subresources = []subresource{status(nil)}
	claims.strategy.returnsDeleted = true
	claims.strategy.defaults = each(defaultClaim)
	claims.strategy.prepareCreate = creating(prepareClaim)
	claims.strategy.validate = checks(validateClaim)
	claims.strategy.validateUpdate = checksUpdate(validateClaimUpdate)

	templates := coreKind("PodTemplate", "podtemplates", true)
	templates.strategy.returnsDeleted = true
	templates.strategy.generation = []string{"Template"}
	templates.strategy.defaults = each(defaultTemplate)
	templates.strategy.validate = checks(validatePodTemplateKind)
	templates.strategy.warnings = templateWarnings(func(t *corev1.PodTemplate) *corev1.PodTemplateSpec { return &t.Template }, "template")

	quotas := coreKind("ResourceQuota", "resourcequotas", true, "quota")
	quotas.subresources = []subresource{status(nil)}
	quotas.strategy.returnsDeleted = true
	quotas.strategy.validate = checks(validateQuota)
	quotas.strategy.validateUpdate = checksUpdate(validateQuotaUpdate)

	secrets := coreKind("Secret", "secrets", true)
	secrets.strategy.defaults = each(defaultSecret)
	secrets.strategy.validate = checks(validateSecret)
	secrets.strategy.validateUpdate = checksUpdate(validateSecretUpdate)
	secrets.strategy.fields = selects(secretFields)
	secrets.strategy.warnings = warns(secretWarnings)

	accounts := coreKind("ServiceAccount", "serviceaccounts", true, "sa")
	accounts.strategy.returnsDeleted = true
	accounts.strategy.warnings = warns(serviceAccountWarnings)
	accounts.subresources = []subresource{{
		name: "token", verbs: []string{"create"}, kindIn: always(authenticationv1.SchemeGroupVersion.WithKind("TokenRequest")),
		storage: func(parent *REST) rest.Storage { return &tokenREST{parent} },
	}}

	return []row{
		bindings, componentStatuses, configMaps, endpoints, limitRanges, namespaceRow(), nodeRow(), claims, volumes,
		podRow(), templates, replicationControllerRow(), quotas, secrets, accounts, serviceRow(),
	}
}

func namespaceRow() row {
	namespaces := coreKind("Namespace", "namespaces", false, "ns")
	namespaces.verbs = []string{"create", "delete", "get", "list", "patch", "update", "watch"}
	namespaces.storage = namespaceStorage
	namespaces.strategy = strategy{
		returnsDeleted: true,
		name:           validation.ValidateNamespaceName,
		defaults:       each(defaultNamespace),
		prepareCreate:  creating(prepareNamespace),
		prepareUpdate:  updating(prepareNamespaceUpdate),
		validate:       checks(validateNamespace),
		fields:         selects(namespaceFields),
		mayFinish:      namespaceMayFinish,
	}
	finalize := part(updating(prepareNamespaceFinalize), checksUpdate(validateNamespaceFinalize), fieldpath.MakePathOrDie("status"))
	namespaces.subresources = []subresource{
		{name: "finalize", verbs: []string{"update"}, storage: func(parent *REST) rest.Storage {
			return updateOnlyREST{finalize(parent).(*partREST)}
		}},
		checkedStatus(nil, checksUpdate(validateNamespaceStatus)),
	}
	return namespaces
}

func nodeRow() row {
	nodes := coreKind("Node", "nodes", false, "no")
	nodes.strategy.keepsStatus = true
	nodes.strategy.defaults = each(defaultNode)
	nodes.strategy.validate = checks(validateNode)
	nodes.strategy.validateUpdate = checksUpdate(validateNodeUpdate)
	nodes.strategy.fields = selects(nodeFields)
	nodes.subresources = []subresource{
		proxied("NodeProxyOptions", func() runtime.Object { return &corev1.NodeProxyOptions{} }, refuseNodeProxy),
		status(nil),
	}
	return nodes
}

func podRow() row {
	pods := coreKind("Pod", "pods", true, "po")
	pods.categories = []string{"all"}
	pods.storage = func(v *view) rest.Storage {
		v.strategy.prepareCreate = creating(func(ctx context.Context, pod *corev1.Pod) {
			completeNewPod(ctx, pod)
			preparePod(pod, v.now())
		})
		return &REST{v}
	}
	pods.strategy = strategy{
		returnsDeleted: true,
		generation:     []string{"Spec"},
		defaults:       each(defaultPod),
		validate:       checks(validatePod),
		validateCreate: checks(validateNewPod),
		validateUpdate: checksUpdate(validatePodUpdate),
		warnings:       warns(podWarnings),
		fields:         selects(podFields),
		graceful:       gracefulPod,
	}
	podStatus := checkedStatus(updating(preparePodStatus), checksUpdate(validatePodStatus),
		fieldpath.MakePathOrDie("metadata", "deletionTimestamp"), fieldpath.MakePathOrDie("metadata", "ownerReferences"))
	readWrite := []string{"get", "patch", "update"}
	pods.subresources = []subresource{
		stream("attach", "PodAttachOptions", func() runtime.Object { return &corev1.PodAttachOptions{} }),
		{name: "binding", kindIn: named("Binding"), verbs: []string{"create"}, storage: func(parent *REST) rest.Storage {
			return &bindingREST{parent}
		}},
		{name: "ephemeralcontainers", verbs: readWrite, storage: part(updating(preparePodEphemeral), checksUpdate(validateEphemeralContainers))},
		{name: "eviction", kindIn: always(policyv1.SchemeGroupVersion.WithKind("Eviction")), verbs: []string{"create"}, storage: func(parent *REST) rest.Storage {
			return &evictionREST{parent}
		}},
		stream("exec", "PodExecOptions", func() runtime.Object { return &corev1.PodExecOptions{} }),
		{name: "log", verbs: []string{"get"}, storage: func(parent *REST) rest.Storage { return &logREST{parent} }},
		stream("portforward", "PodPortForwardOptions", func() runtime.Object { return &corev1.PodPortForwardOptions{} }),
		proxied("PodProxyOptions", func() runtime.Object { return &corev1.PodProxyOptions{} }, refusePodProxy),
		{name: "resize", verbs: readWrite, storage: part(updating(preparePodResize), checksUpdate(validatePodResize))},
		podStatus,
	}
	return pods
}

func replicationControllerRow() row {
	controllers := coreKind("ReplicationController", "replicationcontrollers", true, "rc")
	controllers.categories = []string{"all"}
	controllers.strategy = strategy{
		generation: []string{"Spec"},
		defaults:   each(defaultReplicationController),
		validate:   checks(validateReplicationController),
		warnings: withNameWarning(templateWarnings(func(rc *corev1.ReplicationController) *corev1.PodTemplateSpec {
			return rc.Spec.Template
		}, "spec", "template")),
		fields:     selects(replicationControllerFields),
		collection: rest.OrphanDependents,
	}
	controllers.subresources = []subresource{
		scaled(func(rc *corev1.ReplicationController) (*int32, int32, *metav1.LabelSelector) {
			return rc.Spec.Replicas, rc.Status.Replicas, &metav1.LabelSelector{MatchLabels: rc.Spec.Selector}
		}, func(rc *corev1.ReplicationController, replicas int32) { rc.Spec.Replicas = &replicas }),
		checkedStatus(nil, checksUpdate(validateReplicationControllerStatus)),
	}
	return controllers
}

func serviceRow() row {
	services := coreKind("Service", "services", true, "svc")
	services.categories = []string{"all"}
	services.storage = serviceStorage
	services.strategy = strategy{
		createOnUpdate: true,
		returnsDeleted: true,
		name:           validation.NameIsDNSLabel,
		defaults:       each(defaultService),
		validateUpdate: checksUpdate(validateServiceUpdate),
		warnings:       warns(serviceWarnings),
		fields:         selects(serviceFields),
	}
	services.subresources = []subresource{
		proxied("ServiceProxyOptions", func() runtime.Object { return &corev1.ServiceProxyOptions{} }, refuseServiceProxy),
		checkedStatus(nil, checksUpdate(validateServiceStatus)),
	}
	return services
}

// eventRows are the events, which two groups serve.
func eventRows() []row {
	events := coreKind("Event", "events", true, "ev")
	events.served = []servedVersion{{GroupVersion: corev1.SchemeGroupVersion}, {GroupVersion: eventsv1.SchemeGroupVersion}}
	events.storage = eventStorage
	events.strategy = strategy{
		createOnUpdate: true,
		collection:     rest.Unsupported,
		fields:         selects(eventFields),
		selectable:     selectableEventField,
	}
	return []row{events}
}
