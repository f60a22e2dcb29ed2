package fakeapi_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

// webhookService is the service by which the API server knows the manager's webhooks, as kubebuilder lays them out.
const webhookService = "webhook-service.widgets-system.svc"

// A whole operator, built with controller-runtime: a manager with leader election, a cache and a webhook server that reads
// its certificate from files; a controller of a custom kind that owns objects of a built-in one.
func TestControllerRuntimeManager(t *testing.T) {
	certificates, caBundle := webhookCertificates(t)
	port := freePort(t)
	api := start(t, fakeapi.Options{
		Objects:          append([]runtime.Object{widgets()}, deploymentWebhooks(caBundle)...),
		ServiceAddresses: map[string]string{"widgets-system/webhook-service:443": fmt.Sprintf("127.0.0.1:%d", port)},
	})
	ctrl.SetLogger(logr.Discard()) // else it complains that nobody did
	operator, err := ctrl.NewManager(api.RESTConfig(), ctrl.Options{
		Metrics:                       server.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "widgets.example.com",
		LeaderElectionNamespace:       "default",
		LeaderElectionReleaseOnCancel: true,
		WebhookServer:                 ctrlwebhook.NewServer(ctrlwebhook.Options{Host: "127.0.0.1", Port: port, CertDir: certificates}),
		Controller:                    config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := setUpOperator(t.Context(), operator); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- operator.Start(ctx) }()
	defer func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("the manager: %v", err)
		}
	}()
	<-operator.Elected()
	eventually(t, "the webhook server to listen", func() error { return operator.GetWebhookServer().StartedChecker()(nil) })
	if !operator.GetCache().WaitForCacheSync(t.Context()) {
		t.Fatal("the cache did not fill")
	}

	t.Run("webhooks", func(t *testing.T) { testManagerWebhooks(t, operator.GetClient()) })
	t.Run("controller", func(t *testing.T) { testManagerController(t, operator.GetClient()) })
	t.Run("clients", func(t *testing.T) { testManagerClients(t, operator) })
	t.Run("subresources", func(t *testing.T) { testManagerSubresources(t, operator.GetClient()) })
}

// eventually waits until there is no error any more.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("waiting for %s: %v", what, last)
	}
}

// freePort finds a port that is free, for servers that must be told one.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() // it is only about the number
	return listener.Addr().(*net.TCPAddr).Port
}

// webhookCertificates writes tls.crt and tls.key of the webhook service.
func webhookCertificates(t *testing.T) (directory string, caBundle []byte) {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey(webhookService, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	directory = t.TempDir()
	for name, content := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(directory, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return directory, certificate
}

// deploymentWebhooks configure the webhooks that controller-runtime serves for deployments.
func deploymentWebhooks(caBundle []byte) []runtime.Object {
	clientConfig := func(path string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{
			Service:  &admissionregistrationv1.ServiceReference{Namespace: "widgets-system", Name: "webhook-service", Path: &path},
			CABundle: caBundle,
		}
	}
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
	}}
	return []runtime.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "widgets-mutating"},
			Webhooks: []admissionregistrationv1.MutatingWebhook{{
				Name: "mdeployment.example.com", ClientConfig: clientConfig("/mutate-apps-v1-deployment"), Rules: rules,
				SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			}},
		},
		&admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "widgets-validating"},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: "vdeployment.example.com", ClientConfig: clientConfig("/validate-apps-v1-deployment"), Rules: rules,
				SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			}},
		},
	}
}

// setUpOperator registers the controller, the webhooks and an index with the manager.
func setUpOperator(ctx context.Context, operator manager.Manager) error {
	widget := &unstructured.Unstructured{}
	widget.SetGroupVersionKind(widgetKind)
	err := ctrl.NewControllerManagedBy(operator).
		For(widget).
		Owns(&corev1.ConfigMap{}, builder.MatchEveryOwner).
		Complete(&widgetReconciler{operator.GetClient()})
	if err != nil {
		return err
	}
	hooks := deploymentHooks{}
	if err := ctrl.NewWebhookManagedBy(operator, &appsv1.Deployment{}).WithDefaulter(hooks).WithValidator(hooks).Complete(); err != nil {
		return err
	}
	return operator.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, "spec.nodeName", func(object client.Object) []string {
		return []string{object.(*corev1.Pod).Spec.NodeName}
	})
}

var widgetKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}

// widgetReconciler gives each widget a config map that says its size, and tells in its status that it is ready.
type widgetReconciler struct{ client client.Client }

