package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/gatehouse-dev/gatehouse/suites/target"
)

// api talks to the API server as its administrator, and remembers what it has made.
type api struct {
	target target.Target
	base   *url.URL
	http   *http.Client
	kinds  discovery.DiscoveryInterface
	served []served
	paths  []string // of what was made, in order
}

// served is a resource or subresource that the API server serves.
type served struct {
	schema.GroupVersionResource
	// kind is the kind of its objects, in the group and version that they have themselves.
	kind       schema.GroupVersionKind
	namespaced bool
	verbs      []string
}

// parent is the resource without the subresource, sub the subresource alone; "" for none.
func (s served) parent() string { parent, _, _ := strings.Cut(s.Resource, "/"); return parent }
func (s served) sub() string    { _, sub, _ := strings.Cut(s.Resource, "/"); return sub }

func newAPI(t target.Target) (*api, error) {
	config := t.RESTConfig()
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("the target's address: %w", err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make an HTTP client: %w", err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("make a discovery client: %w", err)
	}
	return &api{target: t, base: base, http: client, kinds: kinds}, nil
}

// discover reads what is served.
func (a *api) discover() error {
	_, lists, err := a.kinds.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return fmt.Errorf("discovery: %w", err)
	}
	a.served = nil
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return fmt.Errorf("discovery: %w", err)
		}
		for _, r := range list.APIResources {
			kind := schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
			if kind.Version == "" {
				kind.Group, kind.Version = gv.Group, gv.Version
			}
			a.served = append(a.served, served{GroupVersionResource: gv.WithResource(r.Name), kind: kind, namespaced: r.Namespaced, verbs: r.Verbs})
		}
	}
	return nil
}

// find returns the resource of a kind.
func (a *api) find(kind schema.GroupVersionKind) (served, bool) {
	i := slices.IndexFunc(a.served, func(s served) bool { return s.kind == kind && s.sub() == "" && s.GroupVersion() == kind.GroupVersion() })
	if i < 0 {
		return served{}, false
	}
	return a.served[i], true
}

// path is where objects of a resource are; a name makes it that of one.
func (s served) path(namespace, name string) string {
	path := "/apis/" + s.Group + "/" + s.Version
	if s.Group == "" {
		path = "/api/" + s.Version
	}
	if s.namespaced {
		path += "/namespaces/" + url.PathEscape(namespace)
	}
	path += "/" + s.parent()
	if name != "" {
		path += "/" + url.PathEscape(name)
		if sub := s.sub(); sub != "" {
			path += "/" + sub
		}
	}
	return path
}

// answer is what the API server answered.
type answer struct {
	code   int
	object *unstructured.Unstructured
	body   []byte
	took   time.Duration
}

// err is the Status of a failure as an error.
func (a answer) err() error {
	if statusOK(a.code) || a.code == http.StatusSwitchingProtocols {
		return nil
	}
	status := metav1.Status{}
	if json.Unmarshal(a.body, &status) == nil && status.Status != "" {
		return &apierrors.StatusError{ErrStatus: status}
	}
	return fmt.Errorf("status %d: %s", a.code, bytes.TrimSpace(a.body))
}

// do sends a request; an error says that no answer came.
func (a *api) do(ctx context.Context, method, path string, object any) (answer, error) {
	var body io.Reader
	if object != nil {
		data, err := json.Marshal(object)
		if err != nil {
			return answer{}, fmt.Errorf("%s %s: %w", method, path, err)
		}
		body = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(a.base.String(), "/")+path, body)
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", string(types.MergePatchType))
	}
	start := time.Now()
	response, err := a.http.Do(request)
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer response.Body.Close()
	got := answer{code: response.StatusCode}
	if got.code == http.StatusSwitchingProtocols {
		return got, nil
	}
	if got.body, err = io.ReadAll(response.Body); err != nil {
		return answer{}, fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	}
	got.took = time.Since(start)
	object2 := &unstructured.Unstructured{}
	if object2.UnmarshalJSON(got.body) == nil {
		got.object = object2
	}
	return got, nil
}

// must is do for what has to succeed.
func (a *api) must(ctx context.Context, method, path string, object any) (answer, error) {
	got, err := a.do(ctx, method, path, object)
	if err == nil {
		err = got.err()
	}
	return got, err
}

// made remembers an object that is to be deleted at the end.
func (a *api) made(path string) { a.paths = append(a.paths, path) }

// install creates an object of the manifests; one that is there already stays as it is.
func (a *api) install(ctx context.Context, object *unstructured.Unstructured) error {
	kind := object.GroupVersionKind()
	resource, known := a.find(kind)
	if !known {
		if err := a.discover(); err != nil {
			return err
		}
		if resource, known = a.find(kind); !known {
			return fmt.Errorf("the API server does not serve %s", kind)
		}
	}
	namespace := object.GetNamespace()
	if resource.namespaced {
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		if err := a.ensureNamespace(ctx, namespace, nil); err != nil {
			return err
		}
	}
	got, err := a.must(ctx, http.MethodPost, resource.path(namespace, ""), object)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return err
	}
	a.made(resource.path(namespace, got.object.GetName()))
	return nil
}

// ensureNamespace makes a namespace that is not there.
func (a *api) ensureNamespace(ctx context.Context, name string, labels map[string]string) error {
	namespace := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name, "labels": labels}}
	_, err := a.must(ctx, http.MethodPost, "/api/v1/namespaces", namespace)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("namespace %s: %w", name, err)
	}
	a.made("/api/v1/namespaces/" + name)
	return nil
}

// settle waits until what was written acts.
func (a *api) settle(ctx context.Context) error {
	return a.target.Settle(ctx,
		schema.GroupResource{Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"},
		schema.GroupResource{Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations"},
		schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
		schema.GroupResource{Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"},
		schema.GroupResource{Resource: "namespaces"},
	)
}

// forget drops objects from those to be deleted.
func (a *api) forget(path string) {
	a.paths = slices.DeleteFunc(a.paths, func(p string) bool { return p == path })
}

// remove deletes an object now.
func (a *api) remove(ctx context.Context, path string) (answer, error) {
	got, err := a.do(ctx, http.MethodDelete, path, map[string]any{
		"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "propagationPolicy": "Background",
	})
	if err == nil && (statusOK(got.code) || got.code == http.StatusNotFound) {
		a.forget(path)
	}
	return got, err
}

// clear deletes what was made, the last first. On a server that is the suite's own there is no need to.
func (a *api) clear(ctx context.Context) error {
	if a.target.Info().Name != target.Kubeconfig {
		return nil
	}
	var errs []error
	for _, path := range slices.Backward(slices.Clone(a.paths)) {
		got, err := a.remove(ctx, path)
		if err == nil && got.code != http.StatusNotFound {
			err = got.err()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("clean up %s: %w", path, err))
		}
	}
	return errors.Join(errs...)
}
