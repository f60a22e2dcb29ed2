package serve

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/registry/rest"
)

// minWatchTimeout is how long a watch lives at least that does not ask for a timeout; a random part is added.
const minWatchTimeout = 30 * time.Minute

// route answers one method of a URL.
type route struct {
	handle http.HandlerFunc
	// consumes are the media types of bodies that get as far as the handler, produces those that a client may accept;
	// empty for any. What passes here the handler looks at more closely.
	consumes, produces []string
}

// understands tells whether the body of a request is of a type that the route consumes.
func (r route) understands(req *http.Request) bool {
	if len(r.consumes) == 0 {
		return true
	}
	mediaType, _, _ := strings.Cut(req.Header.Get("Content-Type"), ";")
	return slices.Contains(r.consumes, strings.TrimSpace(mediaType))
}

// acceptable tells whether the client accepts a type that the route produces.
func (r route) acceptable(req *http.Request) bool {
	accept := req.Header.Get("Accept")
	if accept == "" || len(r.produces) == 0 {
		return true
	}
	return slices.ContainsFunc(strings.Split(accept, ","), func(accepted string) bool {
		mediaType, _, _ := strings.Cut(accepted, ";")
		mediaType = strings.TrimSpace(mediaType)
		return mediaType == "*/*" || slices.Contains(r.produces, mediaType)
	})
}

// routes returns the routes of a target by HTTP method. What its storage can do decides which there are.
func (t target) routes(admit admission.Interface) map[string]route {
	var (
		storage     = t.resource.Storage()
		scope       = t.resource.Scope()
		routes      = map[string]route{}
		subresource = t.resource.Subresource != ""
	)
	objects, streams := negotiation.MediaTypesForSerializer(scope.Serializer)
	add := func(method string, handle http.HandlerFunc, produces ...string) {
		routes[method] = route{handle: handle, produces: produces}
	}

	if t.watch {
		lister, lists := storage.(rest.Lister)
		if watcher, watches := storage.(rest.Watcher); lists && watches {
			add(http.MethodGet, handlers.ListResource(lister, watcher, scope, true, minWatchTimeout), append(objects, streams...)...)
		}
		return routes
	}
	if connecter, ok := storage.(rest.Connecter); ok && t.name {
		path := t.resource.GVR.Resource + "/" + t.resource.Subresource
		for _, method := range connecter.ConnectMethods() {
			add(method, handlers.ConnectResource(connecter, scope, admit, path, subresource))
		}
	}
	if t.name {
		getTypes := objects
		if metadata, ok := storage.(rest.StorageMetadata); ok {
			getTypes = append(metadata.ProducesMIMETypes(http.MethodGet), objects...)
		}
		if getter, ok := storage.(rest.GetterWithOptions); ok {
			add(http.MethodGet, handlers.GetResourceWithOptions(getter, scope, subresource), getTypes...)
		} else if getter, ok := storage.(rest.Getter); ok {
			add(http.MethodGet, handlers.GetResource(getter, scope), getTypes...)
		}
		if updater, ok := storage.(rest.Updater); ok {
			add(http.MethodPut, handlers.UpdateResource(updater, scope, admit), objects...)
		}
		if patcher, ok := storage.(rest.Patcher); ok {
			kinds := patchKinds(t.resource.Custom)
			routes[http.MethodPatch] = route{
				handle:   handlers.PatchResource(patcher, scope, admit, kinds),
				consumes: kinds,
				produces: objects,
			}
		}
		if deleter, ok := storage.(rest.GracefulDeleter); ok {
			add(http.MethodDelete, handlers.DeleteResource(deleter, true, scope, admit), objects...)
		}
	}
	if lister, ok := storage.(rest.Lister); ok && !t.name {
		watcher, _ := storage.(rest.Watcher)
		add(http.MethodGet, handlers.ListResource(lister, watcher, scope, false, minWatchTimeout), append(objects, streams...)...)
	}
	// Objects are created in their collection, subresources at the object that they belong to.
	if t.name == subresource && !t.allNamespaces {
		if creater, ok := storage.(rest.NamedCreater); ok {
			add(http.MethodPost, handlers.CreateNamedResource(creater, scope, admit), objects...)
		} else if creater, ok := storage.(rest.Creater); ok {
			add(http.MethodPost, handlers.CreateResource(creater, scope, admit), objects...)
		}
	}
	if deleter, ok := storage.(rest.CollectionDeleter); ok && !t.name && !t.allNamespaces {
		add(http.MethodDelete, handlers.DeleteCollection(deleter, true, scope, admit), objects...)
	}
	if t.resource.Custom {
		// The part of the real server that serves custom resources leaves the types to the handlers.
		for method, r := range routes {
			routes[method] = route{handle: r.handle}
		}
	}
	return routes
}

// patchKinds are the media types of patches. Custom resources have no strategic merge.
func patchKinds(custom bool) []string {
	kinds := []string{string(types.JSONPatchType), string(types.MergePatchType)}
	if !custom {
		kinds = append(kinds, string(types.StrategicMergePatchType))
	}
	return append(kinds, string(types.ApplyYAMLPatchType))
}
