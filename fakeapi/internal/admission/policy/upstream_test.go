package policy_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/client-go/discovery"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi/openapitest"
)

// The tests of this file ask the API server's own plugins for a second opinion on the tables.

func TestValidatingAsUpstream(t *testing.T) {
	for _, c := range validatingCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			if c.Ours != "" {
				t.Skip(c.Ours)
			}
			t.Parallel()
			plugin, err := validating.NewPlugin(nil)
			if err != nil {
				t.Fatal(err)
			}
			start(t, plugin.Plugin, validatingWorld(&c))
			c.check(t, c.run(t, plugin.Validate))
		})
	}
}

func TestMutatingAsUpstream(t *testing.T) {
	for _, c := range mutatingCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			if c.Ours != "" {
				t.Skip(c.Ours)
			}
			t.Parallel()
			plugin, err := mutating.NewPlugin(nil)
			if err != nil {
				t.Fatal(err)
			}
			start(t, plugin.Plugin, mutatingWorld(&c))
			admit := twice(plugin.Admit)
			if c.Request.Operation == admission.Delete {
				admit = nil // the plugin does not handle it
			}
			c.check(t, c.run(t, admit))
		})
	}
}

// start starts a plugin with the objects of a world.
func start[H any](t testing.TB, plugin *generic.Plugin[H], w *world) {
	t.Helper()
	objects := []runtime.Object{testNamespace()}
	for _, o := range w.validatingPolicies {
		objects = append(objects, o)
	}
	for _, o := range w.validatingBindings {
		objects = append(objects, o)
	}
	for _, o := range w.mutatingPolicies {
		objects = append(objects, o)
	}
	for _, o := range w.mutatingBindings {
		objects = append(objects, o)
	}
	for _, o := range w.params {
		objects = append(objects, o)
	}
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	plugin.SetEnabled(true)
	plugin.SetExternalKubeClientSet(withSchemas{client})
	plugin.SetExternalKubeInformerFactory(factory)
	plugin.SetRESTMapper(mapper)
	plugin.SetDynamicClient(dynamicfake.NewSimpleDynamicClient(scheme.Scheme, objects...))
	plugin.SetDrainedNotification(t.Context().Done())
	plugin.SetUnconditionalAuthorizer(mayRead)
	if err := plugin.ValidateInitialization(); err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
}

// withSchemas adds the OpenAPI schemas that the fake client has not.
type withSchemas struct{ kubernetes.Interface }

func (withSchemas) Discovery() discovery.DiscoveryInterfaces { return openAPI{} }

type openAPI struct{ discovery.DiscoveryInterfaces }

func (openAPI) OpenAPIV3() openapi.Client { return openapitest.NewEmbeddedFileClient() }
