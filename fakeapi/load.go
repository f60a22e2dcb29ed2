package fakeapi

import (
	"context"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/gatehouse-dev/gatehouse/fakeapi/manifest"
)

// load creates the objects of the options through the API. The error names the object that was refused, and where it
// stands.
func (s *Server) load(ctx context.Context) error {
	if len(s.options.Objects) == 0 && len(s.options.Load) == 0 {
		return nil
	}
	manifests, err := manifest.Read(s.options.Load...)
	if err != nil {
		return fmt.Errorf("loading objects: %w", err)
	}
	loader, err := newLoader(s.RESTConfig())
	if err != nil {
		return err
	}
	defer loader.close()
	for i, object := range s.options.Objects {
		content, err := toUnstructured(object)
		if err == nil {
			err = loader.create(ctx, content)
		}
		if err != nil {
			return fmt.Errorf("options: Objects[%d]: %w", i, err)
		}
	}
	for _, object := range manifests {
		if err := loader.create(ctx, object.Unstructured); err != nil {
			return fmt.Errorf("%s: %w", object.Position(), err)
		}
	}
	return nil
}

func toUnstructured(object runtime.Object) (*unstructured.Unstructured, error) {
	if object == nil {
		return nil, errors.New("is nil")
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("encoding a %T: %w", object, err)
	}
	converted := &unstructured.Unstructured{Object: content}
	if converted.GetKind() != "" && converted.GetAPIVersion() != "" {
		return converted, nil
	}
	if _, ok := object.(*apiextensionsv1.CustomResourceDefinition); ok { // the scheme of clients does not know it
		converted.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		return converted, nil
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		return nil, fmt.Errorf("a %T without apiVersion and kind: %w", object, err)
	}
	converted.SetGroupVersionKind(kinds[0])
	return converted, nil
}

// loader creates objects of any kind.
type loader struct {
	close  func()
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
	loaded map[loadedKey]bool
}

// loadedKey tells which object was loaded.
type loadedKey struct {
	resource        schema.GroupResource
	namespace, name string
}

func newLoader(config *rest.Config) (*loader, error) {
	config.WarningHandler = rest.NoWarnings{} // the default writes to the process's log
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	dynamicClient, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return &loader{
		close:  func() { utilnet.CloseIdleConnectionsFor(client.Transport) },
		client: dynamicClient,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoveryClient)),
		loaded: map[loadedKey]bool{},
	}, nil
}

// create creates an object. One that was there before anything was loaded is replaced.
func (l *loader) create(ctx context.Context, object *unstructured.Unstructured) error {
	gvk := object.GroupVersionKind()
	mapping, err := l.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		l.mapper.Reset() // an object before this one may have defined the kind
		mapping, err = l.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("%s %s: the server has no such kind", gvk.GroupVersion(), gvk.Kind)
	}
	if err != nil {
		return fmt.Errorf("finding the resource of %s %s: %w", gvk.GroupVersion(), gvk.Kind, err)
	}
	client := dynamic.ResourceInterface(l.client.Resource(mapping.Resource))
	namespace := object.GetNamespace()
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		client = l.client.Resource(mapping.Resource).Namespace(namespace)
	}
	key := loadedKey{mapping.Resource.GroupResource(), namespace, object.GetName()}
	created, err := client.Create(ctx, object, metav1.CreateOptions{FieldManager: fieldManager, FieldValidation: metav1.FieldValidationStrict})
	if apierrors.IsAlreadyExists(err) && !l.loaded[key] {
		created, err = replace(ctx, client, object)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", gvk.Kind, describeName(namespace, object), err)
	}
	key.name = created.GetName()
	l.loaded[key] = true
	return nil
}

// fieldManager owns what is loaded.
const fieldManager = "gatehouse"

func replace(ctx context.Context, client dynamic.ResourceInterface, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	current, err := client.Get(ctx, object.GetName(), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	object = object.DeepCopy()
	object.SetResourceVersion(current.GetResourceVersion())
	return client.Update(ctx, object, metav1.UpdateOptions{FieldManager: fieldManager, FieldValidation: metav1.FieldValidationStrict})
}

func describeName(namespace string, object *unstructured.Unstructured) string {
	name := object.GetName()
	if name == "" {
		name = object.GetGenerateName()
	}
	if namespace != "" {
		name = namespace + "/" + name
	}
	return name
}
