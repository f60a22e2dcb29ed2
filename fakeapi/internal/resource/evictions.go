package resource

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storageerrors "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/utils/ptr"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

// evictionREST is the storage of pods/eviction: it deletes a pod when the disruption budgets allow that.
type evictionREST struct {
	pods *REST
}

var (
	_ rest.NamedCreater         = &evictionREST{}
	_ rest.GroupVersionAcceptor = &evictionREST{}
)

// New implements rest.Storage.
func (e *evictionREST) New() runtime.Object { return &policyv1.Eviction{} }

// Destroy implements rest.Storage; there is nothing to release.
func (e *evictionREST) Destroy() {}

// AcceptsGroupVersion implements rest.GroupVersionAcceptor.
func (e *evictionREST) AcceptsGroupVersion(gv schema.GroupVersion) bool {
	return gv.Group == policyv1.GroupName && (gv.Version == "v1" || gv.Version == "v1beta1")
}

// Create implements rest.NamedCreater.
func (e *evictionREST) Create(ctx context.Context, name string, object runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	eviction := object.(*policyv1.Eviction)
	if name != eviction.Name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	deleteOptions, err := evictionDeleteOptions(eviction, options)
	if err != nil {
		return nil, err
	}
	if validate != nil {
		if err := validate(ctx, eviction.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	found, err := e.pods.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pod := found.(*corev1.Pod)
	if disrupts(pod) {
		status, err := e.askBudget(ctx, pod, dryrun.IsDryRun(deleteOptions.DryRun))
		if err != nil {
			return nil, err
		}
		if status != nil {
			return status, nil
		}
	}
	if err := e.evict(ctx, name, deleteOptions); err != nil {
		return nil, err
	}
	return &metav1.Status{Status: metav1.StatusSuccess}, nil
}

// evictionDeleteOptions are what to delete the pod with; dry run may be asked for in either place.
func evictionDeleteOptions(eviction *policyv1.Eviction, options *metav1.CreateOptions) (*metav1.DeleteOptions, error) {
	deleteOptions := &metav1.DeleteOptions{}
	if eviction.DeleteOptions != nil {
		deleteOptions = eviction.DeleteOptions.DeepCopy()
	}
	switch {
	case len(deleteOptions.DryRun) == 0:
		deleteOptions.DryRun = options.DryRun
	case len(options.DryRun) > 0 && !reflect.DeepEqual(options.DryRun, deleteOptions.DryRun):
		return nil, fmt.Errorf("dry-run options of request (%v) and content (%v) do not match", options.DryRun, deleteOptions.DryRun)
	}
	return deleteOptions, nil
}

// disrupts tells whether a pod's end is a disruption.
func disrupts(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil
}

// askBudget takes one from the disruptions that the pod's budget allows. It returns the answer to give when there is
// none to take from.
func (e *evictionREST) askBudget(ctx context.Context, pod *corev1.Pod, dryRun bool) (*metav1.Status, error) {
	var budgets []*policyv1.PodDisruptionBudget
	resource := policyv1.Resource("poddisruptionbudgets")
	for _, object := range e.pods.catalogue.Stored(resource, pod.Namespace) {
		budget := object.(*policyv1.PodDisruptionBudget)
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			budgets = append(budgets, budget)
		}
	}
	switch len(budgets) {
	case 0:
		return nil, nil
	case 1:
	default:
		return &metav1.Status{
			Status: metav1.StatusFailure, Code: 500,
			Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
		}, nil
	}
	if budget := budgets[0]; !podReady(pod) {
		always := budget.Spec.UnhealthyPodEvictionPolicy != nil && *budget.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
		healthy := budget.Status.CurrentHealthy >= budget.Status.DesiredHealthy && budget.Status.DesiredHealthy > 0
		if always || healthy {
			return nil, nil
		}
	}
	key := store.Key{Resource: resource, Namespace: pod.Namespace, Name: budgets[0].Name}
	if dryRun {
		_, err := e.disrupt(budgets[0], pod.Name)
		return nil, err
	}
	_, err := e.pods.catalogue.store.Update(ctx, key, func(current runtime.Object) (runtime.Object, error) {
		if current == nil {
			return nil, apierrors.NewNotFound(resource, key.Name)
		}
		return e.disrupt(current.(*policyv1.PodDisruptionBudget), pod.Name)
	})
	return nil, err
}

// disrupt returns the budget with one disruption less allowed.
func (e *evictionREST) disrupt(budget *policyv1.PodDisruptionBudget, pod string) (runtime.Object, error) {
	refuse := func(retryAfter int, message string) error {
		err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retryAfter)
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: message})
		return err
	}
	switch {
	case budget.Status.ObservedGeneration < budget.Generation:
		return nil, refuse(10, fmt.Sprintf("The disruption budget %s is still being processed by the server.", budget.Name))
	case budget.Status.DisruptionsAllowed < 0:
		return nil, apierrors.NewForbidden(policyv1.Resource("poddisruptionbudget"), budget.Name, errors.New("pdb disruptions allowed is negative"))
	case budget.Status.DisruptionsAllowed == 0:
		return nil, refuse(0, fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently",
			budget.Name, budget.Status.DesiredHealthy, budget.Status.CurrentHealthy))
	}
	budget = budget.DeepCopy()
	budget.Status.DisruptionsAllowed--
	if budget.Status.DisruptedPods == nil {
		budget.Status.DisruptedPods = map[string]metav1.Time{}
	}
	budget.Status.DisruptedPods[pod] = e.pods.now()
	return budget, nil
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// evict says in the pod's status why it ends and deletes it. Admission has seen the eviction; it sees no deletion.
func (e *evictionREST) evict(ctx context.Context, name string, options *metav1.DeleteOptions) error {
	if !dryrun.IsDryRun(options.DryRun) {
		updated, err := e.markEvicted(ctx, name, options.Preconditions)
		if err != nil {
			return err
		}
		if options.Preconditions != nil && options.Preconditions.ResourceVersion != nil {
			options.Preconditions.ResourceVersion = &updated.ResourceVersion
		}
	}
	_, _, err := e.pods.Delete(ctx, name, rest.ValidateAllObjectFunc, options)
	return err
}

