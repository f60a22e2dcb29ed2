package fakeapi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

// patience bounds how long a test waits for what happens beside it.
const patience = 30 * time.Second

// start starts a server that stops with the test.
func start(t testing.TB, options fakeapi.Options) *fakeapi.Server {
	t.Helper()
	server, err := fakeapi.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return server
}

// clientFor returns a client whose connections end with the test.
func clientFor(t testing.TB, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	clients, err := kubernetes.NewForConfigAndClient(config, client)
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func TestStopLeavesNothingBehind(t *testing.T) {
	g := gomega.NewWithT(t)
	before := gleak.Goroutines()

	for _, end := range []struct {
		name string
		by   func(server *fakeapi.Server, cancel context.CancelFunc)
	}{
		{"Stop", func(server *fakeapi.Server, _ context.CancelFunc) { server.Stop() }},
		{"Stop again", func(server *fakeapi.Server, _ context.CancelFunc) { server.Stop(); server.Stop() }},
		{"the context", func(_ *fakeapi.Server, cancel context.CancelFunc) { cancel() }},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		server, err := fakeapi.Start(ctx, fakeapi.Options{})
		if err != nil {
			t.Fatal(err)
		}
		config := server.RESTConfig()
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		clients, err := kubernetes.NewForConfigAndClient(config, client)
		if err != nil {
			t.Fatal(err)
		}
		watching, err := clients.CoreV1().ConfigMaps("").Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := clients.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("probe"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		<-watching.ResultChan()
		end.by(server, cancel)
		for range watching.ResultChan() { // it must end
		}
		g.Eventually(func() error {
			_, err := clients.CoreV1().ConfigMaps("default").Get(t.Context(), "probe", metav1.GetOptions{})
			return err
		}).WithTimeout(patience).Should(gomega.MatchError(gomega.ContainSubstring("connect")), "a request after %s", end.name)
		cancel()
		client.CloseIdleConnections()
	}
	g.Eventually(gleak.Goroutines).WithTimeout(patience).ShouldNot(gleak.HaveLeaked(before))
}

func TestSeveralServers(t *testing.T) {
	first, second := start(t, fakeapi.Options{}), start(t, fakeapi.Options{})
	if _, err := clientFor(t, first.RESTConfig()).CoreV1().ConfigMaps("default").Create(t.Context(), configMap("probe"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := clientFor(t, second.RESTConfig()).CoreV1().ConfigMaps("default").Get(t.Context(), "probe", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the second server has an object of the first: %v", err)
	}
	foreign := second.RESTConfig()
	foreign.BearerToken = first.RESTConfig().BearerToken
	_, err = clientFor(t, foreign).CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsUnauthorized(err) {
		t.Errorf("the second server let the first one's administrator in: %v", err)
	}
}

func TestRestartKeepsObjectsAndCredentials(t *testing.T) {
	server := start(t, fakeapi.Options{})
	client := clientFor(t, server.RESTConfig())
	created, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("probe"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	read, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "probe", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if read.UID != created.UID || read.ResourceVersion != created.ResourceVersion {
		t.Errorf("after the restart it is %s at %s, before it was %s at %s", read.UID, read.ResourceVersion, created.UID, created.ResourceVersion)
	}
	server.Stop()
	if err := server.Restart(t.Context()); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("restarting a stopped server: %v", err)
	}
}

func TestKubeconfig(t *testing.T) {
	server := start(t, fakeapi.Options{})
	config, err := clientcmd.RESTConfigFromKubeConfig(server.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clientFor(t, config).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestRESTConfigIsACopy(t *testing.T) {
	server := start(t, fakeapi.Options{})
	server.RESTConfig().BearerToken = "changed"
	if server.RESTConfig().BearerToken == "changed" {
		t.Error("a caller changed the server's configuration")
	}
}

func TestClockAndUIDs(t *testing.T) {
	day := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	ids := 0
	server := start(t, fakeapi.Options{
		Clock: testingclock.NewFakeClock(day),
		UIDs:  func() types.UID { ids++; return types.UID(strings.Repeat("u", ids)) },
	})
	client := clientFor(t, server.RESTConfig())
	before := ids
	probe := configMap("probe")
	probe.Data = map[string]string{"a": "b"}
	created, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), probe, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat("u", before+1); string(created.UID) != want {
		t.Errorf("uid %q, want %q", created.UID, want)
	}
	if !created.CreationTimestamp.Time.Equal(day) {
		t.Errorf("created at %v, want %v", created.CreationTimestamp, day)
	}
	if managed := created.ManagedFields; len(managed) != 1 || !managed[0].Time.Time.Equal(day) {
		t.Errorf("managed fields %+v, want one entry of %v", managed, day)
	}
}

func TestBadOptions(t *testing.T) {
	tests := map[string]struct {
		options fakeapi.Options
		want    string
	}{
		"address":        {fakeapi.Options{Address: "here"}, `Address "here" is not host:port`},
		"two addresses":  {fakeapi.Options{Address: "127.0.0.1:0", InMemory: true}, `Address is "127.0.0.1:0" of a server that is InMemory`},
		"unknown plugin": {fakeapi.Options{AdmissionPlugins: []string{"Priority", "Magic"}}, `AdmissionPlugins[1] is "Magic": want one of LimitRanger, Priority, ServiceAccount`},
		"nameless user":  {fakeapi.Options{Users: []fakeapi.User{{Token: "t"}}}, "Users[0] needs a Token and a Name"},
		"shared token":   {fakeapi.Options{Users: []fakeapi.User{{Token: "t", Name: "a"}, {Token: "t", Name: "b"}}}, `Users[1], "b", has the token of another user`},
		"missing file":   {fakeapi.Options{Load: []string{"testdata/missing.yaml"}}, "testdata/missing.yaml"},
		"invalid object": {fakeapi.Options{Objects: []runtime.Object{configMap("good"), configMap("BAD")}}, "Objects[1]: ConfigMap default/BAD: "},
		"no object":      {fakeapi.Options{Objects: []runtime.Object{nil}}, "Objects[0]: is nil"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server, err := fakeapi.Start(t.Context(), test.options)
			if err == nil {
				server.Stop()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %q does not say %q", err, test.want)
			}
		})
	}
}

func TestStoreRaw(t *testing.T) {
	const object = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"raw","namespace":"default"},"data":{"a":"b"}}`
	if err := start(t, fakeapi.Options{}).StoreRaw(t.Context(), []byte(object)); err == nil || !strings.Contains(err.Error(), "RawStore") {
		t.Errorf("without the option: %v", err)
	}
	server := start(t, fakeapi.Options{RawStore: true})
	if err := server.StoreRaw(t.Context(), []byte(object)); err != nil {
		t.Fatal(err)
	}
	read, err := clientFor(t, server.RESTConfig()).CoreV1().ConfigMaps("default").Get(t.Context(), "raw", metav1.GetOptions{})
	if err != nil || read.Data["a"] != "b" || read.UID == "" {
		t.Errorf("read %+v, %v", read, err)
	}
}

func TestDryRun(t *testing.T) {
	server := start(t, fakeapi.Options{})
	configMaps := clientFor(t, server.RESTConfig()).CoreV1().ConfigMaps("default")
	dryRun := []string{metav1.DryRunAll}

	created, err := configMaps.Create(t.Context(), configMap("probe"), metav1.CreateOptions{DryRun: dryRun})
	if err != nil || created.UID == "" {
		t.Fatalf("create: %+v, %v", created, err)
	}
	if _, err := configMaps.Get(t.Context(), "probe", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after a dry run of create: %v", err)
	}
	stored, err := configMaps.Create(t.Context(), configMap("probe"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	changed := stored.DeepCopy()
	changed.Data = map[string]string{"a": "b"}
	if answer, err := configMaps.Update(t.Context(), changed, metav1.UpdateOptions{DryRun: dryRun}); err != nil || answer.Data["a"] != "b" {
		t.Errorf("update: %+v, %v", answer, err)
	}
	if err := configMaps.Delete(t.Context(), "probe", metav1.DeleteOptions{DryRun: dryRun}); err != nil {
		t.Errorf("delete: %v", err)
	}
	if read, err := configMaps.Get(t.Context(), "probe", metav1.GetOptions{}); err != nil || read.ResourceVersion != stored.ResourceVersion {
		t.Errorf("after dry runs of update and delete: %+v, %v", read, err)
	}
	_, err = configMaps.Create(t.Context(), configMap("other"), metav1.CreateOptions{DryRun: []string{"Some"}})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `dryRun: Unsupported value`) {
		t.Errorf("with an unknown value: %v", err)
	}
}

func TestWatchGoesOnAfterRestart(t *testing.T) {
	server := start(t, fakeapi.Options{})
	client := clientFor(t, server.RESTConfig())
	created, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("first"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("second"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	watching, err := client.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{ResourceVersion: created.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Stop()
	event := <-watching.ResultChan()
	if object, ok := event.Object.(*corev1.ConfigMap); event.Type != watch.Added || !ok || object.Name != "second" {
		t.Errorf("got %s of %+v, want ADDED of second", event.Type, event.Object)
	}
}
