// Package controller holds the controller of Relays.
package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	netv1 "github.com/gatehouse-dev/gatehouse/fakeapi/internal/testproject/api/v1"
)

// Finalizer keeps a Relay until the controller has cleaned up.
const Finalizer = "net.example.com/cleanup"

// RelayReconciler makes a config map of each Relay, and tells in its status that it is there.
type RelayReconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

// +kubebuilder:rbac:groups=net.example.com,resources=relays,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=net.example.com,resources=relays/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=net.example.com,resources=relays/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;update;patch;delete

// Reconcile implements reconcile.Reconciler.
func (r *RelayReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	relay := &netv1.Relay{}
	if err := r.Get(ctx, req.NamespacedName, relay); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: relay.Namespace, Name: relay.Name}}
	if !relay.DeletionTimestamp.IsZero() {
		if err := r.Delete(ctx, config); client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, err
		}
		if controllerutil.RemoveFinalizer(relay, Finalizer) {
			return ctrl.Result{}, r.Update(ctx, relay)
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(relay, Finalizer) {
		if err := r.Update(ctx, relay); err != nil {
			return ctrl.Result{}, err
		}
	}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, config, func() error {
		config.Data = map[string]string{"target": relay.Spec.Target}
		return controllerutil.SetControllerReference(relay, config, r.Scheme)
	}); err != nil {
		return ctrl.Result{}, err
	}
	relay.Status.ObservedGeneration = relay.Generation
	meta.SetStatusCondition(&relay.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Configured", ObservedGeneration: relay.Generation,
	})
	return ctrl.Result{}, r.Status().Update(ctx, relay)
}

// SetupWithManager registers the controller.
func (r *RelayReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&netv1.Relay{}).
		Owns(&corev1.ConfigMap{}).
		Named("relay").
		Complete(r)
}
