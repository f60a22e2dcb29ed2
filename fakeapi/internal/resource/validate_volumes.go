package resource

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// volumeNames are the names of a pod's volumes.
func volumeNames(spec *corev1.PodSpec) map[string]bool {
	names := map[string]bool{}
	for _, volume := range spec.Volumes {
		names[volume.Name] = true
	}
	return names
}

const (
	noVolumeType       = "must specify a volume type"
	severalVolumeTypes = "may not specify more than 1 volume type"
)

func validateVolumes(volumes []corev1.Volume, path *field.Path) errorList {
	var errs errorList
	names := map[string]bool{}
	for i := range volumes {
		volume, at := &volumes[i], path.Index(i)
		errs = append(errs, exactlyOne(at, noVolumeType, severalVolumeTypes, volumeSources(&volume.VolumeSource))...)
		switch at := at.Child("name"); {
		case volume.Name == "":
			errs = append(errs, field.Required(at, ""))
		case names[volume.Name]:
			errs = append(errs, field.Duplicate(at, volume.Name))
		default:
			errs = append(errs, dnsLabel(at, volume.Name)...)
		}
		names[volume.Name] = true
	}
	return errs
}

// volumeSources are the kinds of volumes that a pod may have.
func volumeSources(s *corev1.VolumeSource) []choice {
	return []choice{
		{"emptyDir", s.EmptyDir != nil, nil},
		{"hostPath", s.HostPath != nil, func(path *field.Path) errorList { return required(path.Child("path"), s.HostPath.Path) }},
		{"gitRepo", s.GitRepo != nil, nil},
		{"gcePersistentDisk", s.GCEPersistentDisk != nil, nil},
		{"awsElasticBlockStore", s.AWSElasticBlockStore != nil, nil},
		{"secret", s.Secret != nil, func(path *field.Path) errorList { return required(path.Child("secretName"), s.Secret.SecretName) }},
		{"nfs", s.NFS != nil, func(path *field.Path) errorList { return validateNFS(s.NFS, path) }},
		{"iscsi", s.ISCSI != nil, nil},
		{"glusterfs", s.Glusterfs != nil, nil},
		{"persistentVolumeClaim", s.PersistentVolumeClaim != nil, func(path *field.Path) errorList {
			return required(path.Child("claimName"), s.PersistentVolumeClaim.ClaimName)
		}},
		{"rbd", s.RBD != nil, nil},
		{"cinder", s.Cinder != nil, nil},
		{"cephFS", s.CephFS != nil, nil},
		{"flocker", s.Flocker != nil, nil},
		{"downwardAPI", s.DownwardAPI != nil, nil},
		{"fc", s.FC != nil, nil},
		{"flexVolume", s.FlexVolume != nil, nil},
		{"configMap", s.ConfigMap != nil, func(path *field.Path) errorList { return required(path.Child("name"), s.ConfigMap.Name) }},
		{"azureFile", s.AzureFile != nil, nil},
		{"vsphereVolume", s.VsphereVolume != nil, nil},
		{"photonPersistentDisk", s.PhotonPersistentDisk != nil, nil},
		{"portworxVolume", s.PortworxVolume != nil, nil},
		{"azureDisk", s.AzureDisk != nil, nil},
		{"storageos", s.StorageOS != nil, nil},
		{"projected", s.Projected != nil, nil},
		{"quobyte", s.Quobyte != nil, nil},
		{"scaleIO", s.ScaleIO != nil, nil},
		{"csi", s.CSI != nil, nil},
		{"ephemeral", s.Ephemeral != nil, nil},
		{"image", s.Image != nil, nil},
	}
}

// persistentVolumeSources are the kinds of volumes of a cluster.
func persistentVolumeSources(s *corev1.PersistentVolumeSource) []choice {
	return []choice{
		{"hostPath", s.HostPath != nil, func(path *field.Path) errorList { return required(path.Child("path"), s.HostPath.Path) }},
		{"gcePersistentDisk", s.GCEPersistentDisk != nil, nil},
		{"awsElasticBlockStore", s.AWSElasticBlockStore != nil, nil},
		{"glusterfs", s.Glusterfs != nil, nil},
		{"flocker", s.Flocker != nil, nil},
		{"nfs", s.NFS != nil, func(path *field.Path) errorList { return validateNFS(s.NFS, path) }},
		{"rbd", s.RBD != nil, nil},
		{"quobyte", s.Quobyte != nil, nil},
		{"cephFS", s.CephFS != nil, nil},
		{"iscsi", s.ISCSI != nil, nil},
		{"cinder", s.Cinder != nil, nil},
		{"fc", s.FC != nil, nil},
		{"flexVolume", s.FlexVolume != nil, nil},
		{"azureFile", s.AzureFile != nil, nil},
		{"vsphereVolume", s.VsphereVolume != nil, nil},
		{"photonPersistentDisk", s.PhotonPersistentDisk != nil, nil},
		{"portworxVolume", s.PortworxVolume != nil, nil},
		{"azureDisk", s.AzureDisk != nil, nil},
		{"scaleIO", s.ScaleIO != nil, nil},
		{"local", s.Local != nil, nil},
		{"storageos", s.StorageOS != nil, nil},
		{"csi", s.CSI != nil, nil},
	}
}

func validateNFS(nfs *corev1.NFSVolumeSource, path *field.Path) errorList {
	errs := append(required(path.Child("server"), nfs.Server), required(path.Child("path"), nfs.Path)...)
	if nfs.Path != "" && !strings.HasPrefix(nfs.Path, "/") {
		errs = append(errs, field.Invalid(path.Child("path"), nfs.Path, "must be an absolute path"))
	}
	return errs
}

