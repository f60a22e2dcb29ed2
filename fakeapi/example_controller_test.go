package fakeapi_test

import (
	"context"
	"fmt"
	"log"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

// A test of a controller that is built with controller-runtime: the manager runs against the server, and the test changes
// objects and watches what the controller makes of them.
func Example_controller() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	api, err := fakeapi.Start(ctx, fakeapi.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer api.Stop()

	manager, err := ctrl.NewManager(api.RESTConfig(), ctrl.Options{
		Logger:     logr.Discard(),
		Metrics:    server.Options{BindAddress: "0"},                 // no port
		Controller: config.Controller{SkipNameValidation: new(true)}, // several tests may have it
	})
	if err != nil {
		log.Fatal(err)
	}
	// The controller under test greets every config map.
	greet := func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		var object corev1.ConfigMap
		if err := manager.GetClient().Get(ctx, request.NamespacedName, &object); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		patch := client.MergeFrom(object.DeepCopy())
		metav1.SetMetaDataAnnotation(&object.ObjectMeta, "greeting", "hello, "+object.Name)
		return reconcile.Result{}, manager.GetClient().Patch(ctx, &object, patch)
	}
	if err := ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Complete(reconcile.Func(greet)); err != nil {
		log.Fatal(err)
	}
	stopped := make(chan error)
	go func() { stopped <- manager.Start(ctx) }()

	configMaps := kubernetes.NewForConfigOrDie(api.RESTConfig()).CoreV1().ConfigMaps("default")
	created, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "world"}}, metav1.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	changes, err := configMaps.Watch(ctx, metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector(metav1.ObjectNameField, "world").String(),
		ResourceVersion: created.ResourceVersion,
	})
	if err != nil {
		log.Fatal(err)
	}
	for change := range changes.ResultChan() {
		if object, ok := change.Object.(*corev1.ConfigMap); ok && change.Type == watch.Modified {
			fmt.Println(object.Annotations["greeting"])
			break
		}
	}
	changes.Stop()

	cancel()
	if err := <-stopped; err != nil {
		log.Fatal(err)
	}
	// Output: hello, world
}
