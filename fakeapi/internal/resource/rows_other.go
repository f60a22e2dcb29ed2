package resource

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// reviewRows are the kinds that are answered and not kept.
func reviewRows() []row {
	review := func(version groupVersion, kind, resource string, namespaced bool) row {
		return row{
			stored: version, kind: kind, resource: resource, namespaced: namespaced,
			verbs: []string{"create"}, storage: reviews,
		}
	}
	return []row{
		review(authenticationv1.SchemeGroupVersion, "SelfSubjectReview", "selfsubjectreviews", false),
		review(authenticationv1.SchemeGroupVersion, "TokenReview", "tokenreviews", false),
		review(authorizationv1.SchemeGroupVersion, "LocalSubjectAccessReview", "localsubjectaccessreviews", true),
		review(authorizationv1.SchemeGroupVersion, "SelfSubjectAccessReview", "selfsubjectaccessreviews", false),
		review(authorizationv1.SchemeGroupVersion, "SelfSubjectRulesReview", "selfsubjectrulesreviews", false),
		review(authorizationv1.SchemeGroupVersion, "SubjectAccessReview", "subjectaccessreviews", false),
	}
}

func certificateRows() []row {
	return []row{
		{
			stored: certificatesv1.SchemeGroupVersion, kind: "CertificateSigningRequest", resource: "certificatesigningrequests",
			shortNames: []string{"csr"},
			storage: func(v *view) rest.Storage {
				// Nobody owns what a client asked for: it does not change.
				v.resets = resetsOf(v.kind.GroupVersion().String(), fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("status"))
				return &REST{v}
			},
			subresources: []subresource{
				{name: "approval", verbs: []string{"get", "patch", "update"}, storage: func(parent *REST) rest.Storage {
					return part(prepareApproval(parent.now), checksUpdate(validateApproval),
						fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("status", "certificate"))(parent)
				}},
				{name: "status", verbs: []string{"get", "patch", "update"}, storage: func(parent *REST) rest.Storage {
					return checkedStatus(prepareCertificateStatus(parent.now), checksUpdate(validateCertificateStatus), fieldpath.MakePathOrDie("status", "conditions")).storage(parent)
				}},
			},
			strategy: strategy{
				name:          func(name string, _ bool) []string { return content.IsPathSegmentName(name) },
				prepareCreate: creating(prepareSigningRequest),
				prepareUpdate: updating(func(_ context.Context, request, old *certificatesv1.CertificateSigningRequest) {
					request.Spec = old.Spec
				}),
				validate: checks(validateSigningRequest),
				fields:   selects(signingRequestFields),
			},
		},
		{
			stored: certificatesv1.SchemeGroupVersion, hashed: "v1beta1", kind: "ClusterTrustBundle", resource: "clustertrustbundles",
			strategy: strategy{
				conditionalUpdate: true,
				name:              func(string, bool) []string { return nil }, // depends on the signer
				fields:            selects(trustBundleFields),
			},
		},
		{
			stored: certificatesv1.SchemeGroupVersion, hashed: "v1beta1", kind: "PodCertificateRequest", resource: "podcertificaterequests", namespaced: true,
			subresources: []subresource{statusOnly()},
			strategy:     strategy{conditionalUpdate: true, fields: selects(podCertificateFields)},
		},
	}
}

func networkingRows() []row {
	group := networkingv1.SchemeGroupVersion
	return []row{
		{
			stored: group, kind: "IngressClass", resource: "ingressclasses",
			strategy: strategy{
				generation: []string{"Spec"}, defaults: each(defaultIngressClass),
				validate: checks(validateIngressClass), validateUpdate: checksUpdate(validateIngressClassUpdate),
			},
		},
		{
			stored: group, kind: "Ingress", resource: "ingresses", namespaced: true, shortNames: []string{"ing"},
			subresources: []subresource{status(nil)},
			strategy: strategy{
				generation: []string{"Spec"}, warnings: warns(ingressWarnings),
				validate: checks(validateIngress), validateCreate: checks(validateNewIngress),
			},
		},
		{stored: group, kind: "IPAddress", resource: "ipaddresses", shortNames: []string{"ip"}, strategy: strategy{validate: checks(validateIPAddress)}},
		{
			stored: group, kind: "NetworkPolicy", resource: "networkpolicies", namespaced: true, shortNames: []string{"netpol"},
			strategy: strategy{generation: []string{"Spec"}, defaults: each(defaultNetworkPolicy), validate: checks(validateNetworkPolicy)},
		},
		{
			stored: group, kind: "ServiceCIDR", resource: "servicecidrs",
			subresources: []subresource{statusOnly()},
			strategy:     strategy{validate: checks(validateServiceCIDR), validateUpdate: checksUpdate(validateServiceCIDRUpdate)},
		},
	}
}

