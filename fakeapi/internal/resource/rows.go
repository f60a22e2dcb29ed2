package resource

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// builtinRows is the table of the built-in kinds. Within a group, the preferred version is the first one seen.
func builtinRows() []row {
	return slices.Concat(
		coreRows(), appsRows(), eventRows(), reviewRows(), autoscalingRows(), batchRows(), certificateRows(),
		networkingRows(), policyRows(), rbacRows(), storageRows(), admissionRows(), extensionRows(), registrationRows(), otherRows(),
	)
}

// groupVersion and errorList keep the tables short.
type (
	groupVersion = schema.GroupVersion
	errorList    = field.ErrorList
)

func groupVersions(list ...groupVersion) []groupVersion { return list }

// versions says that a kind is served in these versions, and in the optional ones when asked.
func versions(served []groupVersion, optional ...groupVersion) []servedVersion {
	var list []servedVersion
	for _, version := range served {
		list = append(list, servedVersion{GroupVersion: version})
	}
	for _, version := range optional {
		list = append(list, servedVersion{GroupVersion: version, asked: func(options Options) bool {
			return slices.Contains(options.EnabledVersions, version)
		}})
	}
	return list
}

// coreKind is a row of the core group.
func coreKind(kind, resource string, namespaced bool, shortNames ...string) row {
	return row{stored: corev1.SchemeGroupVersion, kind: kind, resource: resource, namespaced: namespaced, shortNames: shortNames}
}
