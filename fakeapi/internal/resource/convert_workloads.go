package resource

import (
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	corev1 "k8s.io/api/core/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// addWorkloadConversions registers the conversions between the versions of apps and extensions that workloads were served
// in. They have the same fields, but for those that later versions carry in annotations.
func addWorkloadConversions(scheme *runtime.Scheme) error {
	for _, kind := range []struct {
		convert  func(from, to runtime.Object) error
		versions []runtime.Object
	}{
		{convertDeployment, []runtime.Object{&appsv1.Deployment{}, &appsv1beta2.Deployment{}, &appsv1beta1.Deployment{}, &extensionsv1beta1.Deployment{}}},
		{convertDaemonSet, []runtime.Object{&appsv1.DaemonSet{}, &appsv1beta2.DaemonSet{}, &extensionsv1beta1.DaemonSet{}}},
		{convertStatefulSet, []runtime.Object{&appsv1.StatefulSet{}, &appsv1beta2.StatefulSet{}, &appsv1beta1.StatefulSet{}}},
		{convertSameShape, []runtime.Object{&appsv1.ReplicaSet{}, &appsv1beta2.ReplicaSet{}, &extensionsv1beta1.ReplicaSet{}}},
	} {
		if err := addConversions(scheme, kind.convert, kind.versions...); err != nil {
			return err
		}
	}
	return nil
}

// addConversions registers one function for the conversions between all versions of a kind.
func addConversions(scheme *runtime.Scheme, convert func(from, to runtime.Object) error, versions ...runtime.Object) error {
	for i, from := range versions {
		for j, to := range versions {
			if i == j {
				continue
			}
			err := scheme.AddConversionFunc(from, to, func(from, to any, _ conversion.Scope) error {
				return convert(from.(runtime.Object), to.(runtime.Object))
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func convertSameShape(from, to runtime.Object) error { return throughJSON(from, to, nil) }

// convertDeployment carries the revision that a deployment is to be rolled back to, which apps/v1beta1 and
// extensions/v1beta1 have a field for and later versions an annotation.
func convertDeployment(from, to runtime.Object) error {
	const annotation = appsv1.DeprecatedRollbackTo
	var revision *int64
	switch d := from.(type) {
	case *appsv1beta1.Deployment:
		if d.Spec.RollbackTo != nil {
			revision = &d.Spec.RollbackTo.Revision
		}
	case *extensionsv1beta1.Deployment:
		if d.Spec.RollbackTo != nil {
			revision = &d.Spec.RollbackTo.Revision
		}
	case metav1.Object:
		var err error
		if revision, err = annotatedNumber(d, annotation); err != nil {
			return err
		}
	}
	if err := throughJSON(from, to, nil); err != nil {
		return err
	}
	switch d := to.(type) {
	case *appsv1beta1.Deployment:
		d.Spec.RollbackTo = nil
		if revision != nil {
			d.Spec.RollbackTo = &appsv1beta1.RollbackConfig{Revision: *revision}
		}
		delete(d.Annotations, annotation)
	case *extensionsv1beta1.Deployment:
		d.Spec.RollbackTo = nil
		if revision != nil {
			d.Spec.RollbackTo = &extensionsv1beta1.RollbackConfig{Revision: *revision}
		}
		delete(d.Annotations, annotation)
	case metav1.Object:
		annotateNumber(d, annotation, revision)
	}
	return nil
}

// convertDaemonSet carries the count of a set's templates, which extensions/v1beta1 has a field for and later versions an
// annotation.
func convertDaemonSet(from, to runtime.Object) error {
	const annotation = appsv1.DeprecatedTemplateGeneration
	var generation *int64
	switch set := from.(type) {
	case *extensionsv1beta1.DaemonSet:
		generation = &set.Spec.TemplateGeneration
	case metav1.Object:
		var err error
		if generation, err = annotatedNumber(set, annotation); err != nil {
			return err
		}
	}
	if generation == nil {
		generation = new(int64)
	}
	if err := throughJSON(from, to, nil); err != nil {
		return err
	}
	switch set := to.(type) {
	case *extensionsv1beta1.DaemonSet:
		set.Spec.TemplateGeneration = *generation
		delete(set.Annotations, annotation)
	case metav1.Object:
		annotateNumber(set, annotation, generation)
	}
	return nil
}

// convertStatefulSet says of every claim template what it is, as all versions do whatever the client wrote.
func convertStatefulSet(from, to runtime.Object) error {
	if err := throughJSON(from, to, nil); err != nil {
		return err
	}
	var templates []corev1.PersistentVolumeClaim
	switch set := to.(type) {
	case *appsv1.StatefulSet:
		templates = set.Spec.VolumeClaimTemplates
	case *appsv1beta1.StatefulSet:
		templates = set.Spec.VolumeClaimTemplates
		orElsePtr(&set.Status.ObservedGeneration, 0) // which later versions do not tell from none
	case *appsv1beta2.StatefulSet:
		templates = set.Spec.VolumeClaimTemplates
	}
	for i := range templates {
		templates[i].SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
	}
	return nil
}

// annotatedNumber reads the number in an annotation; it is nil where there is none.
func annotatedNumber(object metav1.Object, annotation string) (*int64, error) {
	text := object.GetAnnotations()[annotation]
	if text == "" {
		return nil, nil
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("annotation %s: %q is no number: %w", annotation, text, err)
	}
	return &number, nil
}

// annotateNumber writes the number into an annotation, which it removes for nil.
func annotateNumber(object metav1.Object, annotation string, number *int64) {
	annotations := object.GetAnnotations()
	if number == nil {
		delete(annotations, annotation)
		return
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotation] = strconv.FormatInt(*number, 10)
	object.SetAnnotations(annotations)
}
