package resource

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storageerrors "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/apiserver/pkg/util/dryrun"
)

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
	_, err = b.pods.modify(ctx, key, func(current runtime.Object) (runtime.Object, error) {
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