func (r *widgetReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	widget := &unstructured.Unstructured{}
	widget.SetGroupVersionKind(widgetKind)
	if err := r.client.Get(ctx, request.NamespacedName, widget); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !widget.GetDeletionTimestamp().IsZero() {
		if controllerutil.RemoveFinalizer(widget, "example.com/cleanup") {
			return reconcile.Result{}, r.client.Update(ctx, widget)
		}
		return reconcile.Result{}, nil
	}
	if controllerutil.AddFinalizer(widget, "example.com/cleanup") {
		if err := r.client.Update(ctx, widget); err != nil {
			return reconcile.Result{}, err
		}
	}
	size, _, err := unstructured.NestedInt64(widget.Object, "spec", "size")
	if err != nil {
		return reconcile.Result{}, err
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: widget.GetNamespace(), Name: widget.GetName()}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.client, owned, func() error {
		owned.Data = map[string]string{"size": fmt.Sprint(size)}
		return controllerutil.SetControllerReference(widget, owned, r.client.Scheme())
	}); err != nil {
		return reconcile.Result{}, err
	}
	if ready, _, _ := unstructured.NestedBool(widget.Object, "status", "ready"); ready {
		return reconcile.Result{}, nil
	}
	if err := unstructured.SetNestedField(widget.Object, true, "status", "ready"); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, r.client.Status().Update(ctx, widget)
}

// deploymentHooks mark deployments, and allow no more than five replicas.
type deploymentHooks struct{}

var (
	_ admission.Defaulter[*appsv1.Deployment] = deploymentHooks{}
	_ admission.Validator[*appsv1.Deployment] = deploymentHooks{}
)

func (deploymentHooks) Default(_ context.Context, deployment *appsv1.Deployment) error {
	metav1.SetMetaDataLabel(&deployment.ObjectMeta, "defaulted", "yes")
	return nil
}

func (deploymentHooks) ValidateCreate(_ context.Context, deployment *appsv1.Deployment) (admission.Warnings, error) {
	if *deployment.Spec.Replicas > 5 {
		return admission.Warnings{"replicas are expensive"}, errors.New("at most 5 replicas")
	}
	return nil, nil
}

func (h deploymentHooks) ValidateUpdate(ctx context.Context, _, deployment *appsv1.Deployment) (admission.Warnings, error) {
	return h.ValidateCreate(ctx, deployment)
}

func (deploymentHooks) ValidateDelete(context.Context, *appsv1.Deployment) (admission.Warnings, error) {
	return nil, nil
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podOf(name, "").Spec},
		},
	}
}

func testManagerWebhooks(t *testing.T, c client.Client) {
	good := deployment("good", 2)
	if err := c.Create(t.Context(), good); err != nil || good.Labels["defaulted"] != "yes" {
		t.Errorf("labels %v, %v", good.Labels, err)
	}
	err := c.Create(t.Context(), deployment("large", 6))
	if want := `admission webhook "vdeployment.example.com" denied the request: at most 5 replicas`; !apierrors.IsForbidden(err) || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	good.Spec.Replicas = new(int32(7))
	if err := c.Update(t.Context(), good); !apierrors.IsForbidden(err) {
		t.Errorf("an update: %v", err)
	}
}

