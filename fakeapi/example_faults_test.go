package fakeapi_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync/atomic"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

// Does the code under test go on after a conflict? Here each object has one at its first update.
func ExampleFaults() {
	ctx := context.Background()
	var updates atomic.Int32
	api, err := fakeapi.Start(ctx, fakeapi.Options{Faults: fakeapi.Faults{
		Request: func(ctx context.Context, r *fakeapi.Request) error {
			if r.Verb == "update" && r.Resource.Resource == "configmaps" && updates.Add(1) == 1 {
				return apierrors.NewConflict(r.Resource.GroupResource(), r.Name, errors.New("somebody was faster"))
			}
			return r.Do(ctx)
		},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer api.Stop()

	configMaps := kubernetes.NewForConfigOrDie(api.RESTConfig()).CoreV1().ConfigMaps("default")
	if _, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "counter"}}, metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error { // the code under test
		current, err := configMaps.Get(ctx, "counter", metav1.GetOptions{})
		if err != nil {
			return err
		}
		current.Data = map[string]string{"count": "1"}
		_, err = configMaps.Update(ctx, current, metav1.UpdateOptions{})
		return err
	})
	fmt.Println(updates.Load(), "updates:", err)
	// Output: 2 updates: <nil>
}

// What becomes of requests while a webhook is down? It fails here as often as it is called, whatever is configured.
func ExampleFaults_webhook() {
	webhookIsDown := fakeapi.Faults{
		Webhook: func(ctx context.Context, call *fakeapi.WebhookCall) (*admissionv1.AdmissionResponse, error) {
			if call.Webhook == "quota.example.com" {
				return nil, errors.New("connection refused")
			}
			return call.Do(ctx)
		},
	}
	ctx := context.Background()
	api, err := fakeapi.Start(ctx, fakeapi.Options{Load: []string{"testdata/quota-webhook.yaml"}, Faults: webhookIsDown})
	if err != nil {
		log.Fatal(err)
	}
	defer api.Stop()

	configMaps := kubernetes.NewForConfigOrDie(api.RESTConfig()).CoreV1().ConfigMaps("default")
	_, err = configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}, metav1.CreateOptions{})
	fmt.Println(err)
	// Output: Internal error occurred: failed calling webhook "quota.example.com": failed to call webhook: connection refused
}

// A webhook needs no server at all when a fault answers for it.
func ExampleFaults_webhookWithoutServer() {
	underTest := func(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{
			Allowed: request.Name != "greedy",
			Result:  &metav1.Status{Message: "the quota is exhausted"},
		}
	}
	ctx := context.Background()
	api, err := fakeapi.Start(ctx, fakeapi.Options{
		InMemory: true,
		Load:     []string{"testdata/quota-webhook.yaml"},
		Faults: fakeapi.Faults{
			Webhook: func(_ context.Context, call *fakeapi.WebhookCall) (*admissionv1.AdmissionResponse, error) {
				return underTest(call.Request), nil
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer api.Stop()

	configMaps := kubernetes.NewForConfigOrDie(api.RESTConfig()).CoreV1().ConfigMaps("default")
	_, err = configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "greedy"}}, metav1.CreateOptions{})
	fmt.Println(err)
	// Output: admission webhook "quota.example.com" denied the request: the quota is exhausted
}

// A server without a port is reached through its RESTConfig alone.
func ExampleOptions_inMemory() {
	ctx := context.Background()
	api, err := fakeapi.Start(ctx, fakeapi.Options{InMemory: true})
	if err != nil {
		log.Fatal(err)
	}
	defer api.Stop()

	namespaces, err := kubernetes.NewForConfigOrDie(api.RESTConfig()).CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, namespace := range namespaces.Items {
		fmt.Println(namespace.Name)
	}
	// Output:
	// default
	// kube-node-lease
	// kube-public
	// kube-system
}
