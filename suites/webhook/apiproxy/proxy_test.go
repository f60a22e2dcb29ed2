package apiproxy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gatehouse-dev/gatehouse/suites/target"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/apiproxy"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/subject"
)

// TestProxy: requests pass, watches too, as whom the token stands for, and are written down.
func TestProxy(t *testing.T) {
	server, err := target.Open(t.Context(), target.Options{Name: target.FakeAPI})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	authority, err := subject.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := authority.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := apiproxy.Start(server.RESTConfig(), server.RESTConfig().BearerToken, certificate, authority.Bundle())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Stop() })
	kubeconfig, err := proxy.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
	watch, err := maps.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if event := <-watch.ResultChan(); event.Type != "ADDED" {
		t.Errorf("the watch tells %v", event)
	}
	watch.Stop()
	if _, err := maps.Get(t.Context(), "b", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a missing object: %v", err)
	}
	type line struct {
		Line   string
		Code   int
		Writes bool
	}
	var got []line
	for _, r := range proxy.Requests() {
		got = append(got, line{r.String(), r.Code, r.Writes()})
	}
	want := []line{
		{"GET /api/v1/namespaces/default/configmaps", 200, false},
		{"POST /api/v1/namespaces/default/configmaps", 201, true},
		{"GET /api/v1/namespaces/default/configmaps/b", 404, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWrites(t *testing.T) {
	for _, test := range []struct {
		request apiproxy.Request
		want    bool
	}{
		{apiproxy.Request{Method: "PATCH", Path: "/api/v1/namespaces/a/pods/b"}, true},
		{apiproxy.Request{Method: "DELETE", Path: "/api/v1/namespaces/a/pods/b"}, true},
		{apiproxy.Request{Method: "POST", Path: "/api/v1/namespaces/a/pods", DryRun: true}, false},
		{apiproxy.Request{Method: "GET", Path: "/api/v1/namespaces/a/pods"}, false},
		{apiproxy.Request{Method: "POST", Path: "/apis/authorization.k8s.io/v1/subjectaccessreviews"}, false},
		{apiproxy.Request{Method: "PUT", Path: "/apis/coordination.k8s.io/v1/namespaces/a/leases/leader"}, false},
	} {
		if got := test.request.Writes(); got != test.want {
			t.Errorf("%s: %t, want %t", test.request, got, test.want)
		}
	}
}
