package resource

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storageerrors "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/apiserver/pkg/util/dryrun"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

// gracefulPod says how long a pod that is deleted has to end: no time at all when it never ran.
func gracefulPod(object runtime.Object, options *metav1.DeleteOptions) bool {
	pod := object.(*corev1.Pod)
	var period int64
	switch {
	case pod.Spec.NodeName == "", pod.Status.Phase == corev1.PodFailed, pod.Status.Phase == corev1.PodSucceeded:
	case options.GracePeriodSeconds != nil:
		period = *options.GracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		period = *pod.Spec.TerminationGracePeriodSeconds
	}
	if period < 0 {
		period = 1
	}
	options.GracePeriodSeconds = &period
	return true
}

// bindingREST is the storage of pods/binding: it assigns a pod to a node.
type bindingREST struct {
	pods *REST
}

var (
	_ rest.NamedCreater                   = &bindingREST{}
	_ rest.SubresourceObjectMetaPreserver = &bindingREST{}
)

// New implements rest.Storage.
func (b *bindingREST) New() runtime.Object { return &corev1.Binding{} }

// Destroy implements rest.Storage; there is nothing to release.
func (b *bindingREST) Destroy() {}

// PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate implements rest.SubresourceObjectMetaPreserver: uid and
// resource version are preconditions.
func (b *bindingREST) PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate() bool { return true }

// Create implements rest.NamedCreater.
func (b *bindingREST) Create(ctx context.Context, name string, object runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	binding := object.(*corev1.Binding)
	if name != binding.Name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in Binding object")
	}
	if errs := validateBinding(binding); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	if validate != nil {
		if err := validate(ctx, binding.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	if err := b.assign(ctx, binding, dryrun.IsDryRun(options.DryRun)); err != nil {
		resource := b.pods.resource.GroupResource()
		err = storageerrors.InterpretUpdateError(err, resource, name)
		if _, ok := err.(apierrors.APIStatus); !ok {
			err = apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, name, err)
		}
		return nil, err
	}
	return &metav1.Status{Status: metav1.StatusSuccess}, nil
}

func (b *bindingREST) assign(ctx context.Context, binding *corev1.Binding, dryRun bool) error {
	key, err := b.pods.keyFor(ctx, binding.Name)
	if err != nil {
		return err
	}
	var preconditions storage.Preconditions
	if binding.UID != "" {
		preconditions.UID = &binding.UID
	}
	if binding.ResourceVersion != "" {
		preconditions.ResourceVersion = &binding.ResourceVersion
	}
	_, err = b.pods.updateForDeletion(ctx, key, func(current runtime.Object) (runtime.Object, error) {
		if current == nil {
			return nil, storage.NewKeyNotFoundError(key.String(), 0)
		}
		if err := preconditions.Check(key.String(), current); err != nil {
			return nil, err
		}
		pod := current.DeepCopyObject().(*corev1.Pod)
		switch {
		case pod.DeletionTimestamp != nil:
			return nil, fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", pod.Name)
		case pod.Spec.NodeName != "":
			return nil, fmt.Errorf("pod %v is already assigned to node %q", pod.Name, pod.Spec.NodeName)
		case len(pod.Spec.SchedulingGates) > 0:
			return nil, fmt.Errorf("pod %v has non-empty .spec.schedulingGates", pod.Name)
		}
		pod.Spec.NodeName = binding.Target.Name
		pod.Status.NominatedNodeName = ""
		pod.Annotations = merged(pod.Annotations, binding.Annotations)
		pod.Labels = merged(pod.Labels, binding.Labels)
		setPodCondition(pod, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, b.pods.now())
		return pod, nil
	}, dryRun)
	return err
}

func merged(into, from map[string]string) map[string]string {
	if into == nil && len(from) > 0 {
		into = map[string]string{}
	}
	maps.Copy(into, from)
	return into
}

func validateBinding(binding *corev1.Binding) field.ErrorList {
	path := field.NewPath("target")
	switch kind := binding.Target.Kind; {
	case kind != "" && kind != "Node":
		return field.ErrorList{field.NotSupported(path.Child("kind"), kind, []string{"Node", "<empty>"})}
	case binding.Target.Name == "":
		return field.ErrorList{field.Required(path.Child("name"), "")}
	}
	var errs field.ErrorList
	for _, message := range validation.NameIsDNSSubdomain(binding.Target.Name, false) {
		errs = append(errs, field.Invalid(path.Child("name"), binding.Target.Name, message))
	}
	return errs
}

// setPodCondition adds or changes a condition.
func setPodCondition(pod *corev1.Pod, condition corev1.PodCondition, now metav1.Time) {
	condition.LastTransitionTime = now
	condition.ObservedGeneration = 0
	at := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == condition.Type })
	if at < 0 {
		pod.Status.Conditions = append(pod.Status.Conditions, condition)
		return
	}
	if old := pod.Status.Conditions[at]; old.Status == condition.Status {
		condition.LastTransitionTime = old.LastTransitionTime
	}
	pod.Status.Conditions[at] = condition
}

