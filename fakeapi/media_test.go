package fakeapi_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// Large answers are compressed for clients that understand it.
func TestLargeAnswersAreCompressed(t *testing.T) {
	server := start(t, fakeapi.Options{})
	const path = "/api/v1/namespaces/default/configmaps"
	for _, object := range []struct {
		name string
		size int
	}{{"small", 1000}, {"large", 200_000}} {
		body := fmt.Sprintf(`{"metadata":{"name":%q},"data":{"k":%q}}`, object.name, strings.Repeat("x", object.size))
		if got := do(t, server, "POST", path, body, "Content-Type", "application/json"); got.code != 201 {
			t.Fatalf("%d %s", got.code, got.body)
		}
	}
	for _, test := range []struct {
		path, accept, want string
	}{
		{path + "/small", "gzip", ""},
		{path + "/large", "gzip", "gzip"},
		{path, "gzip", "gzip"},
		{path, "identity", ""},
		{path, "br", ""},
	} {
		// The header that the test sets keeps the client from decompressing by itself.
		got := do(t, server, "GET", test.path, "", "Accept-Encoding", test.accept)
		if encoding := got.header.Get("Content-Encoding"); got.code != 200 || encoding != test.want {
			t.Errorf("GET %s, accepting %s: %d, encoding %q, want %q", test.path, test.accept, got.code, encoding, test.want)
			continue
		}
		if test.want == "gzip" {
			reader, err := gzip.NewReader(strings.NewReader(got.body))
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(reader)
			if err != nil || !strings.Contains(string(content), `"name":"large"`) {
				t.Errorf("GET %s: error %v, content %.100s", test.path, err, content)
			}
		}
	}
}

// Bodies may have 3 MiB. The words are those of kube-apiserver v1.37.2.
func TestBodiesThatAreTooLarge(t *testing.T) {
	server := start(t, fakeapi.Options{})
	const limit = 3 << 20
	body := func(size int) string {
		const frame = `{"metadata":{"name":"large"},"unknown":""}`
		return strings.Replace(frame, `""`, `"`+strings.Repeat("x", size-len(frame))+`"`, 1)
	}
	const collection = "/api/v1/namespaces/default/configmaps"
	if got := do(t, server, "POST", collection, body(limit), "Content-Type", "application/json"); got.code != 201 {
		t.Errorf("POST of %d bytes: %d %.200s", limit, got.code, got.body)
	}
	for _, test := range []struct{ method, path, contentType string }{
		{"POST", collection, "application/json"},
		{"PUT", collection + "/large", "application/json"},
		{"PATCH", collection + "/large", "application/merge-patch+json"},
		{"PATCH", collection + "/large?fieldManager=m", "application/apply-patch+yaml"},
		{"DELETE", collection + "/large", "application/json"},
		{"DELETE", collection, "application/json"},
	} {
		got := do(t, server, test.method, test.path, body(limit+1), "Content-Type", test.contentType)
		if status := got.status(t); got.code != 413 || status.Reason != metav1.StatusReasonRequestEntityTooLarge ||
			status.Message != "Request entity too large: limit is 3145728" {
			t.Errorf("%s of %d bytes: %d %s: %s", test.method, limit+1, got.code, status.Reason, status.Message)
		}
	}
}

// What is sent as protobuf is answered as protobuf, refusals too.
func TestProtobuf(t *testing.T) {
	server := start(t, fakeapi.Options{})
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), protobuf)
	if !ok {
		t.Fatal("no serializer")
	}
	codec := scheme.Codecs.CodecForVersions(info.Serializer, info.Serializer, corev1.SchemeGroupVersion, corev1.SchemeGroupVersion)
	object := configMap("probe")
	object.Data = map[string]string{"k": "v"}
	body, err := runtime.Encode(codec, object)
	if err != nil {
		t.Fatal(err)
	}
	const path = "/api/v1/namespaces/default/configmaps"
	for _, want := range []int{http.StatusCreated, http.StatusConflict} {
		got := do(t, server, "POST", path, string(body), "Content-Type", protobuf, "Accept", protobuf)
		if got.code != want || got.header.Get("Content-Type") != protobuf {
			t.Fatalf("%d %s, want %d %s", got.code, got.header.Get("Content-Type"), want, protobuf)
		}
		decoded, err := runtime.Decode(codec, []byte(got.body))
		if err != nil {
			t.Fatal(err)
		}
		switch answer := decoded.(type) {
		case *corev1.ConfigMap:
			if answer.Data["k"] != "v" || answer.UID == "" {
				t.Errorf("created %+v", answer)
			}
		case *metav1.Status:
			if answer.Reason != metav1.StatusReasonAlreadyExists {
				t.Errorf("answer %+v", answer)
			}
		}
	}
}

// Nothing runs behind the server: where the real one would connect, it says so.
func TestConnectionsAreNotImplemented(t *testing.T) {
	server := start(t, fakeapi.Options{Objects: []runtime.Object{
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}},
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pod"},
			Spec:       corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		},
	}})
	status := `{"status":{"podIP":"10.1.2.3","podIPs":[{"ip":"10.1.2.3"}]}}`
	if got := do(t, server, "PATCH", "/api/v1/namespaces/default/pods/pod/status", status, "Content-Type", "application/merge-patch+json"); got.code != 200 {
		t.Fatalf("%d %s", got.code, got.body)
	}
	slice := `{"metadata":{"name":"s","labels":{"kubernetes.io/service-name":"s"}},"addressType":"IPv4","endpoints":[{"addresses":["10.1.2.3"]}]}`
	if got := do(t, server, "POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", slice, "Content-Type", "application/json"); got.code != 201 {
		t.Fatalf("%d %s", got.code, got.body)
	}
	const pod = "/api/v1/namespaces/default/pods/pod"
	for _, test := range []struct{ method, path string }{
		{"POST", pod + "/exec?command=ls"},
		{"GET", pod + "/attach"},
		{"POST", pod + "/portforward?ports=80"},
		{"GET", pod + "/log"},
		{"GET", pod + "/proxy/index.html"},
		{"GET", "/api/v1/namespaces/default/services/s/proxy/"},
		{"GET", "/api/v1/nodes/node/proxy/metrics"},
	} {
		got := do(t, server, test.method, test.path, "")
		if status := got.status(t); got.code != 501 || status.Reason != "NotImplemented" || !strings.Contains(status.Message, "behind fakeapi") {
			t.Errorf("%s %s: %d %s: %s", test.method, test.path, got.code, status.Reason, status.Message)
		}
	}
}
