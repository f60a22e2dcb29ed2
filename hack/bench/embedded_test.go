package bench

import (
	"fmt"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

// BenchmarkEmbedded measures servers in this process: from Start to the answer to a create, and Stop, without clients and
// with open watches.
func BenchmarkEmbedded(b *testing.B) {
	for _, watches := range []int{0, 100} {
		b.Run("watches="+strconv.Itoa(watches), func(b *testing.B) {
			var starting, stopping []time.Duration
			for b.Loop() {
				begin := time.Now()
				server, err := fakeapi.Start(b.Context(), fakeapi.Options{})
				if err != nil {
					b.Fatal(err)
				}
				starting = append(starting, time.Since(begin))
				client, release := clientOf(b, server.RESTConfig())
				if err := firstCreate(b.Context(), client); err != nil {
					b.Fatal(err)
				}
				for range watches {
					watch, err := client.CoreV1().ConfigMaps("").Watch(b.Context(), metav1.ListOptions{})
					if err != nil {
						b.Fatal(err)
					}
					<-watch.ResultChan() // of the first object
				}
				begin = time.Now()
				server.Stop()
				stopping = append(stopping, time.Since(begin))
				release()
			}
			start, stop := milliseconds(median(starting)), milliseconds(median(stopping))
			b.ReportMetric(start, "start-ms")
			b.ReportMetric(stop, "stop-ms")
			if watches == 0 {
				note("start in process", "fakeapi", start)
				note("stop", "fakeapi", stop)
			} else {
				note(fmt.Sprintf("stop with %d watches", watches), "fakeapi", stop)
			}
		})
	}
}

// BenchmarkManyServers measures the memory of 200 servers, with a watch and an object each, in this process.
func BenchmarkManyServers(b *testing.B) {
	const count = 200
	for b.Loop() {
		debug.FreeOSMemory()
		servers := make([]*fakeapi.Server, count)
		releases := make([]func(), count)
		for i := range servers {
			server, err := fakeapi.Start(b.Context(), fakeapi.Options{})
			if err != nil {
				b.Fatal(err)
			}
			client, release := clientOf(b, server.RESTConfig())
			watch, err := client.CoreV1().ConfigMaps("").Watch(b.Context(), metav1.ListOptions{})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := client.CoreV1().ConfigMaps("default").Create(b.Context(), bulk(), metav1.CreateOptions{}); err != nil {
				b.Fatal(err)
			}
			if event := <-watch.ResultChan(); event.Object.(*corev1.ConfigMap).Namespace != "default" {
				b.Fatalf("event %+v", event)
			}
			servers[i], releases[i] = server, release
		}
		b.StopTimer()
		if status, err := readStatus("/proc/self/status"); err != nil {
			b.Log(err)
		} else if resident, err := residentOf(status); err != nil {
			b.Error(err)
		} else {
			b.ReportMetric(megabytes(resident), "resident-MB")
			note("200 servers in one process", "fakeapi", megabytes(resident))
		}
		for i, server := range servers {
			server.Stop()
			releases[i]()
		}
		b.StartTimer()
	}
}

// clientOf returns a client with a connection of its own, and what closes it.
func clientOf(b *testing.B, config *rest.Config) (client *kubernetes.Clientset, release func()) {
	b.Helper()
	connection, err := rest.HTTPClientFor(config)
	if err != nil {
		b.Fatal(err)
	}
	if client, err = kubernetes.NewForConfigAndClient(config, connection); err != nil {
		b.Fatal(err)
	}
	return client, connection.CloseIdleConnections
}
