package fakeapi_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

// crowd is how many writers, deleters and watchers are at work at the same time.
const crowd = 50

// Many clients at once: no update is lost, and each watcher sees every change once and in order.
func TestManyWritersDeletersAndWatchers(t *testing.T) {
	const (
		counters   = 10
		increments = 4 // of each writer
		lives      = 2 // of the object of each deleter
	)
	server := start(t, fakeapi.Options{})
	config := server.RESTConfig()
	config.ContentType = "application/vnd.kubernetes.protobuf"
	configMaps := clientFor(t, config).CoreV1().ConfigMaps("default")
	var begin string
	for i := range counters {
		created, err := configMaps.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("counter-%d", i)}, Data: map[string]string{"n": "0"},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		begin = created.ResourceVersion
	}

	seen := make([][]string, crowd)
	var watchers sync.WaitGroup
	for i := range crowd {
		w, err := configMaps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: begin})
		if err != nil {
			t.Fatal(err)
		}
		watchers.Go(func() {
			defer w.Stop()
			seen[i] = readUntil(w, "last")
		})
	}
	var conflicts atomic.Int64
	var writers sync.WaitGroup
	for i := range crowd {
		writers.Go(func() {
			for n := range increments {
				if err := increment(t.Context(), configMaps, fmt.Sprintf("counter-%d", (i+n)%counters), &conflicts); err != nil {
					t.Error(err)
				}
			}
		})
		writers.Go(func() {
			for range lives {
				if err := liveOnce(t.Context(), configMaps, fmt.Sprintf("mayfly-%d", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	if _, err := configMaps.Create(t.Context(), configMap("last"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	watchers.Wait()
	if conflicts.Load() == 0 {
		t.Error("no two writers met: the test shows nothing")
	}

	total := 0
	for i := range counters {
		counter, err := configMaps.Get(t.Context(), fmt.Sprintf("counter-%d", i), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(counter.Data["n"])
		if err != nil {
			t.Fatal(err)
		}
		total += n
	}
	if want := crowd * increments; total != want {
		t.Errorf("the counters count %d, want %d: updates were lost", total, want)
	}
	// Each increment is one event, each life two, and the last object is one.
	if got, want := len(seen[0]), crowd*increments+crowd*lives*2+1; got != want {
		t.Errorf("a watcher saw %d events, want %d", got, want)
	}
	if !slices.IsSortedFunc(seen[0], compareVersions) {
		t.Errorf("a watcher saw the changes out of order: %v", seen[0])
	}
	for i := range seen {
		if !slices.Equal(seen[i], seen[0]) {
			t.Errorf("watcher %d saw\n%v\nanother\n%v", i, seen[i], seen[0])
		}
	}
}

// increment counts an object's number up, however often somebody else is faster.
func increment(ctx context.Context, configMaps corev1client.ConfigMapInterface, name string, conflicts *atomic.Int64) error {
	for {
		counter, err := configMaps.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(counter.Data["n"])
		if err != nil {
			return err
		}
		counter.Data["n"] = strconv.Itoa(n + 1)
		_, err = configMaps.Update(ctx, counter, metav1.UpdateOptions{})
		if !apierrors.IsConflict(err) {
			return err
		}
		conflicts.Add(1)
	}
}

func liveOnce(ctx context.Context, configMaps corev1client.ConfigMapInterface, name string) error {
	if _, err := configMaps.Create(ctx, configMap(name), metav1.CreateOptions{}); err != nil {
		return err
	}
	return configMaps.Delete(ctx, name, metav1.DeleteOptions{})
}

// readUntil reads events until the object of that name is added, each as its resource version, type and name.
func readUntil(w watch.Interface, name string) []string {
	var events []string
	for event := range w.ResultChan() {
		object, ok := event.Object.(*corev1.ConfigMap)
		if !ok {
			return append(events, fmt.Sprint(event))
		}
		events = append(events, fmt.Sprint(object.ResourceVersion, " ", event.Type, " ", object.Name))
		if object.Name == name {
			break
		}
	}
	return events
}

// compareVersions compares events by their resource versions; equal ones are out of order too.
func compareVersions(a, b string) int {
	version := func(event string) int {
		text, _, _ := strings.Cut(event, " ")
		n, _ := strconv.Atoi(text)
		return n
	}
	if version(a) > version(b) {
		return 1
	}
	return -1
}

// Watchers that never read hold up nobody, and the server ends them when it stops.
func TestWatchersThatNeverRead(t *testing.T) {
	const (
		objects = 100
		size    = 10_000 // of an object; all do not fit into the buffers of a client that does not read
		buffer  = 64 << 10
	)
	g := gomega.NewWithT(t)
	before := gleak.Goroutines()
	server := start(t, fakeapi.Options{})
	config := server.RESTConfig()
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{
		TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: buffer},
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for range crowd {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+"/api/v1/namespaces/default/configmaps?watch=true", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+config.BearerToken)
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close() // nothing of it has been read
		if response.StatusCode != http.StatusOK {
			t.Fatalf("watch: %s", response.Status)
		}
	}

	configMaps := clientFor(t, config).CoreV1().ConfigMaps("default")
	reader, err := configMaps.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range objects {
		object := configMap(fmt.Sprintf("large-%03d", i))
		object.Data = map[string]string{"large": strings.Repeat("x", size)}
		if _, err := configMaps.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(readUntil(reader, fmt.Sprintf("large-%03d", objects-1))); got < objects {
		t.Errorf("a watcher beside those that do not read saw %d events, want %d", got, objects)
	}
	reader.Stop()

	server.Stop()
	transport.CloseIdleConnections()
	g.Eventually(gleak.Goroutines).WithTimeout(patience).ShouldNot(gleak.HaveLeaked(before))
}
