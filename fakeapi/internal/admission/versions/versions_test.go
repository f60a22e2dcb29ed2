package versions

import (
	"encoding/json"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

var (
	v1      = appsv1.SchemeGroupVersion.WithKind("Deployment")
	v1beta1 = appsv1beta1.SchemeGroupVersion.WithKind("Deployment")
)

// converting knows Deployments in two versions.
func converting(t *testing.T, count *int) admission.ObjectInterfaces {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, appsv1beta1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	throughJSON := func(from, to any, _ conversion.Scope) error {
		*count++
		encoded, err := json.Marshal(from)
		if err != nil {
			return err
		}
		switch to := to.(type) { // what is there already must go
		case *appsv1.Deployment:
			*to = appsv1.Deployment{}
		case *appsv1beta1.Deployment:
			*to = appsv1beta1.Deployment{}
		}
		return json.Unmarshal(encoded, to)
	}
	for _, pair := range [][2]any{{&appsv1.Deployment{}, &appsv1beta1.Deployment{}}, {&appsv1beta1.Deployment{}, &appsv1.Deployment{}}} {
		if err := scheme.AddConversionFunc(pair[0], pair[1], throughJSON); err != nil {
			t.Fatal(err)
		}
	}
	return &admission.RuntimeObjectInterfaces{ObjectCreater: scheme, ObjectTyper: scheme, ObjectDefaulter: scheme, ObjectConvertor: scheme}
}

func attributes(object, old runtime.Object) admission.Attributes {
	return admission.NewAttributesRecord(object, old, v1, "default", "probe", appsv1.SchemeGroupVersion.WithResource("deployments"), "",
		admission.Update, nil, false, nil)
}

func deployment(label string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "probe", Labels: map[string]string{"is": label}}}
}

func in(t *testing.T, objects *Objects, kind schema.GroupVersionKind) *Version {
	t.Helper()
	version, err := objects.In(kind)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

func TestVersions(t *testing.T) {
	conversions := 0
	object, old := deployment("new"), deployment("old")
	objects := Of(attributes(object, old), converting(t, &conversions))

	if got := objects.Attributes().GetObject(); got != object {
		t.Errorf("object before any change: %v", got)
	}
	own := in(t, objects, v1)
	if conversions != 0 {
		t.Errorf("%d conversions into the version at hand", conversions)
	}
	encoded, err := own.ObjectJSON()
	if err != nil || !strings.Contains(string(encoded), `"kind":"Deployment","apiVersion":"apps/v1"`) {
		t.Errorf("object %s, %v", encoded, err)
	}
	if kind := object.GetObjectKind().GroupVersionKind(); !kind.Empty() {
		t.Errorf("the request's own object was made %v", kind)
	}
	beta := in(t, objects, v1beta1)
	if _, ok := beta.VersionedObject.Object().(*appsv1beta1.Deployment); !ok || conversions != 2 {
		t.Errorf("object %T and old object in the other version after %d conversions", beta.VersionedObject.Object(), conversions)
	}
	if in(t, objects, v1beta1) != beta || conversions != 2 {
		t.Error("a version was made twice")
	}

	// A change in one version is seen in the other.
	changed := beta.VersionedObject.Object().DeepCopyObject().(*appsv1beta1.Deployment)
	changed.Labels["is"] = "changed"
	objects.Replace(beta, changed)
	if got := objects.Attributes().GetObject(); got != changed {
		t.Errorf("object after a change: %v", got)
	}
	if object.Labels["is"] != "new" {
		t.Error("the request's object was changed before it had to be")
	}
	encoded, err = in(t, objects, v1beta1).ObjectJSON()
	if err != nil || !strings.Contains(string(encoded), `"is":"changed"`) {
		t.Errorf("object after the change: %s, %v", encoded, err)
	}
	own = in(t, objects, v1)
	if label := own.VersionedObject.Object().(*appsv1.Deployment).Labels["is"]; label != "changed" {
		t.Errorf("label in the other version: %q", label)
	}
	if label := own.VersionedOldObject.Object().(*appsv1.Deployment).Labels["is"]; label != "old" {
		t.Errorf("label of the old object: %q", label)
	}
	again := own.VersionedObject.Object().DeepCopyObject().(*appsv1.Deployment)
	again.Labels["is"] = "changed again"
	objects.Replace(own, again)
	if err := objects.WriteBack(); err != nil {
		t.Fatal(err)
	}
	if object.Labels["is"] != "changed again" || !object.GroupVersionKind().Empty() {
		t.Errorf("the request's object in the end: %v", object)
	}
}

func TestOtherKindCannotBeWrittenBack(t *testing.T) {
	conversions := 0
	objects := Of(attributes(deployment("new"), nil), converting(t, &conversions))
	objects.Replace(in(t, objects, v1), &corev1.ConfigMap{})
	if err := objects.WriteBack(); err == nil || !strings.Contains(err.Error(), "unknown conversion") {
		t.Errorf("error %v", err)
	}
}

func TestConversionFails(t *testing.T) {
	conversions := 0
	objects := Of(attributes(deployment("new"), nil), converting(t, &conversions))
	for _, kind := range []schema.GroupVersionKind{
		{Group: "example.com", Version: "v1", Kind: "Unknown"},
		corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	} {
		if version, err := objects.In(kind); err == nil {
			t.Errorf("%v: %v", kind, version)
		}
	}
}

func TestNoObjects(t *testing.T) {
	conversions := 0
	version := in(t, Of(attributes(nil, nil), converting(t, &conversions)), v1)
	for _, encode := range []func() ([]byte, error){version.ObjectJSON, version.OldObjectJSON} {
		if encoded, err := encode(); err != nil || string(encoded) != "null" {
			t.Errorf("%s, %v", encoded, err)
		}
	}
}

func TestCustomObjects(t *testing.T) {
	conversions := 0
	widget := func(label string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget",
			"metadata": map[string]any{"name": "probe", "labels": map[string]any{"is": label}}}}
	}
	object := widget("new")
	objects := Of(attributes(object, nil), converting(t, &conversions))
	version := in(t, objects, object.GroupVersionKind())
	objects.Replace(version, widget("changed"))
	if err := objects.WriteBack(); err != nil {
		t.Fatal(err)
	}
	if object.GetLabels()["is"] != "changed" {
		t.Errorf("object %v", object)
	}
}