func rbacRows() []row {
	group := rbacv1.SchemeGroupVersion
	name := func(name string, _ bool) []string { return content.IsPathSegmentName(name) }
	return []row{
		{
			stored: group, kind: "ClusterRoleBinding", resource: "clusterrolebindings",
			strategy: strategy{
				createOnUpdate: true, grants: true, name: name, defaults: each(defaultClusterRoleBinding),
				validate: checks(func(b *rbacv1.ClusterRoleBinding) errorList {
					return validateRoleBinding(b.RoleRef, b.Subjects, "ClusterRole")
				}),
				validateUpdate: checksUpdate(func(b, old *rbacv1.ClusterRoleBinding) errorList {
					return changedRoleRef(b.RoleRef, old.RoleRef)
				}),
			},
		},
		{
			stored: group, kind: "ClusterRole", resource: "clusterroles", storage: clusterRoleStorage,
			strategy: strategy{createOnUpdate: true, grants: true, name: name, settle: each(settleClusterRole), validate: checks(validateClusterRole)},
		},
		{
			stored: group, kind: "RoleBinding", resource: "rolebindings", namespaced: true,
			strategy: strategy{
				createOnUpdate: true, grants: true, name: name, defaults: each(defaultRoleBinding),
				validate: checks(func(b *rbacv1.RoleBinding) errorList {
					return validateRoleBinding(b.RoleRef, b.Subjects, "Role", "ClusterRole")
				}),
				validateUpdate: checksUpdate(func(b, old *rbacv1.RoleBinding) errorList {
					return changedRoleRef(b.RoleRef, old.RoleRef)
				}),
			},
		},
		{
			stored: group, kind: "Role", resource: "roles", namespaced: true,
			strategy: strategy{createOnUpdate: true, grants: true, name: name, settle: each(settleRole), validate: checks(validateRole)},
		},
	}
}

func storageRows() []row {
	group := storagev1.SchemeGroupVersion
	return []row{
		{
			stored: group, kind: "CSIDriver", resource: "csidrivers",
			strategy: strategy{
				conditionalUpdate: true, returnsDeleted: true, defaults: each(defaultCSIDriver), prepareUpdate: updating(prepareCSIDriverUpdate),
				validate: checks(validateCSIDriver), validateUpdate: checksUpdate(validateCSIDriverUpdate), warnings: warns(csiDriverWarnings),
			},
		},
		{
			stored: group, kind: "CSINode", resource: "csinodes", subresources: []subresource{statusOnly()},
			strategy: strategy{conditionalUpdate: true, returnsDeleted: true},
		},
		{
			stored: group, kind: "CSIStorageCapacity", resource: "csistoragecapacities", namespaced: true,
			strategy: strategy{conditionalUpdate: true, validateUpdate: checksUpdate(validateStorageCapacityUpdate)},
		},
		{
			stored: group, kind: "StorageClass", resource: "storageclasses", shortNames: []string{"sc"},
			strategy: strategy{
				returnsDeleted: true, defaults: each(defaultStorageClass), validate: checks(validateStorageClass),
				validateUpdate: checksUpdate(validateStorageClassUpdate),
			},
		},
		{
			stored: group, kind: "VolumeAttachment", resource: "volumeattachments", subresources: []subresource{statusOnly()},
			strategy: strategy{
				conditionalUpdate: true, returnsDeleted: true,
				validate: checks(validateVolumeAttachment), validateUpdate: checksUpdate(validateVolumeAttachmentUpdate),
			},
		},
		{
			stored: group, kind: "VolumeAttributesClass", resource: "volumeattributesclasses", shortNames: []string{"vac"},
			strategy: strategy{returnsDeleted: true, validateUpdate: checksUpdate(validateAttributesClassUpdate)},
		},
	}
}

