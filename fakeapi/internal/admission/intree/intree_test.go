package intree

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
)

// stored are the stored objects by kind and name.
type stored map[string]runtime.Object

func (s stored) Param(_ context.Context, kind schema.GroupVersionKind, _, name string) (runtime.Object, error) {
	if object, ok := s[kind.Kind+" "+name]; ok {
		return object, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, name)
}

func (s stored) ListParams(_ context.Context, kind schema.GroupVersionKind, _ string, _ labels.Selector) ([]runtime.Object, error) {
	var list []runtime.Object
	for key, object := range s {
		if strings.HasPrefix(key, kind.Kind+" ") {
			list = append(list, object)
		}
	}
	return list, nil
}

func ptr[T any](value T) *T { return &value }

func class(name string, value int32, global bool) *schedulingv1.PriorityClass {
	return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, GlobalDefault: global,
		PreemptionPolicy: ptr(corev1.PreemptNever)}
}

func TestPlugins(t *testing.T) {
	objects := stored{
		"PriorityClass high":     class("high", 100, false),
		"ServiceAccount default": &corev1.ServiceAccount{ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}}},
		"ServiceAccount builder": &corev1.ServiceAccount{},
		"LimitRange limits": &corev1.LimitRange{Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{
			{Type: corev1.LimitTypePod, Default: corev1.ResourceList{"cpu": resource.MustParse("9")}},
			{Type: corev1.LimitTypeContainer,
				Default:        corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("1Gi")},
				DefaultRequest: corev1.ResourceList{"cpu": resource.MustParse("1")}},
		}}},
	}
	withDefault := stored{"PriorityClass low": class("low", 1, true), "PriorityClass lower": class("lower", -1, true)}
	tests := []struct {
		name    string
		plugin  string
		objects stored
		pod     corev1.Pod
		old     *corev1.Pod
		want    func(*corev1.Pod)
		changes []string
		err     string
	}{
		{name: "priority without classes", plugin: "Priority", objects: stored{},
			want: func(p *corev1.Pod) {
				p.Spec.Priority, p.Spec.PreemptionPolicy = ptr(int32(0)), ptr(corev1.PreemptLowerPriority)
			},
			changes: []string{"add /spec/priority 0", `add /spec/preemptionPolicy "PreemptLowerPriority"`}},
		{name: "priority of a class", plugin: "Priority", objects: objects, pod: corev1.Pod{Spec: corev1.PodSpec{PriorityClassName: "high"}},
			want: func(p *corev1.Pod) {
				p.Spec.Priority, p.Spec.PreemptionPolicy = ptr(int32(100)), ptr(corev1.PreemptNever)
			},
			changes: []string{"add /spec/priority 100", `add /spec/preemptionPolicy "Never"`}},
		{name: "the lowest global default", plugin: "Priority", objects: withDefault,
			want: func(p *corev1.Pod) {
				p.Spec.PriorityClassName, p.Spec.Priority, p.Spec.PreemptionPolicy = "lower", ptr(int32(-1)), ptr(corev1.PreemptNever)
			},
			changes: []string{`add /spec/priorityClassName "lower"`, "add /spec/priority -1", `add /spec/preemptionPolicy "Never"`}},
		{name: "priority is complete", plugin: "Priority", objects: objects,
			pod: corev1.Pod{Spec: corev1.PodSpec{PriorityClassName: "high", Priority: ptr(int32(100)), PreemptionPolicy: ptr(corev1.PreemptNever)}}},
		{name: "unknown class", plugin: "Priority", objects: objects, pod: corev1.Pod{Spec: corev1.PodSpec{PriorityClassName: "missing"}},
			err: `pods "probe" is forbidden: no PriorityClass with name missing was found`},
		{name: "another priority", plugin: "Priority", objects: objects, pod: corev1.Pod{Spec: corev1.PodSpec{PriorityClassName: "high", Priority: ptr(int32(7))}},
			err: "the integer value of priority (7) must not be provided in pod spec; priority admission controller computed 100"},
		{name: "another policy", plugin: "Priority", objects: objects,
			pod: corev1.Pod{Spec: corev1.PodSpec{PriorityClassName: "high", PreemptionPolicy: ptr(corev1.PreemptLowerPriority)}},
			err: "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided"},
		{name: "an update keeps the priority", plugin: "Priority", objects: objects,
			old: &corev1.Pod{Spec: corev1.PodSpec{Priority: ptr(int32(5)), PreemptionPolicy: ptr(corev1.PreemptNever)}},
			want: func(p *corev1.Pod) {
				p.Spec.Priority, p.Spec.PreemptionPolicy = ptr(int32(5)), ptr(corev1.PreemptNever)
			}},

		{name: "default account", plugin: "ServiceAccount", objects: objects,
			want: func(p *corev1.Pod) {
				p.Spec.ServiceAccountName, p.Spec.DeprecatedServiceAccount = "default", "default"
				p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
			},
			changes: []string{`add /spec/serviceAccountName "default"`, `add /spec/imagePullSecrets [{"name":"pull"}]`}},
		{name: "default account that nobody made", plugin: "ServiceAccount", objects: stored{},
			want:    func(p *corev1.Pod) { p.Spec.ServiceAccountName, p.Spec.DeprecatedServiceAccount = "default", "default" },
			changes: []string{`add /spec/serviceAccountName "default"`}},
		{name: "another account", plugin: "ServiceAccount", objects: objects, pod: corev1.Pod{Spec: corev1.PodSpec{ServiceAccountName: "builder"}}},
		{name: "unknown account", plugin: "ServiceAccount", objects: objects, pod: corev1.Pod{Spec: corev1.PodSpec{ServiceAccountName: "missing"}},
			err: `error looking up service account ns/missing: serviceaccount "missing" not found`},
		{name: "mirror pod", plugin: "ServiceAccount", objects: objects,
			pod: corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "x"}}}},
		{name: "an update gets no account", plugin: "ServiceAccount", objects: objects, old: &corev1.Pod{}},

		{name: "default resources", plugin: "LimitRanger", objects: objects,
			pod: corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{
				{Name: "a", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("3")}}}}}},
			want: func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources = corev1.ResourceRequirements{
					Limits:   corev1.ResourceList{"cpu": resource.MustParse("3"), "memory": resource.MustParse("1Gi")},
					Requests: corev1.ResourceList{"cpu": resource.MustParse("1")},
				}
				p.Annotations = map[string]string{"kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu request for container a; memory limit for container a"}
			},
			changes: []string{`add /spec/containers/0/resources/requests/cpu "1"`, `add /spec/containers/0/resources/limits/memory "1Gi"`}},
		{name: "no limit ranges", plugin: "LimitRanger", objects: stored{}, pod: corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}}}}},
		{name: "an update gets no resources", plugin: "LimitRanger", objects: objects, old: &corev1.Pod{},
			pod: corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pod, want := tt.pod.DeepCopy(), tt.pod.DeepCopy()
			if tt.want != nil {
				tt.want(want)
			}
			steps, err := admit(t.Context(), tt.objects, tt.plugin, "", pod, tt.old)
			if tt.err != "" {
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tt.err) || len(steps) != 1 || steps[0].Outcome != decision.Denied {
					t.Errorf("error %v, steps %+v; want %q", err, steps, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, pod); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var changes []string
			for _, step := range steps {
				changes = append(changes, step.Changes...)
			}
			if !slices.Equal(changes, tt.changes) {
				t.Errorf("changes %q, want %q", changes, tt.changes)
			}
		})
	}
}

func TestOnlyPods(t *testing.T) {
	pod := &corev1.Pod{}
	if steps, err := admit(t.Context(), stored{}, "ServiceAccount", "status", pod, nil); err != nil || len(steps) > 0 || pod.Spec.ServiceAccountName != "" {
		t.Errorf("pods/status: %v, %v, %v", pod, steps, err)
	}
}

// admit asks the plugin about a pod.
func admit(ctx context.Context, objects stored, plugin, subresource string, pod, old *corev1.Pod) (steps []decision.Step, err error) {
	operation := admission.Create
	var oldObject runtime.Object
	if old != nil {
		operation, oldObject = admission.Update, old
	}
	a := admission.NewAttributesRecord(pod, oldObject, corev1.SchemeGroupVersion.WithKind("Pod"), "ns", "probe",
		corev1.SchemeGroupVersion.WithResource("pods"), subresource, operation, nil, false, nil)
	for _, p := range Plugins(objects, []string{plugin}) {
		err = p.Admit(ctx, a, nil, func(reported ...decision.Step) { steps = append(steps, reported...) })
	}
	return steps, err
}
