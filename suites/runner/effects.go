package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

const (
	// settleTimeout is how long configurations may take to act.
	settleTimeout = 60 * time.Second
	// establishTimeout is how long a custom resource may take to be served.
	establishTimeout = 60 * time.Second
)

// roles are the resources that bindings give to users.
func roles() sets.Set[schema.GroupResource] {
	return sets.New(
		schema.GroupResource{Group: rbacv1.GroupName, Resource: "roles"},
		schema.GroupResource{Group: rbacv1.GroupName, Resource: "clusterroles"},
	)
}

var priorityClasses = schema.GroupResource{Group: schedulingv1.GroupName, Resource: "priorityclasses"}

var customResourceDefinitions = schema.GroupResource{Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions"}

// effects waits for those writes of a case that do not act at once on every server: configurations and policies, the
// objects that are params of the case's policies, roles, changes of namespaces, and custom resource definitions.
type effects struct {
	server  *Server
	needs   []fixtures.Need
	params  sets.Set[schema.GroupResource]
	pending sets.Set[schema.GroupResource]
	// undefined are the kinds that policies have params of and that are not served, or were not when the policy was
	// written.
	undefined sets.Set[schema.GroupVersionKind]
}

func newEffects(s *Server, needs []fixtures.Need) *effects {
	return &effects{
		server: s, needs: needs, params: sets.New[schema.GroupResource](), pending: sets.New[schema.GroupResource](),
		undefined: sets.New[schema.GroupVersionKind](),
	}
}

// note takes account of a write that the server has accepted.
func (e *effects) note(ctx context.Context, a *action, got *answer) error {
	resource := a.resource.GroupResource()
	switch {
	case resource == customResourceDefinitions:
		if a.request.method != http.MethodPost && a.request.method != http.MethodDelete {
			e.pending.Insert(resource) // a definition that is new to the server is seen by what it serves
		}
		return e.defined(ctx, a, got)
	case resource.Group == admissionregistrationv1.GroupName:
		if err := e.notePolicy(ctx, got.object); err != nil {
			return err
		}
		e.pending.Insert(resource)
	case e.params.Has(resource), resource == priorityClasses && slices.Contains(e.needs, fixtures.NeedInTreePlugins):
		e.pending.Insert(resource)
	case resource.Group == rbacv1.GroupName && !(a.request.method == http.MethodPost && roles().Has(resource)):
		// a new role does nothing before it is bound
		e.pending.Insert(resource)
		e.pending = e.pending.Union(roles())
	case resource.Group == "" && resource.Resource == "namespaces" && a.request.method != http.MethodPost:
		// a namespace that is new to the server's caches is looked up, so only changes can be seen late
		e.pending.Insert(resource)
	}
	return nil
}

// notePolicy remembers the kind of a policy's params.
func (e *effects) notePolicy(ctx context.Context, object any) error {
	m, _ := object.(map[string]any)
	spec, _ := m["spec"].(map[string]any)
	kind, _ := spec["paramKind"].(map[string]any)
	if kind == nil {
		return nil
	}
	apiVersion, _ := kind["apiVersion"].(string)
	name, _ := kind["kind"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil // the server took it, and it names no kind that could have objects
	}
	return e.noteParams(ctx, gv.WithKind(name))
}

// noteParams remembers a kind whose objects are params.
func (e *effects) noteParams(ctx context.Context, kind schema.GroupVersionKind) error {
	found, err := e.server.kinds.ofKind(ctx, kind)
	var missing *notServed
	if errors.As(err, &missing) {
		e.undefined.Insert(kind)
		return nil
	}
	if err != nil {
		return err
	}
	e.params.Insert(found.GroupResource())
	e.pending.Insert(found.GroupResource())
	return nil
}

// settle waits until what was noted has taken effect.
func (e *effects) settle(ctx context.Context) error {
	if e.pending.Len() == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	if err := e.server.target.Settle(ctx, e.pending.UnsortedList()...); err != nil {
		return fmt.Errorf("waiting until configurations take effect: %w", err)
	}
	e.pending = sets.New[schema.GroupResource]()
	return nil
}

// defined waits until a custom resource definition that was written is established and every served version answers.
func (e *effects) defined(ctx context.Context, a *action, got *answer) error {
	definition := apiextensionsv1.CustomResourceDefinition{}
	object, _ := got.object.(map[string]any)
	if object["kind"] != "CustomResourceDefinition" {
		return nil // the answer of a deletion
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &definition); err != nil {
		return fmt.Errorf("reading the custom resource definition that came back: %w", err)
	}
	e.server.kinds.forget(definition.Spec.Group)
	if a.request.method == http.MethodDelete {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, establishTimeout)
	defer cancel()
	path := a.objectPath(got)
	for _, v := range definition.Spec.Versions {
		if !v.Served {
			continue
		}
		served := schema.GroupVersionResource{Group: definition.Spec.Group, Version: v.Name, Resource: definition.Spec.Names.Plural}
		if err := e.awaitServed(ctx, path, served); err != nil {
			return fmt.Errorf("waiting until %s is served: %w", served, err)
		}
	}
	// A policy may have waited for the kind, and goes on for a while after it is served.
	for kind := range e.undefined {
		if kind.Group != definition.Spec.Group {
			continue
		}
		if err := e.noteParams(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

// awaitServed waits until a resource is in discovery and can be listed, or the definition at that path is refused its names.
func (e *effects) awaitServed(ctx context.Context, definition string, gvr schema.GroupVersionResource) error {
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, listed, err := e.server.kinds.find(ctx, gvr.GroupVersion(), func(r metav1.APIResource) bool { return r.Name == gvr.Resource })
		if err != nil {
			return false, err
		}
		if !listed {
			return e.refusedNames(ctx, definition)
		}
		return e.server.exists(ctx, resource{GroupVersionResource: gvr}.path("", "", ""))
	})
}

// refusedNames tells whether another custom resource definition has the names of the one at that path.
func (e *effects) refusedNames(ctx context.Context, path string) (bool, error) {
	got, err := e.server.client.do(ctx, &request{method: http.MethodGet, path: path})
	if err != nil || got.code != http.StatusOK {
		return false, err
	}
	definition := apiextensionsv1.CustomResourceDefinition{}
	object, _ := got.object.(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &definition); err != nil {
		return false, fmt.Errorf("reading the custom resource definition: %w", err)
	}
	return apihelpers.IsCRDConditionFalse(&definition, apiextensionsv1.NamesAccepted), nil
}
