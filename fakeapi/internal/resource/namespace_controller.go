package resource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/utils/ptr"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

// namespaceController does what a cluster's namespace controller does: it deletes what is in terminating namespaces,
// as its service account and through admission, and then lets the namespaces go.
type namespaceController struct {
	*controller
	catalogue *Catalogue
}

func newNamespaceController(c *Catalogue) *namespaceController {
	n := &namespaceController{catalogue: c}
	n.controller = newController(n.empty)
	return n
}

// empty empties a namespace. It returns an error when it is to be called again; what remains for other reasons calls by
// itself when it goes.
func (n *namespaceController) empty(ctx context.Context, name string) error {
	namespace, err := n.terminating(name)
	if err != nil || namespace == nil || !slices.Contains(namespace.Spec.Finalizers, corev1.FinalizerKubernetes) {
		return err
	}
	failures := n.deleteContents(ctx, name)
	remaining := n.remaining(name)
	if len(failures) == 0 && remaining.empty() {
		return n.finalize(ctx, name)
	}
	if err := n.report(ctx, name, failures, remaining); err != nil {
		return err
	}
	return errors.Join(failures...)
}

// terminating returns a namespace that is being deleted, or nil.
func (n *namespaceController) terminating(name string) (*corev1.Namespace, error) {
	object, err := n.catalogue.store.Get(namespaceKey(name))
	if storage.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if namespace := object.(*corev1.Namespace); namespace.DeletionTimestamp != nil {
		return namespace, nil
	}
	return nil, nil
}

func namespaceKey(name string) store.Key {
	return store.Key{Resource: corev1.Resource("namespaces"), Name: name}
}

// deleteContents deletes all that is in a namespace, pods first.
func (n *namespaceController) deleteContents(ctx context.Context, name string) []error {
	resources := n.contents()
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	sort.SliceStable(resources, func(i, j int) bool { return resources[i].GVR == pods && resources[j].GVR != pods })
	var failures []error
	for _, resource := range resources {
		objects, _ := n.catalogue.store.List(mustStore(resource).stored, name)
		if len(objects) == 0 {
			continue
		}
		if err := n.deleteAll(ctx, resource, name); err != nil {
			failures = append(failures, fmt.Errorf("deleting %s: %w", resource.GVR.GroupResource(), err))
		}
	}
	return failures
}

// contents are the resources that a namespace may hold objects of, each in one version.
func (n *namespaceController) contents() []*Resource {
	var resources []*Resource
	seen := map[schema.GroupResource]bool{}
	for _, resource := range n.catalogue.Resources() {
		stored, ok := storeOf(resource)
		if !ok || !resource.Namespaced || seen[stored.stored] {
			continue
		}
		seen[stored.stored] = true
		resources = append(resources, resource)
	}
	return resources
}

func (n *namespaceController) deleteAll(ctx context.Context, resource *Resource, namespace string) error {
	account := &user.DefaultInfo{
		Name:   serviceaccount.MakeUsername(metav1.NamespaceSystem, "namespace-controller"),
		Groups: append(serviceaccount.MakeGroupNames(metav1.NamespaceSystem), user.AllAuthenticated),
	}
	ctx = request.WithUser(request.WithNamespace(ctx, namespace), account)
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true, Verb: "deletecollection", Namespace: namespace,
		APIGroup: resource.GVR.Group, APIVersion: resource.GVR.Version, Resource: resource.GVR.Resource,
	})
	options := &metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}
	if resource.GVR == corev1.SchemeGroupVersion.WithResource("pods") {
		// No kubelet is there to end them.
		options.GracePeriodSeconds = ptr.To[int64](0)
	}
	validation := rest.ValidateAllObjectFunc
	if admit := n.catalogue.hooks.Admission; admit != nil {
		attributes := admission.NewAttributesRecord(nil, nil, resource.GVK, namespace, "", resource.GVR, "",
			admission.Delete, options, false, account)
		validation = rest.AdmissionToValidateObjectDeleteFunc(admit, attributes, resource.Scope())
	}
	_, err := mustStore(resource).DeleteCollection(ctx, validation, options, &metainternalversion.ListOptions{})
	return err
}

// leftovers counts what is left in a namespace.
type leftovers struct {
	objects    map[string]int
	finalizers map[string]int
}

func (l leftovers) empty() bool { return len(l.objects) == 0 }

func (n *namespaceController) remaining(name string) leftovers {
	left := leftovers{map[string]int{}, map[string]int{}}
	for _, resource := range n.contents() {
		objects, _ := n.catalogue.store.List(mustStore(resource).stored, name)
		for _, object := range objects {
			left.objects[resource.GVR.Resource+"."+resource.GVR.Group]++
			if accessor, err := meta.Accessor(object); err == nil {
				for _, finalizer := range accessor.GetFinalizers() {
					left.finalizers[finalizer]++
				}
			}
		}
	}
	return left
}

