package resource_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/utils/ptr"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

// seen is admission that notes the object that it is given.
type seen struct {
	object runtime.Object
	kind   string
}

func (*seen) Handles(operation admission.Operation) bool { return operation == admission.Connect }

func (s *seen) Admit(_ context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	s.object, s.kind = attributes.GetObject(), attributes.GetKind().Kind
	return nil
}

// TestAdmissionSeesConnectOptions reads options of all types from queries and paths.
func TestAdmissionSeesConnectOptions(t *testing.T) {
	for request, want := range map[string]runtime.Object{
		"GET /api/v1/namespaces/default/pods/p/exec?command=ls&command=-l&stdout=true&tty=1&container=c": &corev1.PodExecOptions{
			Command: []string{"ls", "-l"}, Stdout: true, TTY: true, Container: "c",
		},
		"POST /api/v1/namespaces/default/pods/p/attach?stdin&stdout=false":      &corev1.PodAttachOptions{Stdin: true},
		"POST /api/v1/namespaces/default/pods/p/portforward?ports=80&ports=443": &corev1.PodPortForwardOptions{Ports: []int32{80, 443}},
		"PATCH /api/v1/namespaces/default/pods/p/proxy/a/b?x=y":                 &corev1.PodProxyOptions{Path: "/a/b"},
		"GET /api/v1/namespaces/default/services/s/proxy":                       &corev1.ServiceProxyOptions{},
		"DELETE /api/v1/nodes/n/proxy/metrics/":                                 &corev1.NodeProxyOptions{Path: "/metrics/"},
	} {
		method, path, _ := strings.Cut(request, " ")
		admission := &seen{}
		a := api{t: t, catalogue: newCatalogue(t, resource.Options{}), admission: admission}
		if code, answer := a.call(method, path, "", nil); code < 400 {
			t.Errorf("%s: %d %v, want a refusal", request, code, answer.Object)
		}
		if admission.object == nil {
			t.Errorf("%s: admission was not asked", request)
			continue
		}
		admission.object.GetObjectKind().SetGroupVersionKind(want.GetObjectKind().GroupVersionKind())
		if diff := cmp.Diff(want, admission.object); diff != "" {
			t.Errorf("%s: options (-want +got):\n%s", request, diff)
		}
	}
}

// TestLogOptions reads the options that no connection has.
func TestLogOptions(t *testing.T) {
	c := newCatalogue(t, resource.Options{})
	scope := lookup(t, c, pods, "log").Scope()
	got := &corev1.PodLogOptions{}
	query := map[string][]string{"tailLines": {"5"}, "sinceTime": {"2024-01-02T03:04:05Z"}, "follow": {"true"}, "stream": {"Stdout"}}
	if err := scope.ParameterCodec.DecodeParameters(query, corev1.SchemeGroupVersion, got); err != nil {
		t.Fatal(err)
	}
	at := metav1.Date(2024, 1, 2, 3, 4, 5, 0, start.Location())
	want := &corev1.PodLogOptions{TailLines: ptr.To[int64](5), SinceTime: &at, Follow: true, Stream: ptr.To("Stdout")}
	got.GetObjectKind().SetGroupVersionKind(want.GroupVersionKind())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if err := scope.ParameterCodec.DecodeParameters(map[string][]string{"tailLines": {"many"}}, corev1.SchemeGroupVersion, got); err == nil {
		t.Error("a number that is none was read")
	}
}
