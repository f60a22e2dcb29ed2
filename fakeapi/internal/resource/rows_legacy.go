package resource

import (
	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// The versions that workloads are served in, extensions first as the API servers of their time installed them: in that
// order a rule for several versions is matched under matchPolicy Equivalent.

func deploymentVersions() []servedVersion {
	return []servedVersion{
		legacy(extensionsv1beta1.SchemeGroupVersion, each(defaultExtensionsDeployment), selectorMayChange),
		{GroupVersion: appsv1.SchemeGroupVersion},
		legacy(appsv1beta2.SchemeGroupVersion, nil),
		legacy(appsv1beta1.SchemeGroupVersion, each(defaultAppsV1beta1Deployment), selectorMayChange),
	}
}

func replicaSetVersions() []servedVersion {
	return []servedVersion{
		legacy(extensionsv1beta1.SchemeGroupVersion, each(defaultExtensionsReplicaSet), selectorMayChange),
		{GroupVersion: appsv1.SchemeGroupVersion},
		legacy(appsv1beta2.SchemeGroupVersion, nil),
	}
}

func daemonSetVersions() []servedVersion {
	return []servedVersion{
		legacy(extensionsv1beta1.SchemeGroupVersion, each(defaultExtensionsDaemonSet), selectorMayChange),
		{GroupVersion: appsv1.SchemeGroupVersion},
		legacy(appsv1beta2.SchemeGroupVersion, nil),
	}
}

func statefulSetVersions() []servedVersion {
	return []servedVersion{
		{GroupVersion: appsv1.SchemeGroupVersion},
		legacy(appsv1beta2.SchemeGroupVersion, nil),
		legacy(appsv1beta1.SchemeGroupVersion, each(defaultAppsV1beta1StatefulSet)),
	}
}

func controllerRevisionVersions() []servedVersion {
	return []servedVersion{
		{GroupVersion: appsv1.SchemeGroupVersion},
		legacy(appsv1beta2.SchemeGroupVersion, nil),
		legacy(appsv1beta1.SchemeGroupVersion, nil),
	}
}

// legacy is a version that workloads were served in before apps/v1, with its defaults and what else was different there.
func legacy(version groupVersion, defaults func(runtime.Object), differences ...func(*strategy)) servedVersion {
	return servedVersion{
		GroupVersion:  version,
		asked:         func(options Options) bool { return options.LegacyWorkloads },
		defaults:      defaults,
		uncategorized: version.Group == extensionsv1beta1.GroupName,
		adapt: func(s *strategy) {
			s.collection = rest.OrphanDependents
			for _, change := range differences {
				change(s)
			}
		},
	}
}

// selectorMayChange lifts what is forbidden in updates of deployments, replica sets and daemon sets: another selector.
func selectorMayChange(s *strategy) { s.validateUpdate = nil }