// legacyBindingREST is the storage of bindings, the old way to pods/binding.
type legacyBindingREST struct {
	*view
}

var (
	_ rest.Creater              = &legacyBindingREST{}
	_ rest.Scoper               = &legacyBindingREST{}
	_ rest.SingularNameProvider = &legacyBindingREST{}
)

func legacyBindings(v *view) rest.Storage { return &legacyBindingREST{v} }

// New implements rest.Storage.
func (b *legacyBindingREST) New() runtime.Object { return &corev1.Binding{} }

// Destroy implements rest.Storage; there is nothing to release.
func (b *legacyBindingREST) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (b *legacyBindingREST) NamespaceScoped() bool { return true }

// GetSingularName implements rest.SingularNameProvider.
func (b *legacyBindingREST) GetSingularName() string { return b.singular }

// Create implements rest.Creater.
func (b *legacyBindingREST) Create(ctx context.Context, object runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	pods, ok := b.catalogue.Lookup(corev1.SchemeGroupVersion.WithResource("pods"), "binding")
	if !ok {
		return nil, apierrors.NewMethodNotSupported(b.resource.GroupResource(), "create")
	}
	return pods.storage.(*bindingREST).Create(ctx, object.(*corev1.Binding).Name, object, validate, options)
}

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
	var required storage.Preconditions
	if preconditions != nil {
		required = storage.Preconditions{UID: preconditions.UID, ResourceVersion: preconditions.ResourceVersion}
	}
	updated, err := e.pods.catalogue.store.Update(ctx, key, func(current runtime.Object) (runtime.Object, error) {
		if current == nil {
			return nil, storage.NewKeyNotFoundError(key.String(), 0)
		}
		if err := required.Check(key.String(), current); err != nil {
			return nil, err
		}
		pod := current.DeepCopyObject().(*corev1.Pod)
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

// preparePod sets a new pod's status.
func preparePod(pod *corev1.Pod, now metav1.Time) {
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: podQOS(pod)}
	if len(pod.Spec.SchedulingGates) > 0 {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
			Message: "Scheduling is blocked due to non-empty scheduling gates", LastTransitionTime: now,
		}}
	}
}

// preparePodStatus keeps what the pods/status endpoint does not change.
func preparePodStatus(_ context.Context, pod, old *corev1.Pod) {
	pod.DeletionTimestamp = nil
	pod.OwnerReferences = old.OwnerReferences
	if pod.Status.QOSClass == "" {
		pod.Status.QOSClass = old.Status.QOSClass
	}
}

// preparePodEphemeral keeps all but the ephemeral containers.
func preparePodEphemeral(ctx context.Context, pod, old *corev1.Pod) {
	containers := pod.Spec.EphemeralContainers
	pod.Spec, pod.Status = old.Spec, old.Status
	keepingMetadata(ctx, pod, old)
	pod.Spec.EphemeralContainers = containers
	countPodGeneration(pod, old)
}

// preparePodResize keeps all but the containers' resources and resize policies.
func preparePodResize(ctx context.Context, pod, old *corev1.Pod) {
	spec := *old.Spec.DeepCopy()
	if len(pod.Spec.Containers) == len(spec.Containers) && len(pod.Spec.InitContainers) == len(spec.InitContainers) {
		takeResources(spec.Containers, pod.Spec.Containers)
		takeResources(spec.InitContainers, pod.Spec.InitContainers)
		spec.Resources = pod.Spec.Resources
		pod.Spec, pod.Status = spec, old.Status
		keepingMetadata(ctx, pod, old)
	}
	countPodGeneration(pod, old)
}

func takeResources(into, from []corev1.Container) {
	for i := range into {
		if into[i].Name == from[i].Name {
			into[i].Resources, into[i].ResizePolicy = from[i].Resources, from[i].ResizePolicy
		}
	}
}

func countPodGeneration(pod, old *corev1.Pod) {
	if !reflect.DeepEqual(pod.Spec, old.Spec) {
		pod.Generation++
	}
}

// podQOS is the pod's quality of service class.
func podQOS(pod *corev1.Pod) corev1.PodQOSClass {
	guaranteed, any := true, false
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			limit, hasLimit := container.Resources.Limits[name]
			request, hasRequest := container.Resources.Requests[name]
			hasLimit, hasRequest = hasLimit && !limit.IsZero(), hasRequest && !request.IsZero()
			any = any || hasLimit || hasRequest
			guaranteed = guaranteed && hasLimit && (!hasRequest || limit.Cmp(request) == 0)
		}
	}
	switch {
	case !any:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}
