// Package intree has as much of the built-in admission plugins LimitRanger, ServiceAccount and Priority as can be seen
// by a webhook: what they set in a new pod.
//
// The API promises that built-in plugins act before mutating policies and webhooks, which therefore see what they set,
// and act again after a webhook changed the object, so that a webhook may leave a value to them, and a wrong one that it
// sets is refused.
//
//   - LimitRanger gives containers the default requests and limits of the namespace's LimitRanges. It does not hold
//     anything against their minimums and maximums here.
//   - ServiceAccount gives a pod the service account "default" and an account's imagePullSecrets, and refuses a pod whose
//     account does not exist. Here the account "default" need not exist, because no controller makes it, and no token is
//     mounted.
//   - Priority resolves spec.priorityClassName into spec.priority and spec.preemptionPolicy, and refuses a pod that names
//     a class that does not exist or states another priority than that of its class.
package intree

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
)

// Objects looks up stored objects of any kind.
type Objects interface {
	// Param returns one object, or an apierrors.IsNotFound error.
	Param(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (runtime.Object, error)
	// ListParams returns the objects that the selector selects, in the namespace or, when it is empty, in all, in
	// order of namespace and name.
	ListParams(ctx context.Context, kind schema.GroupVersionKind, namespace string, selector labels.Selector) ([]runtime.Object, error)
}

// Plugin is one plugin. It may be used by many requests at once.
type Plugin struct {
	name    string
	objects Objects
	admit   admitPod
}

// admitPod completes a pod that is to be created or updated (then old is not nil), and returns what it changed, or the
// error that refuses the request.
type admitPod func(ctx context.Context, objects Objects, a admission.Attributes, pod, old *corev1.Pod) (changes []string, err error)

// The plugins' names, as in the flag --enable-admission-plugins of a kube-apiserver.
const (
	LimitRanger    = "LimitRanger"
	ServiceAccount = "ServiceAccount"
	Priority       = "Priority"
)

// Names returns the names of all plugins, sorted.
func Names() []string { return []string{LimitRanger, Priority, ServiceAccount} }

// Plugins returns the plugins of the names, in the order in which they act.
func Plugins(objects Objects, names []string) []*Plugin {
	all := []*Plugin{
		{name: LimitRanger, objects: objects, admit: limitRanges},
		{name: ServiceAccount, objects: objects, admit: serviceAccount},
		{name: Priority, objects: objects, admit: priority},
	}
	return slices.DeleteFunc(all, func(p *Plugin) bool { return !slices.Contains(names, p.name) })
}

// Admit completes the pod of the request, if it is for one, and reports a step when the plugin changed or refused it.
func (p *Plugin) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces, report func(...decision.Step)) error {
	if a.GetResource().GroupResource() != corev1.Resource("pods") || a.GetSubresource() != "" {
		return nil
	}
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok {
		return nil
	}
	old, _ := a.GetOldObject().(*corev1.Pod)
	changes, err := p.admit(ctx, p.objects, a, pod, old)
	switch {
	case err != nil:
		report(decision.Step{Plugin: p.name, Outcome: decision.Denied, Reason: err.Error()})
	case len(changes) > 0:
		report(decision.Step{Plugin: p.name, Outcome: decision.Allowed, Changes: changes})
	}
	return err
}

// get returns the stored object of type T.
func get[T runtime.Object](ctx context.Context, objects Objects, kind schema.GroupVersionKind, namespace, name string) (found T, err error) {
	object, err := objects.Param(ctx, kind, namespace, name)
	if err != nil {
		return found, err
	}
	found, _ = object.(T)
	return found, nil
}

// list returns the stored objects of type T.
func list[T runtime.Object](ctx context.Context, objects Objects, kind schema.GroupVersionKind, namespace string) ([]T, error) {
	stored, err := objects.ListParams(ctx, kind, namespace, labels.Everything())
	if err != nil {
		return nil, err
	}
	found := make([]T, 0, len(stored))
	for _, object := range stored {
		if object, ok := object.(T); ok {
			found = append(found, object)
		}
	}
	return found, nil
}