func testManagerController(t *testing.T, c client.Client) {
	ctx := t.Context()
	created := widget("gadget", 3)
	if err := c.Create(ctx, created); err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKeyFromObject(created)
	var owned corev1.ConfigMap
	ready := func() error {
		if err := c.Get(ctx, key, created); err != nil {
			return err
		}
		if ready, _, _ := unstructured.NestedBool(created.Object, "status", "ready"); !ready {
			return fmt.Errorf("not ready: %v", created.Object)
		}
		return c.Get(ctx, key, &owned)
	}
	eventually(t, "the controller to act", ready)
	if owner := metav1.GetControllerOf(&owned); owner == nil || owner.UID != created.GetUID() || owned.Data["size"] != "3" {
		t.Errorf("owner %+v, data %v", owner, owned.Data)
	}

	// It repairs what it owns, and follows changes.
	before := owned.UID
	if err := c.Delete(ctx, &owned); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a new config map", func() error {
		if err := c.Get(ctx, key, &owned); err != nil {
			return err
		}
		if owned.UID == before {
			return errors.New("it is the old one")
		}
		return nil
	})
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"size":4}}`))
	if err := c.Patch(ctx, created, patch); err != nil {
		t.Fatal(err)
	}
	if generation := created.GetGeneration(); generation != 2 {
		t.Errorf("generation %d after a change of the spec, want 2", generation)
	}
	eventually(t, "the new size", func() error {
		if err := c.Get(ctx, key, &owned); err != nil || owned.Data["size"] != "4" {
			return fmt.Errorf("data %v, %w", owned.Data, err)
		}
		return nil
	})

	// The finalizer lets it clean up.
	if err := c.Delete(ctx, created); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the widget to go", func() error {
		if err := c.Get(ctx, key, created); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is still there: %v, %w", created.GetFinalizers(), err)
		}
		return nil
	})
}

// testManagerClients reads and writes typed, unstructured and metadata objects, past the cache and through it.
func testManagerClients(t *testing.T, operator manager.Manager) {
	ctx, cached, direct := t.Context(), operator.GetClient(), operator.GetAPIReader()
	for i := range 5 {
		object := configMap(fmt.Sprint("item-", i))
		object.Namespace, object.Labels = "default", map[string]string{"list": "items"}
		if err := cached.Create(ctx, object); err != nil {
			t.Fatal(err)
		}
	}
	items := client.MatchingLabels{"list": "items"}
	unstructuredItems := &unstructured.UnstructuredList{}
	unstructuredItems.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	metadataItems := &metav1.PartialObjectMetadataList{}
	metadataItems.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	for name, list := range map[string]client.ObjectList{
		"typed": &corev1.ConfigMapList{}, "unstructured": unstructuredItems, "metadata": metadataItems,
	} {
		for way, reader := range map[string]client.Reader{"direct": direct, "cached": cached} {
			eventually(t, name+" objects, "+way, func() error {
				if err := reader.List(ctx, list, client.InNamespace("default"), items); err != nil {
					return err
				}
				if n := meta.LenList(list); n != 5 {
					return fmt.Errorf("%d objects, want 5", n)
				}
				return nil
			})
		}
	}

	// In pages.
	var page corev1.ConfigMapList
	var sizes []int
	for first := true; first || page.Continue != ""; first = false {
		if err := direct.List(ctx, &page, client.InNamespace("default"), items, client.Limit(2), client.Continue(page.Continue)); err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(page.Items))
	}
	if fmt.Sprint(sizes) != "[2 2 1]" {
		t.Errorf("pages of %v", sizes)
	}

	// Metadata alone can be patched, with a lock.
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	key := client.ObjectKey{Namespace: "default", Name: "item-0"}
	if err := direct.Get(ctx, key, metadata); err != nil {
		t.Fatal(err)
	}
	stale := metadata.DeepCopy()
	change := func(object *metav1.PartialObjectMetadata) error {
		patch := client.MergeFromWithOptions(object.DeepCopy(), client.MergeFromWithOptimisticLock{})
		metav1.SetMetaDataAnnotation(&object.ObjectMeta, "changed", "yes")
		return cached.Patch(ctx, object, patch)
	}
	if err := change(metadata); err != nil || metadata.ResourceVersion == stale.ResourceVersion {
		t.Errorf("a patch: %v", err)
	}
	if err := change(stale); !apierrors.IsConflict(err) {
		t.Errorf("a patch of a stale object: %v", err)
	}

	// Server-side apply, with a conflict that force ends.
	apply := func(owner, value string, options ...client.ApplyOption) error {
		return cached.Apply(ctx, corev1apply.ConfigMap("applied", "default").WithData(map[string]string{"key": value}), append(options, client.FieldOwner(owner))...)
	}
	if err := apply("one", "a"); err != nil {
		t.Fatal(err)
	}
	if err := apply("two", "b"); !apierrors.IsConflict(err) {
		t.Errorf("another owner's value: %v", err)
	}
	if err := apply("two", "b", client.ForceOwnership); err != nil {
		t.Errorf("with force: %v", err)
	}

	// An index of the cache, and a field selector of the server.
	pod := podOf("indexed", "")
	pod.Namespace, pod.Spec.NodeName = "default", "node-1"
	if err := cached.Create(ctx, pod); err != nil {
		t.Fatal(err)
	}
	for way, reader := range map[string]client.Reader{"direct": direct, "cached": cached} {
		eventually(t, "pods of a node, "+way, func() error {
			var pods corev1.PodList
			if err := reader.List(ctx, &pods, client.MatchingFields{"spec.nodeName": "node-1"}); err != nil || len(pods.Items) != 1 {
				return fmt.Errorf("%d pods, %w", len(pods.Items), err)
			}
			return reader.List(ctx, &pods, client.MatchingFields{"spec.nodeName": "node-2"})
		})
	}

	if err := cached.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace("default"), items); err != nil {
		t.Fatal(err)
	}
	if err := direct.List(ctx, &page, client.InNamespace("default"), items); err != nil || len(page.Items) != 0 {
		t.Errorf("%d objects after DeleteAllOf, %v", len(page.Items), err)
	}
}

func testManagerSubresources(t *testing.T, c client.Client) {
	ctx := t.Context()
	scaled := deployment("scaled", 1)
	if err := c.Create(ctx, scaled); err != nil {
		t.Fatal(err)
	}
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 4}}
	if err := c.SubResource("scale").Update(ctx, scaled, client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
	scale = &autoscalingv1.Scale{}
	if err := c.SubResource("scale").Get(ctx, scaled, scale); err != nil || scale.Spec.Replicas != 4 || scale.Status.Selector != "app=scaled" {
		t.Errorf("scale %+v, %v", scale, err)
	}

	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "robot"}}
	if err := c.Create(ctx, account); err != nil {
		t.Fatal(err)
	}
	token := &authenticationv1.TokenRequest{}
	if err := c.SubResource("token").Create(ctx, account, token); err != nil || token.Status.Token == "" {
		t.Errorf("token %+v, %v", token.Status, err)
	}

	pod := podOf("evicted", "")
	pod.Namespace = "default"
	if err := c.Create(ctx, pod); err != nil {
		t.Fatal(err)
	}
	pod.Status.Phase = corev1.PodRunning
	if err := c.Status().Update(ctx, pod); err != nil || pod.Status.Phase != corev1.PodRunning {
		t.Errorf("phase %s, %v", pod.Status.Phase, err)
	}
	if err := c.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{}); err != nil {
		t.Errorf("eviction: %v", err)
	}
}
