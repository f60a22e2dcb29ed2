package webhook

import (
	"context"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// exercise is one sample on its way through the API server.
type exercise struct {
	*capturer
	given     *given
	resource  served
	namespace string
}

// run makes the requests. What the API server refuses is noted; an error says that it does not answer.
func (e *exercise) run(ctx context.Context, object *unstructured.Unstructured, parts []served) error {
	v := create
	if e.given.refused {
		v = refused
	}
	got, err := e.send(ctx, v, http.MethodPost, e.resource.path(e.namespace, ""), object)
	if err != nil {
		return err
	}
	if err := got.err(); err != nil {
		e.note(e.given, "%s: no sample that the API server takes: %v", e.resource.Resource, err)
		return nil
	}
	name := got.object.GetName()
	path := e.resource.path(e.namespace, name)
	e.api.made(path)
	if !e.given.refused {
		if err := e.change(ctx, path); err != nil {
			return err
		}
		for _, part := range parts {
			if err := e.part(ctx, part, name); err != nil {
				return err
			}
		}
	}
	return e.delete(ctx, path)
}

// send sends a request and keeps the reviews.
func (e *exercise) send(ctx context.Context, v variant, method, path string, body any) (answer, error) {
	got, err := e.api.do(ctx, method, path, body)
	if err != nil {
		return got, err
	}
	return got, e.take(ctx, v, e.given)
}

// change updates the object. A controller beside the webhook may change it at the same time.
func (e *exercise) change(ctx context.Context, path string) error {
	const attempts = 5
	for i := range attempts {
		got, err := e.api.do(ctx, http.MethodGet, path, nil)
		if err != nil || got.err() != nil {
			return err
		}
		annotations := got.object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations["gatehouse.example.com/changed"] = "yes"
		got.object.SetAnnotations(annotations)
		got, err = e.api.do(ctx, http.MethodPut, path, got.object)
		if err != nil {
			return err
		}
		if apierrors.IsConflict(got.err()) && i < attempts-1 {
			if _, err := e.servers.Drain(ctx); err != nil {
				return err
			}
			continue
		}
		if got.err() != nil {
			e.note(e.given, "UPDATE %s: %v", e.resource.Resource, got.err())
		}
		return e.take(ctx, update, e.given)
	}
	return nil
}

// part makes the request of a subresource that the rules may match.
func (e *exercise) part(ctx context.Context, part served, name string) error {
	path := part.path(e.namespace, name)
	meta := map[string]any{"name": name, "namespace": e.namespace}
	var got answer
	var err error
	switch part.sub() {
	case "exec", "attach":
		_, err = e.send(ctx, connect, http.MethodPost, path+"?"+url.Values{"command": {"date"}, "stdout": {"true"}}.Encode(), nil)
		return err // whether there is a container to connect to does not matter
	case "portforward", "proxy":
		_, err = e.send(ctx, connect, http.MethodPost, path, nil)
		return err
	case "eviction":
		got, err = e.send(ctx, connect, http.MethodPost, path, map[string]any{
			"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta, "deleteOptions": map[string]any{"dryRun": []string{"All"}},
		})
	case "binding":
		got, err = e.send(ctx, connect, http.MethodPost, path, map[string]any{
			"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": map[string]any{"kind": "Node", "name": "gatehouse"},
		})
	case "token":
		got, err = e.send(ctx, connect, http.MethodPost, path, map[string]any{
			"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": meta, "spec": map[string]any{},
		})
	case "log":
		return nil // read only: never admitted
	default: // status, scale, finalize, approval, ephemeralcontainers, resize: read and written
		if got, err = e.api.do(ctx, http.MethodGet, path, nil); err != nil || got.err() != nil {
			return err
		}
		got, err = e.send(ctx, connect, http.MethodPut, path, got.object)
	}
	if err == nil && got.err() != nil {
		e.note(e.given, "%s: %v", part.Resource, got.err())
	}
	return err
}

// delete deletes the object.
func (e *exercise) delete(ctx context.Context, path string) error {
	got, err := e.api.remove(ctx, path)
	if err != nil {
		return err
	}
	if got.err() != nil {
		e.note(e.given, "DELETE %s: %v", e.resource.Resource, got.err())
	}
	if e.given.refused {
		_, err := e.servers.Drain(ctx)
		return err
	}
	return e.take(ctx, remove, e.given)
}
