package fakeapi_test

import (
	"fmt"
	"testing"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

// Hundreds of servers live side by side, each with its own objects. Stopping one ends the watches of its clients alone,
// and in the end no goroutine is left.
func TestHundredsOfServers(t *testing.T) {
	count := 200
	if testing.Short() {
		count = 20
	}
	g := gomega.NewWithT(t)
	before := gleak.Goroutines()

	type watched struct {
		server  *fakeapi.Server
		watch   watch.Interface
		release func()
	}
	servers := make([]watched, count)
	for i := range servers {
		server, err := fakeapi.Start(t.Context(), fakeapi.Options{InMemory: i%2 == 0})
		if err != nil {
			t.Fatal(err)
		}
		config := server.RESTConfig()
		connection, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		clients, err := kubernetes.NewForConfigAndClient(config, connection)
		if err != nil {
			t.Fatal(err)
		}
		watching, err := clients.CoreV1().ConfigMaps("").Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := clients.CoreV1().ConfigMaps("default").Create(t.Context(), configMap(fmt.Sprint("of-", i)), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		servers[i] = watched{server, watching, connection.CloseIdleConnections}
	}
	for i, s := range servers {
		if event := <-s.watch.ResultChan(); event.Object.(*corev1.ConfigMap).Name != fmt.Sprint("of-", i) {
			t.Errorf("server %d: event %+v", i, event)
		}
		s.server.Stop()
		for event := range s.watch.ResultChan() { // it must end
			t.Errorf("server %d: event %+v", i, event)
		}
		s.release()
	}
	g.Eventually(gleak.Goroutines).WithTimeout(patience).ShouldNot(gleak.HaveLeaked(before))
}
