package resource

import (
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Of the kinds by which a cluster is set up.

func validateStorageClass(class *storagev1.StorageClass) errorList {
	var errs errorList
	for _, key := range sortedKeys(class.Parameters) {
		if key == "" {
			errs = append(errs, field.Invalid(field.NewPath("parameters"), key, "field can not be empty."))
		}
	}
	errs = append(errs, validateOptionalOneOf(field.NewPath("reclaimPolicy"), class.ReclaimPolicy, "Delete", "Retain")...)
	errs = append(errs, validateOptionalOneOf(field.NewPath("volumeBindingMode"), class.VolumeBindingMode,
		storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer)...)
	return append(errs, required(field.NewPath("provisioner"), class.Provisioner)...)
}

func validateStorageClassUpdate(class, old *storagev1.StorageClass) errorList {
	return slices.Concat(
		immutableUnnamed(class.Parameters, old.Parameters, "parameters"),
		immutableUnnamed(class.Provisioner, old.Provisioner, "provisioner"),
		immutableUnnamed(class.ReclaimPolicy, old.ReclaimPolicy, "reclaimPolicy"),
		immutableUnnamed(class.VolumeBindingMode, old.VolumeBindingMode, "volumeBindingMode"),
	)
}

func validateCSIDriver(driver *storagev1.CSIDriver) errorList {
	path := field.NewPath("spec")
	errs := validateOptionalOneOf(path.Child("fsGroupPolicy"), driver.Spec.FSGroupPolicy,
		storagev1.FileFSGroupPolicy, storagev1.NoneFSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	for _, mode := range driver.Spec.VolumeLifecycleModes {
		errs = append(errs, validateOneOf(path.Child("volumeLifecycleModes"), mode,
			storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral)...)
	}
	return errs
}

func validateCSIDriverUpdate(driver, old *storagev1.CSIDriver) errorList {
	return slices.Concat(
		immutable(driver.Spec.AttachRequired, old.Spec.AttachRequired, "spec", "attachedRequired"), // as the real API server writes it
		immutable(driver.Spec.VolumeLifecycleModes, old.Spec.VolumeLifecycleModes, "spec", "volumeLifecycleModes"),
	)
}

func validateStorageCapacityUpdate(capacity, old *storagev1.CSIStorageCapacity) errorList {
	return append(immutable(capacity.NodeTopology, old.NodeTopology, "nodeTopology"),
		immutable(capacity.StorageClassName, old.StorageClassName, "storageClassName")...)
}

func validateVolumeAttachment(attachment *storagev1.VolumeAttachment) errorList {
	spec, path := &attachment.Spec, field.NewPath("spec")
	var errs errorList
	switch volume, inline := spec.Source.PersistentVolumeName, spec.Source.InlineVolumeSpec; {
	case volume == nil && inline == nil:
		errs = append(errs, field.Required(path.Child("source"), "must specify exactly one of inlineVolumeSpec and persistentVolumeName"))
	case volume != nil && inline != nil:
		errs = append(errs, field.Forbidden(path.Child("source"), "must specify exactly one of inlineVolumeSpec and persistentVolumeName"))
	}
	errs = append(errs, dnsSubdomain(path.Child("nodeName"), spec.NodeName)...)
	return append(errs, required(path.Child("attacher"), spec.Attacher)...)
}

func validateVolumeAttachmentUpdate(attachment, old *storagev1.VolumeAttachment) errorList {
	return immutableUnnamed(attachment.Spec, old.Spec, "spec")
}

func validateAttributesClassUpdate(class, old *storagev1.VolumeAttributesClass) errorList {
	var errs errorList
	if class.DriverName != old.DriverName {
		errs = append(errs, field.Forbidden(field.NewPath("driverName"), "updates to driverName are forbidden."))
	}
	if !equality.Semantic.DeepEqual(class.Parameters, old.Parameters) {
		errs = append(errs, field.Forbidden(field.NewPath("parameters"), "updates to parameters are forbidden."))
	}
	return errs
}

// highestPriority is the highest value of a priority class that is not the system's.
const highestPriority = 1000000000

func validatePriorityClass(class *schedulingv1.PriorityClass) errorList {
	var errs errorList
	system := class.Name == "system-cluster-critical" || class.Name == "system-node-critical"
	switch {
	case system:
	case strings.HasPrefix(class.Name, "system-"):
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "name"),
			"priority class names with 'system-' prefix are reserved for system use only. error: "+class.Name+" is not a known system priority class"))
	case class.Value > highestPriority:
		errs = append(errs, field.Forbidden(field.NewPath("value"), "maximum allowed value of a user defined priority is 1000000000"))
	}
	return append(errs, validateOptionalOneOf(field.NewPath("preemptionPolicy"), class.PreemptionPolicy, "PreemptLowerPriority", "Never")...)
}

func validatePriorityClassUpdate(class, old *schedulingv1.PriorityClass) errorList {
	var errs errorList
	if class.Value != old.Value {
		errs = append(errs, field.Forbidden(field.NewPath("value"), "may not be changed in an update."))
	}
	return append(errs, immutable(class.PreemptionPolicy, old.PreemptionPolicy, "preemptionPolicy")...)
}

func validateRuntimeClass(class *nodev1.RuntimeClass) errorList {
	if class.Handler == "" {
		return required(field.NewPath("handler"), class.Handler)
	}
	return dnsLabel(field.NewPath("handler"), class.Handler)
}

func validateRuntimeClassUpdate(class, old *nodev1.RuntimeClass) errorList {
	return immutableUnnamed(class.Handler, old.Handler, "handler")
}

func validateFlowSchema(schema *flowcontrolv1.FlowSchema) errorList {
	path := field.NewPath("spec")
	var errs errorList
	if precedence := schema.Spec.MatchingPrecedence; precedence <= 0 {
		errs = append(errs, field.Invalid(path.Child("matchingPrecedence"), precedence, "must be a positive value"))
	} else if precedence > flowcontrolv1.FlowSchemaMaxMatchingPrecedence {
		errs = append(errs, field.Invalid(path.Child("matchingPrecedence"), precedence, "must not be greater than 10000"))
	}
	if schema.Spec.PriorityLevelConfiguration.Name == "" {
		errs = append(errs, field.Required(path.Child("priorityLevelConfiguration", "name"), "must reference a priority level"))
	}
	return errs
}

func validatePriorityLevel(level *flowcontrolv1.PriorityLevelConfiguration) errorList {
	return validateOneOf(field.NewPath("spec", "type"), level.Spec.Type,
		flowcontrolv1.PriorityLevelEnablementExempt, flowcontrolv1.PriorityLevelEnablementLimited)
}
