package fakeapi_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

// A server in memory serves as others do, to clients made from its configurations.
func TestInMemory(t *testing.T) {
	server := start(t, fakeapi.Options{InMemory: true, Objects: []runtime.Object{configMap("loaded")}})
	client := clientFor(t, server.RESTConfig())
	watching, err := client.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if event := <-watching.ResultChan(); event.Object.(*corev1.ConfigMap).Name != "loaded" {
		t.Errorf("event %+v", event)
	}
	certified, err := server.UserConfig("carl", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	if who, err := whoami(t, certified); err != nil || who.Username != "carl" {
		t.Errorf("with a certificate: %+v, %v", who, err)
	}
	if _, err := whoami(t, rest.AnonymousClientConfig(server.RESTConfig())); err == nil || !strings.Contains(err.Error(), `User "system:anonymous" cannot create`) {
		t.Errorf("without credentials: %v", err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range watching.ResultChan() { // it must end
	}
	if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "loaded", metav1.GetOptions{}); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	server.Stop()
	for {
		_, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "loaded", metav1.GetOptions{})
		if errors.Is(err, io.ErrClosedPipe) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			continue // a connection that was just closed may still be taken for one that can be used
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("after Stop: %v", err)
		}
		break
	}
}

// A server stops at once, whatever its clients wait for: watches, and faults that never answer.
func TestStopWaitsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hanging := make(chan struct{})
		server, err := fakeapi.Start(t.Context(), fakeapi.Options{InMemory: true, Faults: fakeapi.Faults{
			Request: func(ctx context.Context, r *fakeapi.Request) error {
				if r.Verb != "create" {
					return r.Do(ctx)
				}
				close(hanging)
				<-ctx.Done()
				return ctx.Err()
			},
		}})
		if err != nil {
			t.Fatal(err)
		}
		configMaps := clientFor(t, server.RESTConfig()).CoreV1().ConfigMaps("default")
		watching, err := configMaps.Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		created := make(chan error)
		go func() {
			_, err := configMaps.Create(t.Context(), configMap("probe"), metav1.CreateOptions{})
			created <- err
		}()
		<-hanging
		begin := time.Now()
		server.Stop()
		if took := time.Since(begin); took >= time.Second { // by the clock of the bubble, which no load can slow down
			t.Errorf("it took %v", took)
		}
		for range watching.ResultChan() { // it must end
		}
		if err := <-created; err == nil {
			t.Error("the request that hung was answered with success")
		}
	})
}

// In a bubble of testing/synctest, hours pass in no time: here those of a resync, and of a lease.
func TestInMemoryInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := fakeapi.Start(t.Context(), fakeapi.Options{InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Stop()
		client := clientFor(t, server.RESTConfig())
		created, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("probe"), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !created.CreationTimestamp.Time.Equal(time.Now().Truncate(time.Second)) {
			t.Errorf("created at %v, now it is %v", created.CreationTimestamp, time.Now())
		}

		resyncs := 0
		factory := informers.NewSharedInformerFactoryWithOptions(client, 10*time.Hour, informers.WithNamespace("default"))
		if _, err := factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			UpdateFunc: func(_, _ any) { resyncs++ },
		}); err != nil {
			t.Fatal(err)
		}
		stop := make(chan struct{})
		factory.Start(stop)
		time.Sleep(35 * time.Hour)
		synctest.Wait()
		if resyncs != 3 {
			t.Errorf("%d resyncs in 35 hours, want 3", resyncs)
		}
		close(stop)
		factory.Shutdown()
	})
}
