package printers

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func driverCells(driver *storagev1.CSIDriver, now time.Time) []any {
	var modes, audiences []string
	for _, mode := range driver.Spec.VolumeLifecycleModes {
		modes = append(modes, string(mode))
	}
	for _, request := range driver.Spec.TokenRequests {
		audiences = append(audiences, request.Audience)
	}
	requests := unset
	if driver.Spec.TokenRequests != nil {
		requests = strings.Join(audiences, ",")
	}
	return []any{
		driver.Name, valueOr(driver.Spec.AttachRequired, true), valueOr(driver.Spec.PodInfoOnMount, false),
		valueOr(driver.Spec.StorageCapacity, false), requests, valueOr(driver.Spec.RequiresRepublish, false),
		or(strings.Join(modes, ","), none), age(driver, now),
	}
}

func driverNodeCells(node *storagev1.CSINode, now time.Time) []any {
	return []any{node.Name, int64(len(node.Spec.Drivers)), age(node, now)}
}

// storageClassRows marks the class that is the default one, which only a list tells.
func storageClassRows(objects []runtime.Object, list bool, now time.Time) []metav1.TableRow {
	rows := each(storageClassCells)(objects, list, now)
	if !list {
		return rows
	}
	found, latest := -1, &storagev1.StorageClass{}
	for i, object := range objects {
		class := object.(*storagev1.StorageClass)
		isDefault := class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
			class.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
		later := latest.CreationTimestamp.Before(&class.CreationTimestamp)
		sameTime := latest.CreationTimestamp.Equal(&class.CreationTimestamp)
		if isDefault && (found < 0 || later || sameTime && class.Name < latest.Name) {
			found, latest = i, class
		}
	}
	if found >= 0 {
		rows[found].Cells[0] = latest.Name + " (default)"
	}
	return rows
}

func storageClassCells(class *storagev1.StorageClass, now time.Time) []any {
	return []any{
		class.Name, class.Provisioner, string(valueOr(class.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)),
		string(valueOr(class.VolumeBindingMode, storagev1.VolumeBindingImmediate)), valueOr(class.AllowVolumeExpansion, false), age(class, now),
	}
}

func attachmentCells(attachment *storagev1.VolumeAttachment, now time.Time) []any {
	return []any{
		attachment.Name, attachment.Spec.Attacher, valueOr(attachment.Spec.Source.PersistentVolumeName, ""), attachment.Spec.NodeName,
		attachment.Status.Attached, age(attachment, now),
	}
}

func volumeAttributesCells(class *storagev1.VolumeAttributesClass, now time.Time) []any {
	return []any{class.Name, class.DriverName, age(class, now)}
}
