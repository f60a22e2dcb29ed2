// Package manifests reads what a webhook is shipped with and sorts it: its registrations, the kinds it defines, what its
// server needs to run, and what is of no use for a trial.
package manifests

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/gatehouse-dev/gatehouse/fakeapi/manifest"
)

// Set is what a webhook is shipped with.
type Set struct {
	// Hooks are the webhooks of all configurations, in order.
	Hooks []*Hook
	// Definitions are the custom resources.
	Definitions []*apiextensionsv1.CustomResourceDefinition
	// Services and Secrets are those of the manifests.
	Services []*corev1.Service
	Secrets  []Secret
	// Workloads are the pods' templates of the manifests, by which the webhook's service account is found.
	Workloads []Workload
	// ServiceAccounts are the accounts, as namespace and name.
	ServiceAccounts []Account
	// Installed are the objects that the API server gets before the webhook starts, in an order in which it takes them.
	Installed []*unstructured.Unstructured
	// SetAside names the objects that the trial has no use for, such as "Certificate cert-manager.io/v1 (config.yaml:12)".
	SetAside []string
}

// Secret is a Secret and where it is written.
type Secret struct {
	*corev1.Secret
	// Place is FILE:LINE.
	Place string
}

// Workload is a pod template with its namespace.
type Workload struct {
	Namespace string
	Template  corev1.PodTemplateSpec
}

// Account names a service account.
type Account struct{ Namespace, Name string }

// Read reads files and directories; - is stdin.
func Read(paths []string, stdin io.Reader) (*Set, error) {
	var objects []manifest.Object
	for _, path := range paths {
		read, err := readOne(path, stdin)
		if err != nil {
			return nil, err
		}
		objects = append(objects, read...)
	}
	set, err := Sort(objects)
	if errors.Is(err, errNoWebhook) {
		return nil, fmt.Errorf("%s: %w among %d objects: want a ValidatingWebhookConfiguration or a MutatingWebhookConfiguration with webhooks", strings.Join(paths, ", "), err, len(objects))
	}
	return set, err
}

var errNoWebhook = errors.New("no webhook")

func readOne(path string, stdin io.Reader) ([]manifest.Object, error) {
	if path != "-" {
		return manifest.Read(path)
	}
	data, err := io.ReadAll(stdin)
	if err != nil {
		return nil, fmt.Errorf("read the standard input: %w", err)
	}
	return manifest.Parse("stdin", data)
}

// Sort sorts objects. An error names the place of an object that cannot be what it says it is.
func Sort(objects []manifest.Object) (*Set, error) {
	s := &Set{}
	for _, object := range objects {
		if err := s.add(object); err != nil {
			return nil, fmt.Errorf("%s: %s %s: %w", object.Position(), object.GetKind(), object.GetName(), err)
		}
	}
	if len(s.Hooks) == 0 {
		return nil, errNoWebhook
	}
	slices.SortStableFunc(s.Installed, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	return s, nil
}

// installed are the kinds that the API server gets, in the order in which it gets them.
var installed = []string{
	"Namespace", "CustomResourceDefinition", "ServiceAccount", "ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding",
	"ConfigMap", "Secret", "Service", "PriorityClass",
}

func rank(u *unstructured.Unstructured) int { return slices.Index(installed, u.GetKind()) }

// ours are the API groups of the kinds that are read.
var ours = sets.New("", "apps", "batch", "admissionregistration.k8s.io", "apiextensions.k8s.io", "rbac.authorization.k8s.io", "scheduling.k8s.io")

func (s *Set) add(o manifest.Object) error {
	gvk := o.GroupVersionKind()
	place := fmt.Sprintf("%s:%d", o.File, o.Line)
	if !ours.Has(gvk.Group) {
		s.SetAside = append(s.SetAside, fmt.Sprintf("%s %s (%s)", gvk.Kind, gvk.GroupVersion(), place))
		return nil
	}
	switch gvk.Kind {
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		return s.addHooks(o, place)
	case "CustomResourceDefinition":
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := convert(o, definition); err != nil {
			return err
		}
		s.Definitions = append(s.Definitions, definition)
	case "Service":
		service := &corev1.Service{}
		if err := convert(o, service); err != nil {
			return err
		}
		s.Services = append(s.Services, service)
	case "Secret":
		secret := &corev1.Secret{}
		if err := convert(o, secret); err != nil {
			return err
		}
		s.Secrets = append(s.Secrets, Secret{secret, place})
	case "ServiceAccount":
		s.ServiceAccounts = append(s.ServiceAccounts, Account{namespaceOf(o.GetNamespace()), o.GetName()})
	case "Deployment", "DaemonSet", "StatefulSet", "Pod", "Job":
		return s.addWorkload(o)
	}
	if !slices.Contains(installed, gvk.Kind) {
		s.SetAside = append(s.SetAside, fmt.Sprintf("%s %s (%s)", gvk.Kind, gvk.GroupVersion(), place))
		return nil
	}
	s.Installed = append(s.Installed, o.Unstructured)
	return nil
}

func convert(o manifest.Object, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, into, false)
}