// otherRows are the groups of one or two kinds.
func otherRows() []row {
	flow, devices := flowcontrolv1.SchemeGroupVersion, resourcev1.SchemeGroupVersion
	return []row{
		{
			stored: schedulingv1.SchemeGroupVersion, kind: "PriorityClass", resource: "priorityclasses", shortNames: []string{"pc"},
			strategy: strategy{
				defaults:       each(defaultPriorityClass),
				prepareCreate:  creating(func(_ context.Context, class *schedulingv1.PriorityClass) { class.Generation = 1 }),
				validate:       checks(validatePriorityClass),
				validateUpdate: checksUpdate(validatePriorityClassUpdate),
			},
		},
		{
			stored: coordinationv1.SchemeGroupVersion, kind: "Lease", resource: "leases", namespaced: true,
			strategy: strategy{createOnUpdate: true, conditionalUpdate: true, validate: checks(validateLease)},
		},
		{
			stored: nodev1.SchemeGroupVersion, kind: "RuntimeClass", resource: "runtimeclasses",
			strategy: strategy{
				createOnUpdate: true, conditionalUpdate: true,
				validate: checks(validateRuntimeClass), validateUpdate: checksUpdate(validateRuntimeClassUpdate),
			},
		},
		{
			stored: discoveryv1.SchemeGroupVersion, kind: "EndpointSlice", resource: "endpointslices", namespaced: true,
			strategy: strategy{
				generation: []string{"AddressType", "Endpoints", "Ports", "Labels"}, defaults: each(defaultEndpointSlice), settle: each(settleEndpointSlice),
				validate: checks(validateEndpointSlice), validateUpdate: checksUpdate(validateEndpointSliceUpdate),
			},
		},
		{stored: devices, kind: "DeviceClass", resource: "deviceclasses", strategy: strategy{returnsDeleted: true, generation: []string{"Spec"}}},
		{
			stored: devices, hashed: "v1beta2", kind: "DeviceTaintRule", resource: "devicetaintrules", subresources: []subresource{statusOnly()},
			strategy: strategy{generation: []string{"Spec"}},
		},
		{
			stored: devices, kind: "ResourceClaim", resource: "resourceclaims", namespaced: true,
			subresources: []subresource{statusOnly()}, strategy: strategy{returnsDeleted: true, defaults: each(defaultResourceClaim)},
		},
		{
			stored: devices, kind: "ResourceClaimTemplate", resource: "resourceclaimtemplates", namespaced: true,
			strategy: strategy{returnsDeleted: true, defaults: each(defaultResourceClaimTemplate)},
		},
		{
			stored: devices, kind: "ResourceSlice", resource: "resourceslices",
			strategy: strategy{returnsDeleted: true, generation: []string{"Spec"}, fields: selects(resourceSliceFields)},
		},
		{
			stored: flow, kind: "FlowSchema", resource: "flowschemas", subresources: []subresource{statusOnly()},
			strategy: strategy{generation: []string{"Spec"}, defaults: each(defaultFlowSchema), validate: checks(validateFlowSchema)},
		},
		{
			stored: flow, kind: "PriorityLevelConfiguration", resource: "prioritylevelconfigurations", subresources: []subresource{statusOnly()},
			strategy: strategy{generation: []string{"Spec"}, defaults: each(defaultPriorityLevel), validate: checks(validatePriorityLevel)},
		},
		{
			stored: storagemigrationv1.SchemeGroupVersion, hashed: "v1beta1", kind: "StorageVersionMigration", resource: "storageversionmigrations",
			subresources: []subresource{statusOnly()}, strategy: strategy{conditionalUpdate: true},
		},
	}
}

// extensionRows are the kinds that make kinds.
func extensionRows() []row { return []row{definitionRow()} }
