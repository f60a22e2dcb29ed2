package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// resource is how a kind is reached by the REST API.
type resource struct {
	schema.GroupVersionResource
	namespaced bool
}

// path is the path of the collection, or of one object of it when name is not empty, or of its subresource.
func (r resource) path(namespace, name, subresource string) string {
	path := "/apis/" + r.Group + "/" + r.Version
	if r.Group == "" {
		path = "/api/" + r.Version
	}
	if r.namespaced && namespace != "" {
		path += "/namespaces/" + url.PathEscape(namespace)
	}
	path += "/" + r.Resource
	if name != "" {
		path += "/" + url.PathEscape(name)
	}
	if subresource != "" {
		path += "/" + subresource
	}
	return path
}

// kinds knows the served kinds by discovery. It asks for each group version once, and again for a kind that is not
// there.
type kinds struct {
	client *client

	mu     sync.Mutex
	served map[schema.GroupVersion][]metav1.APIResource
}

func newKinds(c *client) *kinds {
	return &kinds{client: c, served: map[schema.GroupVersion][]metav1.APIResource{}}
}

// notServed is the error for a kind or resource that discovery does not tell of.
type notServed struct{ what string }

func (e *notServed) Error() string { return e.what + " is not served" }

// ofKind finds the resource of a kind.
func (k *kinds) ofKind(ctx context.Context, kind schema.GroupVersionKind) (resource, error) {
	found, ok, err := k.find(ctx, kind.GroupVersion(), func(r metav1.APIResource) bool {
		return r.Kind == kind.Kind && !strings.Contains(r.Name, "/")
	})
	if err == nil && !ok {
		err = &notServed{what: kind.String()}
	}
	return found, err
}

// named finds a resource by its plural name: in the group version given, or in the one that the name itself gives as
// kubectl writes it (deployments.v1.apps), or in the core group.
func (k *kinds) named(ctx context.Context, name string, gv schema.GroupVersion) (resource, error) {
	versions := []schema.GroupVersion{gv, {Version: "v1"}}
	if full, _ := schema.ParseResourceArg(name); full != nil {
		name, versions = full.Resource, []schema.GroupVersion{full.GroupVersion()}
	}
	for _, gv := range versions {
		found, ok, err := k.find(ctx, gv, func(r metav1.APIResource) bool { return r.Name == name })
		if err != nil || ok {
			return found, err
		}
	}
	return resource{}, &notServed{what: fmt.Sprintf("resource %s of %v", name, versions)}
}

func (k *kinds) find(ctx context.Context, gv schema.GroupVersion, is func(metav1.APIResource) bool) (resource, bool, error) {
	resources := k.known(gv)
	i := slices.IndexFunc(resources, is)
	if i < 0 { // it may be served by now
		var err error
		if resources, err = k.ask(ctx, gv); err != nil {
			return resource{}, false, err
		}
		i = slices.IndexFunc(resources, is)
	}
	if i < 0 {
		return resource{}, false, nil
	}
	return resource{GroupVersionResource: gv.WithResource(resources[i].Name), namespaced: resources[i].Namespaced}, true, nil
}

func (k *kinds) known(gv schema.GroupVersion) []metav1.APIResource {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.served[gv]
}

// ask reads the discovery document of a group version. One that is not served has no resources.
func (k *kinds) ask(ctx context.Context, gv schema.GroupVersion) ([]metav1.APIResource, error) {
	path := "/apis/" + gv.String()
	if gv.Group == "" {
		path = "/api/" + gv.Version
	}
	a, err := k.client.do(ctx, &request{method: http.MethodGet, path: path})
	if err != nil {
		return nil, fmt.Errorf("discovery of %s: %w", gv, err)
	}
	if a.code == http.StatusNotFound {
		return nil, nil
	}
	if a.code != http.StatusOK {
		return nil, fmt.Errorf("discovery of %s: code %d: %s", gv, a.code, a.problem())
	}
	list := metav1.APIResourceList{}
	if err := json.Unmarshal(a.body, &list); err != nil {
		return nil, fmt.Errorf("discovery of %s: %w", gv, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.served[gv] = list.APIResources
	return list.APIResources, nil
}

// forget drops what is known of a group, whose kinds may have changed.
func (k *kinds) forget(group string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for gv := range k.served {
		if gv.Group == group {
			delete(k.served, gv)
		}
	}
}
