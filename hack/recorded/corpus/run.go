package corpus

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Answer is what an API server answered to a request of a case.
type Answer struct {
	Case string `json:"case"`
	// Step counts the requests of the case and says what each does, as in "1 create".
	Step string `json:"step"`
	Code int    `json:"code"`
	// Warnings are those of the response's headers.
	Warnings []string `json:"warnings,omitempty"`
	// Object is the body in comparable form.
	Object map[string]any `json:"object"`
}

// agent is the user agent of all requests, which managed fields bear.
const agent = "corpus"

// Runner sends the requests of cases to one API server.
type Runner struct {
	host   string
	client *http.Client
	mapper meta.RESTMapper
}

// NewRunner makes a Runner. The user of the configuration must be allowed everything.
func NewRunner(config *rest.Config) (*Runner, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = agent
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	discovered, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	resources, err := restmapper.GetAPIGroupResources(discovered)
	if err != nil {
		return nil, err
	}
	return &Runner{host: strings.TrimSuffix(config.Host, "/"), client: client, mapper: restmapper.NewDiscoveryRESTMapper(resources)}, nil
}

// Close lets the connections go.
func (r *Runner) Close() { r.client.CloseIdleConnections() }

// Run runs a case in a namespace that it makes.
func (r *Runner) Run(ctx context.Context, c Case) ([]Answer, error) {
	namespace := strings.ReplaceAll(c.Name, "/", "-")
	if err := r.create(ctx, "/api/v1/namespaces", object{"metadata": object{"name": namespace}}); err != nil {
		return nil, fmt.Errorf("namespace %s: %w", namespace, err)
	}
	for _, given := range c.Given {
		path, err := r.path(given, namespace)
		if err != nil {
			return nil, err
		}
		if err := r.create(ctx, path, given); err != nil {
			return nil, fmt.Errorf("what is given: %w", err)
		}
	}

	collection, err := r.path(c.Create, namespace)
	if err != nil {
		return nil, err
	}
	known := newSeen(c)
	var answers []Answer
	add := func(verb string, code int, got response) {
		answers = append(answers, Answer{
			Case: c.Name, Step: fmt.Sprintf("%d %s", len(answers)+1, verb), Code: code,
			Warnings: got.warnings, Object: known.comparable(got.body),
		})
	}
	code, got, err := r.send(ctx, http.MethodPost, collection, "", c.Create)
	if err != nil {
		return nil, err
	}
	add("create", code, got)
	if code != http.StatusCreated && len(c.Then) > 0 {
		return answers, fmt.Errorf("nothing was created for the steps that follow: %d %v", code, got.body["message"])
	}
	current := &unstructured.Unstructured{Object: got.body}
	for _, step := range c.Then {
		verb, code, got, err := r.step(ctx, step, collection+"/"+current.GetName(), current.GetResourceVersion())
		if err != nil {
			return nil, err
		}
		add(verb, code, got)
		if code < http.StatusMultipleChoices {
			current = &unstructured.Unstructured{Object: got.body}
		}
	}
	return answers, nil
}

// step sends one request about the object at a path, of which the current resource version is given.
func (r *Runner) step(ctx context.Context, step Step, path, version string) (verb string, code int, got response, err error) {
	verb, body, err := step.request()
	if err != nil {
		return verb, 0, response{}, err
	}
	switch verb {
	case "update":
		code, got, err = r.send(ctx, http.MethodPut, path, "", withVersion(body, version))
	case "patch":
		code, got, err = r.send(ctx, http.MethodPatch, path, types.MergePatchType, body)
	case "status":
		code, got, err = r.send(ctx, http.MethodPatch, path+"/status", types.MergePatchType, body)
	case "apply":
		code, got, err = r.send(ctx, http.MethodPatch, path+"?fieldManager=applier", types.ApplyYAMLPatchType, body)
	}
	return verb, code, got, err
}

// create creates an object that a case is not about.
func (r *Runner) create(ctx context.Context, path string, body object) error {
	code, answer, err := r.send(ctx, http.MethodPost, path, "", body)
	if err == nil && code != http.StatusCreated {
		err = fmt.Errorf("%d %v", code, answer.body["message"])
	}
	return err
}

// path is where objects of an object's kind are created.
func (r *Runner) path(content object, namespace string) (string, error) {
	u := &unstructured.Unstructured{Object: content}
	kind := u.GroupVersionKind()
	mapping, err := r.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return "", err
	}
	prefix := "/apis"
	if kind.Group == "" {
		prefix = "/api"
	}
	segments := []string{kind.GroupVersion().String()}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		segments = append(segments, "namespaces", url.PathEscape(namespace))
	}
	return prefix + "/" + strings.Join(append(segments, mapping.Resource.Resource), "/"), nil
}

// withVersion fills in the resource version where the body asks for it.
func withVersion(body object, version string) object {
	u := (&unstructured.Unstructured{Object: body}).DeepCopy()
	if u.GetResourceVersion() == "${resourceVersion}" {
		u.SetResourceVersion(version)
	}
	return u.Object
}

// response is an answered body and the warnings beside it.
type response struct {
	body     object
	warnings []string
}

func (r *Runner) send(ctx context.Context, method, path string, patch types.PatchType, body object) (int, response, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return 0, response{}, err
	}
	request, err := http.NewRequestWithContext(ctx, method, r.host+path, bytes.NewReader(data))
	if err != nil {
		return 0, response{}, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	if patch != "" {
		request.Header.Set("Content-Type", string(patch))
	}
	answer, err := r.client.Do(request)
	if err != nil {
		return 0, response{}, err
	}
	defer answer.Body.Close()
	data, err = io.ReadAll(answer.Body)
	if err != nil {
		return 0, response{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	var got response
	if err := json.Unmarshal(data, &got.body); err != nil {
		return 0, response{}, fmt.Errorf("%s %s: %w: %s", method, path, err, data)
	}
	warnings, errs := net.ParseWarningHeaders(answer.Header["Warning"])
	if len(errs) > 0 {
		return 0, response{}, fmt.Errorf("%s %s: %w", method, path, errs[0])
	}
	for _, warning := range warnings {
		got.warnings = append(got.warnings, warning.Text)
	}
	return answer.StatusCode, got, nil
}
