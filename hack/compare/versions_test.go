package compare_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/admissionregistration"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/extensions/install"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/config/configtest"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

// kind is a kind in all the versions that it is or was served in.
type kind struct {
	name string
	// internal is how Kubernetes has it, between the versions.
	internal runtime.Object
	versions []runtime.Object
	// manifests hold as many fields as can be together. Objects to compare are made by leaving some out.
	manifests []string
}

const template = `{"metadata": {"labels": {"app": "x", "tier": "y"}, "annotations": {"a": "b"}},
	"spec": {"containers": [{"name": "c", "image": "i:1", "command": ["true"]}], "hostNetwork": true, "serviceAccountName": "s", "terminationGracePeriodSeconds": 3}}`

const metadata = `{"name": "x", "namespace": "n", "labels": {"own": "label"}, "annotations": {"c": "d"}, "finalizers": ["example.com/f"]}`

func workloads() []kind {
	return []kind{
		{
			"Deployment", &apps.Deployment{},
			[]runtime.Object{&appsv1.Deployment{}, &appsv1beta2.Deployment{}, &appsv1beta1.Deployment{}, &extensionsv1beta1.Deployment{}},
			[]string{
				`{"metadata": ` + metadata + `, "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "x"}}, "template": ` + template + `,
				"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%", "maxSurge": 2}}, "minReadySeconds": 1, "revisionHistoryLimit": 4,
				"progressDeadlineSeconds": 5, "paused": true, "rollbackTo": {"revision": 6}},
				"status": {"observedGeneration": 1, "replicas": 3, "updatedReplicas": 2, "readyReplicas": 1, "availableReplicas": 1, "unavailableReplicas": 2, "collisionCount": 7,
				"conditions": [{"type": "Available", "status": "True", "reason": "r", "message": "m", "lastUpdateTime": "2001-02-03T04:05:06Z", "lastTransitionTime": "2001-02-03T04:05:06Z"}]}}`,
				`{"metadata": {"name": "x", "annotations": {"deprecated.deployment.rollback.to": "12", "c": "d"}}, "spec": {"template": ` + template + `,
				"strategy": {"type": "Recreate"}}}`,
			},
		},
		{
			"DaemonSet", &apps.DaemonSet{},
			[]runtime.Object{&appsv1.DaemonSet{}, &appsv1beta2.DaemonSet{}, &extensionsv1beta1.DaemonSet{}},
			[]string{
				`{"metadata": ` + metadata + `, "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": ` + template + `,
				"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2, "maxSurge": 0}}, "minReadySeconds": 1, "revisionHistoryLimit": 4, "templateGeneration": 5},
				"status": {"currentNumberScheduled": 1, "numberMisscheduled": 2, "desiredNumberScheduled": 3, "numberReady": 1, "observedGeneration": 2, "updatedNumberScheduled": 1, "collisionCount": 1}}`,
				`{"metadata": {"name": "x", "annotations": {"deprecated.daemonset.template.generation": "7"}}, "spec": {"template": ` + template + `, "updateStrategy": {"type": "OnDelete"}}}`,
			},
		},
		{
			"StatefulSet", &apps.StatefulSet{},
			[]runtime.Object{&appsv1.StatefulSet{}, &appsv1beta2.StatefulSet{}, &appsv1beta1.StatefulSet{}},
			[]string{
				`{"metadata": ` + metadata + `, "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "x"}}, "template": ` + template + `, "serviceName": "s",
				"podManagementPolicy": "Parallel", "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2, "maxUnavailable": 1}}, "revisionHistoryLimit": 4, "minReadySeconds": 1,
				"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Delete"}, "ordinals": {"start": 1},
				"volumeClaimTemplates": [{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "v"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]},
				"status": {"observedGeneration": 1, "replicas": 3, "readyReplicas": 1, "currentReplicas": 1, "updatedReplicas": 1, "currentRevision": "a", "updateRevision": "b", "collisionCount": 1}}`,
			},
		},
		{
			"ReplicaSet", &apps.ReplicaSet{},
			[]runtime.Object{&appsv1.ReplicaSet{}, &appsv1beta2.ReplicaSet{}, &extensionsv1beta1.ReplicaSet{}},
			[]string{`{"metadata": ` + metadata + `, "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "x"}}, "template": ` + template + `, "minReadySeconds": 1},
				"status": {"replicas": 3, "fullyLabeledReplicas": 2, "readyReplicas": 1, "availableReplicas": 1, "observedGeneration": 4}}`},
		},
		{
			"ControllerRevision", &apps.ControllerRevision{},
			[]runtime.Object{&appsv1.ControllerRevision{}, &appsv1beta2.ControllerRevision{}, &appsv1beta1.ControllerRevision{}},
			[]string{`{"metadata": ` + metadata + `, "data": {"a": {"b": "c"}}, "revision": 3}`},
		},
		{
			"Scale", &autoscaling.Scale{},
			[]runtime.Object{&autoscalingv1.Scale{}, &appsv1beta2.Scale{}, &appsv1beta1.Scale{}, &extensionsv1beta1.Scale{}},
			[]string{
				`{"metadata": ` + metadata + `, "spec": {"replicas": 3}, "status": {"replicas": 2, "selector": "a=b,c in (d,e)", "targetSelector": "a=b,c in (d,e)"}}`,
				`{"metadata": ` + metadata + `, "spec": {"replicas": 3}, "status": {"replicas": 2, "selector": {"a": "b", "c": "d"}, "targetSelector": "a=b,c=d"}}`,
				`{"metadata": ` + metadata + `, "spec": {"replicas": 3}, "status": {"replicas": 2, "selector": "a=b,c=d"}}`,
			},
		},
	}
}

