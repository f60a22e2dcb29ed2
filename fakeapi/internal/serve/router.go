package serve

import (
	"context"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

// router finds the handler of a request that has passed all filters.
type router struct {
	catalogue *resource.Catalogue
	admission admission.Interface
	paths     map[string]http.Handler
	discovery *discoverer
	openAPI   *openAPI
}

func newRouter(config Config) *router {
	r := &router{
		catalogue: config.Catalogue,
		admission: config.Admission,
		discovery: newDiscoverer(config.Catalogue, config.Address),
		openAPI:   newOpenAPI(config.Catalogue),
	}
	r.paths = r.fixedPaths()
	return r
}

func (r *router) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	info, ok := request.RequestInfoFrom(req.Context())
	if !ok || !info.IsResourceRequest {
		r.servePath(w, req)
		return
	}
	gv := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
	target, ok := r.find(gv, info)
	if !ok {
		r.notFound(w, req, info.APIGroup)
		return
	}
	routes := target.routes(r.admission)
	route, ok := routes[req.Method]
	switch {
	case len(routes) == 0:
		r.notFound(w, req, info.APIGroup)
	case !ok:
		refuse(w, req, http.StatusMethodNotAllowed, "405: Method Not Allowed")
	case !route.understands(req):
		refuse(w, req, http.StatusUnsupportedMediaType, "415: Unsupported Media Type")
	case !route.acceptable(req):
		refuse(w, req, http.StatusNotAcceptable,
			"406: Not Acceptable\n\nAvailable representations: "+strings.Join(route.produces, ", "))
	default:
		tellDeprecated(req.Context(), target.resource)
		route.handle(w, req)
	}
}

// tellDeprecated tells the client, and who reads the audit log, that a resource is deprecated where it is.
func tellDeprecated(ctx context.Context, r *resource.Resource) {
	for _, text := range r.Warnings {
		warning.AddWarning(ctx, "", text)
	}
	if len(r.Warnings) > 0 {
		audit.AddAuditAnnotation(ctx, "k8s.io/deprecated", "true")
	}
	if r.RemovedRelease != "" {
		audit.AddAuditAnnotation(ctx, "k8s.io/removed-release", r.RemovedRelease)
	}
}

// target is what a URL names: a resource or subresource, its collection or one object.
type target struct {
	resource *resource.Resource
	// name tells that the URL names one object.
	name bool
	// allNamespaces tells that the URL of a namespaced resource names no namespace.
	allNamespaces bool
	// watch tells that the URL has the prefix watch/, an old way to ask for a watch.
	watch bool
}

// find looks up what a URL names. Parts of the URL that the resource knows nothing of make it name nothing.
func (r *router) find(gv schema.GroupVersion, info *request.RequestInfo) (target, bool) {
	found, ok := r.catalogue.Lookup(gv.WithResource(info.Resource), info.Subresource)
	if !ok || info.Verb == "proxy" { // of the URL /api/v1/proxy/..., which is gone
		return target{}, false
	}
	if len(info.Parts) > 3 {
		connecter, ok := found.Storage().(rest.Connecter)
		if !ok {
			return target{}, false
		}
		if _, subpath, _ := connecter.NewConnectOptions(); !subpath {
			return target{}, false
		}
	}
	t := target{resource: found, name: len(info.Parts) > 1, watch: hasWatchPrefix(info)}
	// In the URL of a namespace its name stands where others have the namespace that they are in.
	inNamespace := info.Namespace != "" && info.Resource != "namespaces"
	if found.Namespaced {
		t.allNamespaces = !inNamespace
		return t, inNamespace || !t.name
	}
	return t, !inNamespace
}

// hasWatchPrefix tells that a watch was asked for by the URL /api/v1/watch/...
func hasWatchPrefix(info *request.RequestInfo) bool {
	if info.Verb != "watch" {
		return false
	}
	parts := strings.Split(strings.Trim(info.Path, "/"), "/")
	at := 2
	if info.APIPrefix == "apis" {
		at = 3
	}
	return len(parts) > at && parts[at] == "watch"
}

// notFound answers that there is no such thing below the path of a group. Below that of a group that is not served, or
// that custom resources alone are in, the real server has nothing that would answer with a Status.
func (r *router) notFound(w http.ResponseWriter, req *http.Request, group string) {
	builtin := func(resource *resource.Resource) bool { return resource.GVR.Group == group && !resource.Custom }
	if !slices.ContainsFunc(r.catalogue.Resources(), builtin) {
		http.NotFound(w, req)
		return
	}
	refuse(w, req, http.StatusNotFound, "404: Page Not Found")
}

// refuse answers as the real server does where its router has no route.
func refuse(w http.ResponseWriter, req *http.Request, code int, message string) {
	err := apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", message, 0, false)
	responsewriters.ErrorNegotiated(err, scheme.Codecs, schema.GroupVersion{Version: "v1"}, w, req)
}
