package fakeapi_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

func TestInformer(t *testing.T) {
	server := start(t, fakeapi.Options{})
	client := clientFor(t, server.RESTConfig())
	configMaps := client.CoreV1().ConfigMaps("default")
	if _, err := configMaps.Create(t.Context(), configMap("before"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	seen := make(chan string, 16)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("default"))
	informer := factory.Core().V1().ConfigMaps().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { seen <- "added " + object.(*corev1.ConfigMap).Name },
		UpdateFunc: func(_, object any) { seen <- "updated " + object.(*corev1.ConfigMap).Data["a"] },
		DeleteFunc: func(object any) { seen <- "deleted " + object.(*corev1.ConfigMap).Name },
	}); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	factory.Start(stop)
	defer factory.Shutdown()
	defer close(stop)

	expect := func(want string) {
		t.Helper()
		select {
		case got := <-seen:
			if got != want {
				t.Fatalf("the informer saw %q, want %q", got, want)
			}
		case <-time.After(patience):
			t.Fatalf("the informer did not see %q", want)
		}
	}
	expect("added before")
	created, err := configMaps.Create(t.Context(), configMap("probe"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	expect("added probe")
	created.Data = map[string]string{"a": "b"}
	if _, err := configMaps.Update(t.Context(), created, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("updated b")
	if err := configMaps.Delete(t.Context(), "probe", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("deleted probe")

	// It goes on where the server has been away.
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := configMaps.Create(t.Context(), configMap("after"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("added after")
}
