package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// defaultFieldManager is sent with a server-side apply that names none.
const defaultFieldManager = "gatehouse"

// defaultWatchSeconds ends a watch that sees no event and has no timeoutSeconds of its own.
const defaultWatchSeconds = "10"

// action is a step made ready to send.
type action struct {
	request *request
	// resource is what the request is about; its Resource is empty for a request written out.
	resource resource
	// namespace and name are of the object that the step is about; the name is empty for collections and generated
	// names.
	namespace, name string
	// object is what a create, an update or an apply sends; nil for other verbs.
	object fixtures.Object
	// writes tells that a success changes what is stored.
	writes bool
}

// objectPath is the path of the object that the step is about, "" when it is about none. A name that the server
// generated is taken from the answer.
func (a *action) objectPath(got *answer) string {
	name := a.name
	if name == "" && got != nil && a.request.method == http.MethodPost {
		name = got.field("metadata", "name")
	}
	if name == "" || a.resource.Resource == "" {
		return ""
	}
	return a.resource.path(a.namespace, name, "")
}

// prepare turns a step into the request that it stands for. namespace is the case's own.
func prepare(ctx context.Context, kinds *kinds, step fixtures.Step, namespace string) (*action, error) {
	if step.HTTP != nil {
		return prepareHTTP(step)
	}
	p := preparation{kinds: kinds, step: step, namespace: namespace}
	switch {
	case step.Create != nil:
		return p.write(ctx, http.MethodPost, step.Create)
	case step.Update != nil:
		return p.write(ctx, http.MethodPut, step.Update)
	case step.Patch != nil:
		return p.patch(ctx)
	case step.Delete != nil:
		a, err := p.about(ctx, step.Delete)
		if err != nil {
			return nil, err
		}
		return a, p.remove(a, url.Values{})
	case step.DeleteCollection != nil:
		a, query, err := p.collection(ctx, step.DeleteCollection)
		if err != nil {
			return nil, err
		}
		return a, p.remove(a, query)
	case step.Get != nil:
		a, err := p.about(ctx, step.Get)
		if err != nil {
			return nil, err
		}
		return a, p.send(a, http.MethodGet, url.Values{})
	case step.List != nil:
		a, query, err := p.collection(ctx, step.List)
		if err != nil {
			return nil, err
		}
		return a, p.send(a, http.MethodGet, query)
	case step.Watch != nil:
		a, query, err := p.collection(ctx, step.Watch)
		if err != nil {
			return nil, err
		}
		query.Set("watch", "true")
		a.request.watch = true
		if err := p.send(a, http.MethodGet, query); err != nil {
			return nil, err
		}
		if !query.Has("timeoutSeconds") {
			query.Set("timeoutSeconds", defaultWatchSeconds)
		}
		return a, nil
	case step.Connect != nil:
		a, err := p.about(ctx, step.Connect)
		if err != nil {
			return nil, err
		}
		method := step.Method
		if method == "" {
			method = http.MethodPost
		}
		return a, p.send(a, method, url.Values{})
	}
	return nil, fmt.Errorf("the step has no verb")
}

type preparation struct {
	kinds     *kinds
	step      fixtures.Step
	namespace string
}

// about starts the request for a named object.
func (p *preparation) about(ctx context.Context, object fixtures.Object) (*action, error) {
	u := object.Unstructured()
	r, err := p.find(ctx, u.GetAPIVersion(), u.GetKind())
	if err != nil {
		return nil, err
	}
	a := &action{resource: r, namespace: p.where(u.GetNamespace()), name: u.GetName(), request: &request{user: p.step.User}}
	a.request.path = r.path(a.namespace, a.name, p.step.Subresource)
	return a, nil
}

// collection starts the request for a collection, with its selectors.
func (p *preparation) collection(ctx context.Context, c *fixtures.Collection) (*action, url.Values, error) {
	r, err := p.find(ctx, c.APIVersion, c.Kind)
	if err != nil {
		return nil, nil, err
	}
	query := url.Values{}
	if c.LabelSelector != "" {
		query.Set("labelSelector", c.LabelSelector)
	}
	if c.FieldSelector != "" {
		query.Set("fieldSelector", c.FieldSelector)
	}
	a := &action{resource: r, namespace: p.where(""), request: &request{user: p.step.User}}
	a.request.path = r.path(a.namespace, "", p.step.Subresource)
	return a, query, nil
}

func (p *preparation) find(ctx context.Context, apiVersion, kind string) (resource, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return resource{}, fmt.Errorf("apiVersion: %w", err)
	}
	if p.step.Resource != "" {
		return p.kinds.named(ctx, p.step.Resource, gv)
	}
	return p.kinds.ofKind(ctx, gv.WithKind(kind))
}

func (p *preparation) where(objectNamespace string) string {
	switch {
	case p.step.Namespace != nil:
		return *p.step.Namespace
	case objectNamespace != "":
		return objectNamespace
	}
	return p.namespace
}