func (e *evictionREST) markEvicted(ctx context.Context, name string, preconditions *metav1.Preconditions) (*corev1.Pod, error) {
	key := e.pods.key(request.NamespaceValue(ctx), name)
	updated, err := e.pods.catalogue.store.Update(ctx, key, func(current runtime.Object) (runtime.Object, error) {
		if current == nil {
			return nil, storage.NewKeyNotFoundError(key.String(), 0)
		}
		pod := current.DeepCopyObject().(*corev1.Pod)
		if err := checkEvicted(pod, preconditions); err != nil {
			return nil, err
		}
		setPodCondition(pod, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
			Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting",
		}, e.pods.now())
		return pod, nil
	})
	if err != nil {
		return nil, storageerrors.InterpretUpdateError(err, e.pods.resource.GroupResource(), name)
	}
	return updated.(*corev1.Pod), nil
}

// checkEvicted tells whether it is the pod that the client means.
func checkEvicted(pod *corev1.Pod, preconditions *metav1.Preconditions) error {
	if preconditions == nil {
		return nil
	}
	var err error
	switch uid, version := ptr.Deref(preconditions.UID, ""), ptr.Deref(preconditions.ResourceVersion, ""); {
	case uid != "" && uid != pod.UID:
		err = fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", uid, pod.UID)
	case version != "" && version != pod.ResourceVersion:
		err = fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", version, pod.ResourceVersion)
	default:
		return nil
	}
	return apierrors.NewConflict(schema.GroupResource{Resource: "Pod"}, pod.Name, err)
}