// finalize takes the controller's finalizer from the namespace and, when it was the last one, removes the namespace.
func (n *namespaceController) finalize(ctx context.Context, name string) error {
	updated, err := n.catalogue.store.Update(ctx, namespaceKey(name), func(current runtime.Object) (runtime.Object, error) {
		if current == nil {
			return nil, storage.NewKeyNotFoundError(namespaceKey(name).String(), 0)
		}
		namespace := current.DeepCopyObject().(*corev1.Namespace)
		namespace.Spec.Finalizers = slices.DeleteFunc(namespace.Spec.Finalizers, func(f corev1.FinalizerName) bool {
			return f == corev1.FinalizerKubernetes
		})
		return namespace, nil
	})
	if storage.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if namespace := updated.(*corev1.Namespace); len(namespace.Spec.Finalizers) > 0 || len(namespace.Finalizers) > 0 {
		return nil
	}
	if _, err := n.catalogue.store.Delete(namespaceKey(name), updated); err != nil && !storage.IsNotFound(err) {
		return err
	}
	return nil
}

// report says in the namespace's conditions why it is still there.
func (n *namespaceController) report(ctx context.Context, name string, failures []error, left leftovers) error {
	conditions := namespaceConditions(failures, left)
	now := n.catalogue.now()
	_, err := n.catalogue.store.Update(ctx, namespaceKey(name), func(current runtime.Object) (runtime.Object, error) {
		if current == nil {
			return nil, storage.NewKeyNotFoundError(namespaceKey(name).String(), 0)
		}
		namespace := current.DeepCopyObject().(*corev1.Namespace)
		for _, condition := range conditions {
			condition.LastTransitionTime = now
			at := slices.IndexFunc(namespace.Status.Conditions, func(c corev1.NamespaceCondition) bool { return c.Type == condition.Type })
			switch {
			case at < 0:
				namespace.Status.Conditions = append(namespace.Status.Conditions, condition)
			case namespace.Status.Conditions[at].Status != condition.Status, namespace.Status.Conditions[at].Message != condition.Message:
				namespace.Status.Conditions[at] = condition
			}
		}
		return namespace, nil
	})
	if storage.IsNotFound(err) {
		return nil
	}
	return err
}

func namespaceConditions(failures []error, left leftovers) []corev1.NamespaceCondition {
	condition := func(kind corev1.NamespaceConditionType, parts []string, okReason, okMessage, reason, message string) corev1.NamespaceCondition {
		if len(parts) == 0 {
			return corev1.NamespaceCondition{Type: kind, Status: corev1.ConditionFalse, Reason: okReason, Message: okMessage}
		}
		sort.Strings(parts)
		return corev1.NamespaceCondition{
			Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message + strings.Join(parts, ", "),
		}
	}
	var failed, objects, finalizers []string
	for _, failure := range failures {
		failed = append(failed, failure.Error())
	}
	for resource, count := range left.objects {
		objects = append(objects, fmt.Sprintf("%s has %d resource instances", resource, count))
	}
	for finalizer, count := range left.finalizers {
		finalizers = append(finalizers, fmt.Sprintf("%s in %d resource instances", finalizer, count))
	}
	return []corev1.NamespaceCondition{
		condition(corev1.NamespaceDeletionDiscoveryFailure, nil, "ResourcesDiscovered", "All resources successfully discovered", "", ""),
		condition(corev1.NamespaceDeletionGVParsingFailure, nil, "ParsedGroupVersions", "All legacy kube types successfully parsed", "", ""),
		condition(corev1.NamespaceDeletionContentFailure, failed, "ContentDeleted", "All content successfully deleted, may be waiting on finalization",
			"ContentDeletionFailed", fmt.Sprintf("Failed to delete all resource types, %d remaining: ", len(failed))),
		condition(corev1.NamespaceContentRemaining, objects, "ContentRemoved", "All content successfully removed",
			"SomeResourcesRemain", "Some resources are remaining: "),
		condition(corev1.NamespaceFinalizersRemaining, finalizers, "ContentHasNoFinalizers", "All content-preserving finalizers finished",
			"SomeFinalizersRemain", "Some content in the namespace has finalizers remaining: "),
	}
}

// removed is told of every object that is gone, so that its namespace or its definition, if it waits for that, can go.
func (c *Catalogue) removed(key store.Key) {
	c.mu.Lock()
	for name, custom := range c.custom {
		if custom.definition.DeletionTimestamp != nil && custom.definition.Spec.Group == key.Resource.Group &&
			custom.definition.Status.AcceptedNames.Plural == key.Resource.Resource {
			c.definitions.enqueue(name)
		}
	}
	c.mu.Unlock()
	if key.Namespace == "" {
		return
	}
	if namespace, err := c.namespaces.terminating(key.Namespace); err == nil && namespace != nil {
		c.namespaces.enqueue(key.Namespace)
	}
}