// write makes the request of a create or an update, which sends the object as it is written.
func (p *preparation) write(ctx context.Context, method string, object fixtures.Object) (*action, error) {
	a, err := p.about(ctx, object)
	if err != nil {
		return nil, err
	}
	if method == http.MethodPost && p.step.Subresource == "" {
		a.request.path = a.resource.path(a.namespace, "", "")
	}
	a.object, a.writes, a.request.contentType = object, !p.step.DryRun, runtime.ContentTypeJSON
	if a.request.body, err = json.Marshal(object); err != nil {
		return nil, err
	}
	return a, p.send(a, method, url.Values{})
}

func (p *preparation) patch(ctx context.Context) (*action, error) {
	a, err := p.about(ctx, p.step.Patch)
	if err != nil {
		return nil, err
	}
	var patchType types.PatchType
	var body any
	query := url.Values{}
	switch step := p.step; {
	case step.JSON != nil:
		patchType, body = types.JSONPatchType, step.JSON
	case step.Merge != nil:
		patchType, body = types.MergePatchType, step.Merge
	case step.Strategic != nil:
		patchType, body = types.StrategicMergePatchType, step.Strategic
	case step.Apply != nil:
		patchType, body, a.object = types.ApplyYAMLPatchType, step.Apply, step.Apply
		query.Set("fieldManager", defaultFieldManager)
	default:
		return nil, fmt.Errorf("the patch has no body: one of json, merge, strategic and apply")
	}
	if a.request.body, err = json.Marshal(body); err != nil {
		return nil, err
	}
	a.request.contentType, a.writes = string(patchType), !p.step.DryRun
	return a, p.send(a, http.MethodPatch, query)
}

// remove makes the request of a deletion: its options are the body, where there are any.
func (p *preparation) remove(a *action, query url.Values) error {
	a.writes = !p.step.DryRun
	if len(p.step.Options) == 0 {
		return p.send(a, http.MethodDelete, query)
	}
	options := maps.Clone(p.step.Options)
	if p.step.DryRun {
		options["dryRun"] = []any{metav1.DryRunAll}
	}
	for field, value := range map[string]string{"apiVersion": "v1", "kind": "DeleteOptions"} {
		if _, there := options[field]; !there {
			options[field] = value
		}
	}
	body, err := json.Marshal(options)
	a.request.method, a.request.query, a.request.body, a.request.contentType = http.MethodDelete, query, body, runtime.ContentTypeJSON
	return err
}

// send completes a request whose options go into the query.
func (p *preparation) send(a *action, method string, query url.Values) error {
	if p.step.DryRun {
		query.Set("dryRun", metav1.DryRunAll)
	}
	if p.step.FieldManager != "" {
		query.Set("fieldManager", p.step.FieldManager)
	}
	a.request.method, a.request.query = method, query
	return addOptions(query, p.step.Options)
}

// addOptions adds options to a query; a list becomes a parameter that is repeated.
func addOptions(query url.Values, options fixtures.Object) error {
	for _, name := range slices.Sorted(maps.Keys(options)) {
		values, isList := options[name].([]any)
		if !isList {
			values = []any{options[name]}
		}
		for _, v := range values {
			text, err := parameter(v)
			if err != nil {
				return fmt.Errorf("options.%s: %w", name, err)
			}
			query.Add(name, text)
		}
	}
	return nil
}

func parameter(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case uint64:
		return strconv.FormatUint(v, 10), nil
	case int:
		return strconv.Itoa(v), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	}
	return "", fmt.Errorf("%v cannot be a query parameter: want a string, a number, a boolean or a list of them", v)
}

// prepareHTTP makes a request that is written out.
func prepareHTTP(step fixtures.Step) (*action, error) {
	method := step.HTTP.Method
	if method == "" {
		method = http.MethodGet
	}
	r := &request{method: method, path: step.HTTP.Path, headers: step.HTTP.Headers, user: step.User, anonymous: step.HTTP.Anonymous}
	switch body := step.HTTP.Body.(type) {
	case nil:
	case string:
		r.body = []byte(body)
	default:
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r.body, r.contentType = data, runtime.ContentTypeJSON
	}
	a := &action{request: r, writes: method != http.MethodGet}
	return a, a.readPath()
}

// readPath finds out from the path of a request that is written out what it is about.
func (a *action) readPath() error {
	target, err := url.Parse(a.request.path)
	if err != nil {
		return err
	}
	factory := genericrequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	info, err := factory.NewRequestInfo(&http.Request{Method: a.request.method, URL: target})
	if err != nil {
		return err
	}
	if info.IsResourceRequest {
		namespaced := info.Namespace != "" && info.Resource != "namespaces"
		a.resource = resource{GroupVersionResource: schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}, namespaced: namespaced}
		a.namespace, a.name = info.Namespace, info.Name
	}
	return nil
}
