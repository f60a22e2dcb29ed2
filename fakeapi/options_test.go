package fakeapi_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

func TestFirstResourceVersion(t *testing.T) {
	const first = 9_007_199_254_740_993 // no float64 has this value
	server := start(t, fakeapi.Options{FirstResourceVersion: first})
	configMaps := clientFor(t, server.RESTConfig()).CoreV1().ConfigMaps("default")

	namespaces, err := clientFor(t, server.RESTConfig()).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var versions []uint64 // of objects that are among the first
	for _, namespace := range namespaces.Items {
		version, err := strconv.ParseUint(namespace.ResourceVersion, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, version)
	}
	if got := slices.Min(versions); got < first || got > first+100 {
		t.Errorf("the first namespace has resource version %d, want one soon after %d", got, first)
	}
	created, err := configMaps.Create(t.Context(), configMap("probe"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watching, err := configMaps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: strconv.Itoa(first)})
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Stop()
	if event := <-watching.ResultChan(); event.Object.(*corev1.ConfigMap).ResourceVersion != created.ResourceVersion {
		t.Errorf("event %+v", event)
	}

	tooOld := metav1.ListOptions{ResourceVersion: "1000", ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	if _, err := configMaps.List(t.Context(), tooOld); !apierrors.IsResourceExpired(err) {
		t.Errorf("a list from before: %v", err)
	}
	early, err := configMaps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1000"})
	if err != nil {
		t.Fatal(err)
	}
	defer early.Stop()
	if event := <-early.ResultChan(); !apierrors.IsResourceExpired(apierrors.FromObject(event.Object)) {
		t.Errorf("a watch from before: %+v", event)
	}
}

func TestAdmissionPlugins(t *testing.T) {
	tests := map[string]struct {
		plugins        []string
		account        string
		priority       bool
		cpu            string
		unknownAccount bool // is refused
	}{
		"default":         {nil, "", true, "100m", false},
		"none":            {[]string{}, "", false, "0", false},
		"service account": {[]string{"ServiceAccount"}, "default", false, "0", true},
		"all":             {[]string{"Priority", "ServiceAccount", "LimitRanger"}, "default", true, "100m", true},
	}
	limits := &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Name: "limits", Namespace: "default"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type:           corev1.LimitTypeContainer,
			DefaultRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
		}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := start(t, fakeapi.Options{AdmissionPlugins: test.plugins, Objects: []runtime.Object{limits}})
			pods := clientFor(t, server.RESTConfig()).CoreV1().Pods("default")
			pod, err := pods.Create(t.Context(), podOf("probe", ""), metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			cpu := pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU]
			if pod.Spec.ServiceAccountName != test.account || (pod.Spec.Priority != nil) != test.priority || cpu.String() != test.cpu {
				t.Errorf("service account %q, priority %v, cpu %s", pod.Spec.ServiceAccountName, pod.Spec.Priority, cpu.String())
			}
			_, err = pods.Create(t.Context(), podOf("stranger", "nobody"), metav1.CreateOptions{})
			if refused := apierrors.IsForbidden(err); refused != test.unknownAccount {
				t.Errorf("with an unknown service account: %v", err)
			}
		})
	}
}

func podOf(name, account string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{ServiceAccountName: account, Containers: []corev1.Container{{Name: "main", Image: "image"}}},
	}
}

// widgets is a definition whose version v1 demands a size.
func widgets() *apiextensionsv1.CustomResourceDefinition {
	object := func(properties map[string]apiextensionsv1.JSONSchemaProps, required ...string) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties, Required: required}
	}
	root := object(map[string]apiextensionsv1.JSONSchemaProps{
		"spec": object(map[string]apiextensionsv1.JSONSchemaProps{
			"size":  {Type: "integer", Minimum: new(1.0)},
			"color": {Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"blue"`)}},
		}, "size"),
		"status": object(map[string]apiextensionsv1.JSONSchemaProps{"ready": {Type: "boolean"}}),
	}, "spec")
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com",
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &root},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}

func widget(name string, size int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1",
		"kind":       "Widget",
		"metadata":   map[string]any{"name": name, "namespace": "default"},
		"spec":       map[string]any{"size": size},
	}}
}

var widgetResource = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// The kinds of a definition can be used by the objects after it, in the options and in files.
func TestStartWithCustomResources(t *testing.T) {
	const more = `
apiVersion: example.com/v1
kind: Widget
metadata: {name: from-file}
spec: {size: 2}
`
	server := start(t, fakeapi.Options{
		Objects: []runtime.Object{widgets(), widget("from-options", 1)},
		Load:    []string{manifestFile(t, more)},
	})
	client, err := dynamic.NewForConfig(server.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.Resource(widgetResource).Namespace("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range list.Items {
		got = append(got, fmt.Sprint(item.GetName(), " ", item.Object["spec"]))
	}
	want := []string{"from-file map[color:blue size:2]", "from-options map[color:blue size:1]"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