func namespaceOf(namespace string) string {
	if namespace == "" {
		return "default"
	}
	return namespace
}

// addWorkload keeps the pod template: Gatehouse starts the server itself.
func (s *Set) addWorkload(o manifest.Object) error {
	var template corev1.PodTemplateSpec
	var err error
	switch o.GetKind() {
	case "Deployment", "DaemonSet", "StatefulSet":
		workload := &appsv1.Deployment{} // the others have the template at the same place
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"spec": map[string]any{"template": templateOf(o)}}, workload)
		template = workload.Spec.Template
	case "Job":
		job := &batchv1.Job{}
		err, template = convert(o, job), job.Spec.Template
	case "Pod":
		pod := &corev1.Pod{}
		err = convert(o, pod)
		template = corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
	}
	if err != nil {
		return err
	}
	s.Workloads = append(s.Workloads, Workload{Namespace: namespaceOf(o.GetNamespace()), Template: template})
	return nil
}

func templateOf(o manifest.Object) any {
	template, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "template")
	return template
}

// addHooks adds the webhooks of a configuration. What the API would refuse is kept as far as it can be read: the rules
// say what is wrong with it.
func (s *Set) addHooks(o manifest.Object, place string) error {
	version := o.GroupVersionKind().Version
	mutating := o.GetKind() == "MutatingWebhookConfiguration"
	entries, found, err := unstructured.NestedSlice(o.Object, "webhooks")
	if err != nil {
		return fmt.Errorf("webhooks: %w", err)
	}
	if !found {
		return nil
	}
	for i, entry := range entries {
		fields, ok := entry.(map[string]any)
		if !ok {
			return fmt.Errorf("webhooks[%d]: got %v, want a mapping", i, entry)
		}
		hook := &Hook{
			Configuration: o.GetName(), Index: i, Mutating: mutating, Version: version, Place: place,
			Annotations: o.GetAnnotations(), source: o.Unstructured,
		}
		if _, given := fields["reinvocationPolicy"]; given && !mutating {
			return fmt.Errorf("webhooks[%d].reinvocationPolicy: a validating webhook has none", i)
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, &hook.MutatingWebhook, true); err != nil {
			return fmt.Errorf("webhooks[%d]: %w", i, err)
		}
		s.Hooks = append(s.Hooks, hook)
	}
	return nil
}

// Account returns the service account that the webhook's pods run as: that of the workload behind the Service, else the
// only one of the manifests, else default of the Service's namespace.
func (s *Set) Account() Account {
	for _, hook := range s.Hooks {
		ref := hook.ClientConfig.Service
		if ref == nil {
			continue
		}
		for _, workload := range s.behind(ref) {
			if name := workload.Template.Spec.ServiceAccountName; name != "" {
				return Account{workload.Namespace, name}
			}
			return Account{workload.Namespace, "default"}
		}
	}
	if len(s.ServiceAccounts) == 1 {
		return s.ServiceAccounts[0]
	}
	for _, hook := range s.Hooks {
		if ref := hook.ClientConfig.Service; ref != nil {
			return Account{ref.Namespace, "default"}
		}
	}
	return Account{"default", "default"}
}

// behind returns the workloads whose pods the Service selects.
func (s *Set) behind(ref *admissionregistrationv1.ServiceReference) []Workload {
	var found []Workload
	for _, service := range s.Services {
		if service.Name != ref.Name || namespaceOf(service.Namespace) != ref.Namespace || len(service.Spec.Selector) == 0 {
			continue
		}
		for _, workload := range s.Workloads {
			if workload.Namespace == ref.Namespace && includes(workload.Template.Labels, service.Spec.Selector) {
				found = append(found, workload)
			}
		}
	}
	return found
}

func includes(labels, selector map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// Service returns the Service of a reference; nil when the manifests do not hold it.
func (s *Set) Service(ref *admissionregistrationv1.ServiceReference) *corev1.Service {
	for _, service := range s.Services {
		if service.Name == ref.Name && namespaceOf(service.Namespace) == ref.Namespace {
			return service
		}
	}
	return nil
}

// Names returns the names that the certificate of the webhook's server must bear, by the Services of its registrations and
// conversions.
func (s *Set) Names() []string {
	names := sets.New[string]()
	for _, hook := range s.Hooks {
		names.Insert(hook.ServerName())
	}
	for _, definition := range s.Definitions {
		if config, ok := Conversion(definition); ok {
			names.Insert(ServerNameOf(config))
		}
	}
	names.Delete("")
	return sets.List(names)
}