func validateVolumeOfCluster(volume *corev1.PersistentVolume) errorList {
	spec, path := &volume.Spec, field.NewPath("spec")
	var errs errorList
	if len(spec.AccessModes) == 0 {
		errs = append(errs, field.Required(path.Child("accessModes"), ""))
	}
	errs = append(errs, validateAccessModes(spec.AccessModes, path.Child("accessModes"))...)
	if len(spec.Capacity) == 0 {
		errs = append(errs, field.Required(path.Child("capacity"), ""))
	}
	if size, ok := spec.Capacity[corev1.ResourceStorage]; !ok || len(spec.Capacity) > 1 {
		errs = append(errs, field.NotSupported(path.Child("capacity"), spec.Capacity, []corev1.ResourceName{corev1.ResourceStorage}))
	} else {
		errs = append(errs, positiveQuantity(path.Child("capacity").Key(string(corev1.ResourceStorage)), size)...)
	}
	errs = append(errs, validateOneOf(path.Child("persistentVolumeReclaimPolicy"), spec.PersistentVolumeReclaimPolicy,
		corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle, corev1.PersistentVolumeReclaimRetain)...)
	errs = append(errs, exactlyOne(path, noVolumeType, severalVolumeTypes, persistentVolumeSources(&spec.PersistentVolumeSource))...)
	if spec.Local != nil && spec.NodeAffinity == nil {
		errs = append(errs, field.Required(path.Child("nodeAffinity"), "Local volume requires node affinity"))
	}
	if spec.StorageClassName != "" {
		errs = append(errs, dnsSubdomain(path.Child("storageClassName"), spec.StorageClassName)...)
	}
	return append(errs, validateVolumeMode(path.Child("volumeMode"), spec.VolumeMode)...)
}

func validateVolumeOfClusterUpdate(volume, old *corev1.PersistentVolume) errorList {
	var errs errorList
	if !equality.Semantic.DeepEqual(volume.Spec.PersistentVolumeSource, old.Spec.PersistentVolumeSource) {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "persistentvolumesource"), "spec.persistentvolumesource is immutable after creation"))
	}
	return append(errs, immutable(volume.Spec.VolumeMode, old.Spec.VolumeMode, "volumeMode")...)
}

func validateAccessModes(modes []corev1.PersistentVolumeAccessMode, path *field.Path) errorList {
	var errs errorList
	for _, mode := range modes {
		errs = append(errs, validateOneOf(path, mode, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod)...)
	}
	if len(errs) == 0 && len(modes) > 1 && slices.Contains(modes, corev1.ReadWriteOncePod) {
		errs = append(errs, field.Forbidden(path, "may not use ReadWriteOncePod with other access modes"))
	}
	return errs
}

func validateVolumeMode(path *field.Path, mode *corev1.PersistentVolumeMode) errorList {
	return validateOptionalOneOf(path, mode, corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)
}

func positiveQuantity(path *field.Path, quantity resource.Quantity) errorList {
	if quantity.Sign() > 0 {
		return nil
	}
	return errorList{field.Invalid(path, quantity.String(), "must be greater than zero")}
}

func validateClaim(claim *corev1.PersistentVolumeClaim) errorList {
	return validateClaimSpec(&claim.Spec, field.NewPath("spec"))
}

func validateClaimSpec(spec *corev1.PersistentVolumeClaimSpec, path *field.Path) errorList {
	var errs errorList
	if len(spec.AccessModes) == 0 {
		errs = append(errs, field.Required(path.Child("accessModes"), "at least 1 access mode is required"))
	}
	if spec.Selector != nil {
		errs = append(errs, validateLabelSelector(spec.Selector, path.Child("selector"))...)
	}
	errs = append(errs, validateAccessModes(spec.AccessModes, path.Child("accessModes"))...)
	at := path.Child("resources").Key(string(corev1.ResourceStorage))
	if size, ok := spec.Resources.Requests[corev1.ResourceStorage]; ok {
		errs = append(errs, positiveQuantity(at, size)...)
	} else {
		errs = append(errs, field.Required(at, ""))
	}
	if name := spec.StorageClassName; name != nil && *name != "" {
		errs = append(errs, dnsSubdomain(path.Child("storageClassName"), *name)...)
	}
	return append(errs, validateVolumeMode(path.Child("volumeMode"), spec.VolumeMode)...)
}

// validateClaimUpdate lets a claim get its volume once, and a bound one ask for more.
func validateClaimUpdate(claim, old *corev1.PersistentVolumeClaim) errorList {
	var errs errorList
	changed := claim.Spec.DeepCopy()
	if claim.Status.Phase == corev1.ClaimBound {
		changed.Resources, changed.VolumeAttributesClassName = old.Spec.Resources, old.Spec.VolumeAttributesClassName
	}
	if old.Spec.VolumeName == "" {
		changed.VolumeName = ""
	}
	if !equality.Semantic.DeepEqual(*changed, old.Spec) {
		errs = append(errs, field.Forbidden(field.NewPath("spec"),
			"spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"))
	}
	size, before := claim.Spec.Resources.Requests[corev1.ResourceStorage], old.Spec.Resources.Requests[corev1.ResourceStorage]
	if size.Cmp(before) < 0 && size.Cmp(old.Status.Capacity[corev1.ResourceStorage]) <= 0 {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "resources", "requests", "storage"), "field can not be less than status.capacity"))
	}
	return append(errs, immutable(claim.Spec.VolumeMode, old.Spec.VolumeMode, "volumeMode")...)
}