// configurations are the webhook configurations, of which Kubernetes still knows the defaults and conversions of v1beta1.
func configurations(t *testing.T) []kind {
	mutating := kind{"MutatingWebhookConfiguration", &admissionregistration.MutatingWebhookConfiguration{},
		[]runtime.Object{&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1beta1.MutatingWebhookConfiguration{}}, nil}
	validating := kind{"ValidatingWebhookConfiguration", &admissionregistration.ValidatingWebhookConfiguration{},
		[]runtime.Object{&admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1beta1.ValidatingWebhookConfiguration{}}, nil}
	for _, c := range configtest.Cases(t) {
		switch c.Object.(type) {
		case *admissionregistrationv1.MutatingWebhookConfiguration:
			mutating.manifests = append(mutating.manifests, text(c.Object))
		case *admissionregistrationv1.ValidatingWebhookConfiguration:
			validating.manifests = append(validating.manifests, text(c.Object))
		}
	}
	return []kind{mutating, validating}
}

// TestVersions makes objects in each version, leaving out now this field and now that, and compares what becomes of them:
// defaults, and conversion to each other version.
func TestVersions(t *testing.T) {
	const objects = 200 // of each kind and version, more or less
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	ours := resource.Scheme()
	for _, kind := range append(workloads(), configurations(t)...) {
		for i, manifest := range kind.manifests {
			for j, version := range kind.versions {
				made := 0
				r := rand.New(rand.NewPCG(seed, uint64(i*len(kind.versions)+j)))
				for range objects/len(kind.manifests) + 1 {
					object, ok := thinned(r, manifest, version)
					if !ok {
						continue
					}
					made++
					description := text(object)
					theirs := decoded(t, kind, object)
					ours.Default(object)
					// A Scale is made when it is asked for, and has no defaults.
					if diff := cmp.Diff(content(t, theirs), content(t, object)); diff != "" && kind.name != "Scale" {
						t.Fatalf("%T %s\ndefaults (-kubernetes +fakeapi):\n%s", version, description, diff)
					}
					for _, other := range kind.versions {
						if other != version {
							compareConversions(t, kind, theirs, other)
						}
					}
				}
				if made == 0 && kind.name != "Scale" { // whose manifests are each for some of the versions
					t.Errorf("no object could be made of %s %d of %T", kind.name, i, version)
				}
			}
		}
	}
}

// compareConversions converts a defaulted object to another version.
func compareConversions(t *testing.T, kind kind, object, version runtime.Object) {
	t.Helper()
	internal, want, got := empty(kind.internal), empty(version), empty(version)
	theirErr := legacyscheme.Scheme.Convert(object.DeepCopyObject(), internal, nil)
	if theirErr == nil {
		theirErr = legacyscheme.Scheme.Convert(internal, want, nil)
	}
	ourErr := resource.Scheme().Convert(object.DeepCopyObject(), got, nil)
	if (theirErr == nil) != (ourErr == nil) {
		t.Fatalf("%T to %T: %s\nerror of kubernetes: %v\nerror of fakeapi: %v", object, version, text(object), theirErr, ourErr)
	}
	if theirErr != nil {
		return
	}
	if diff := cmp.Diff(content(t, want), content(t, got)); diff != "" {
		t.Fatalf("%T to %T: %s\n(-kubernetes +fakeapi):\n%s", object, version, text(object), diff)
	}
}

// decoded is an object as Kubernetes has it after it was decoded: defaulted, and through the internal version.
func decoded(t *testing.T, kind kind, object runtime.Object) runtime.Object {
	t.Helper()
	object, internal, back := object.DeepCopyObject(), empty(kind.internal), empty(object)
	legacyscheme.Scheme.Default(object)
	if err := legacyscheme.Scheme.Convert(object, internal, nil); err != nil {
		t.Fatal(err)
	}
	if err := legacyscheme.Scheme.Convert(internal, back, nil); err != nil {
		t.Fatal(err)
	}
	return back
}

func empty(object runtime.Object) runtime.Object {
	return reflect.New(reflect.TypeOf(object).Elem()).Interface().(runtime.Object)
}

// content is an object as clients see it, without its version.
func content(t *testing.T, object runtime.Object) map[string]any {
	t.Helper()
	var decoded map[string]any
	if err := json.Unmarshal([]byte(text(object)), &decoded); err != nil {
		t.Fatal(err)
	}
	delete(decoded, "apiVersion")
	delete(decoded, "kind")
	return decoded
}

// thinned returns an object of the version's type with some fields of the manifest; it tells whether the version can have
// them.
func thinned(r *rand.Rand, manifest string, version runtime.Object) (runtime.Object, bool) {
	var full any
	if json.Unmarshal([]byte(manifest), &full) != nil {
		return nil, false
	}
	encoded, err := json.Marshal(thin(r, full))
	object := empty(version)
	if err != nil || json.Unmarshal(encoded, object) != nil {
		return nil, false
	}
	if spec := reflect.ValueOf(object).Elem().FieldByName("Spec"); spec.IsValid() {
		// Nobody writes the annotation of later versions where there is the field; fakeapi drops it a moment earlier.
		annotations := object.(metav1.Object).GetAnnotations()
		for field, annotation := range map[string]string{"RollbackTo": appsv1.DeprecatedRollbackTo, "TemplateGeneration": appsv1.DeprecatedTemplateGeneration} {
			if spec.FieldByName(field).IsValid() {
				delete(annotations, annotation)
			}
		}
	}
	return object, true
}

// thin leaves out one field in four; now and then it changes a number.
func thin(r *rand.Rand, content any) any {
	switch content := content.(type) {
	case map[string]any:
		kept := map[string]any{}
		keys := make([]string, 0, len(content))
		for key := range content {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			if r.IntN(4) > 0 {
				kept[key] = thin(r, content[key])
			}
		}
		if len(kept) == 0 && len(content) > 0 {
			return content // what is empty is another matter
		}
		return kept
	case []any:
		list := make([]any, len(content))
		for i := range content {
			list[i] = thin(r, content[i])
		}
		return list
	case float64:
		return content + float64(r.IntN(2))
	case string:
		if number, err := strconv.Atoi(content); err == nil {
			return strconv.Itoa(number + r.IntN(3))
		}
	}
	return content
}
