package serve

import (
	"encoding/json"
	"net/http"
	"runtime"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/server/healthz"
)

// Version is what GET /version answers: the Kubernetes version whose API fakeapi serves, marked as not the real one.
func Version() version.Info {
	return version.Info{
		Major:                 "1",
		Minor:                 "37",
		EmulationMajor:        "1",
		EmulationMinor:        "37",
		MinCompatibilityMajor: "1",
		MinCompatibilityMinor: "36",
		GitVersion:            "v1.37.2+gatehouse",
		GitTreeState:          "clean",
		BuildDate:             "1970-01-01T00:00:00Z",
		GoVersion:             runtime.Version(),
		Compiler:              runtime.Compiler,
		Platform:              runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// fixedPaths returns the handlers of the paths that are there whatever is served.
func (r *router) fixedPaths() map[string]http.Handler {
	paths := pathMap{
		"/":           http.HandlerFunc(r.serveIndex),
		"/openapi/v2": http.HandlerFunc(r.openAPI.serveV2),
		"/openapi/v3": http.HandlerFunc(r.openAPI.serveV3Root),
	}
	for path, handle := range map[string]http.HandlerFunc{
		"/version": serveVersion,
		"/api":     r.discovery.serveLegacyVersions,
		"/apis":    r.discovery.serveGroups,
	} {
		paths[path], paths[path+"/"] = handle, handle
	}
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		healthz.InstallPathHandler(paths, path, healthz.PingHealthz)
	}
	return paths
}

// pathMap is a mux of exact paths.
type pathMap map[string]http.Handler

func (p pathMap) Handle(path string, handler http.Handler) { p[path] = handler }

// servePath answers a request that is for no resource.
func (r *router) servePath(w http.ResponseWriter, req *http.Request) {
	if handler, ok := r.paths[req.URL.Path]; ok {
		handler.ServeHTTP(w, req)
		return
	}
	if strings.HasPrefix(req.URL.Path, "/openapi/v3/") {
		r.openAPI.serveV3(w, req)
		return
	}
	r.serveDiscovery(w, req)
}

// serveDiscovery answers /api/V, /apis/G and /apis/G/V.
func (r *router) serveDiscovery(w http.ResponseWriter, req *http.Request) {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	switch {
	case len(parts) == 2 && parts[0] == "api":
		r.serveGroupVersion(w, req, schema.GroupVersion{Version: parts[1]})
	case len(parts) == 3 && parts[0] == "apis":
		r.serveGroupVersion(w, req, schema.GroupVersion{Group: parts[1], Version: parts[2]})
	case len(parts) == 2 && parts[0] == "apis":
		if group, ok := r.discovery.group(parts[1]); ok {
			r.discovery.serveGroup(w, req, group)
			return
		}
		http.NotFound(w, req)
	default:
		http.NotFound(w, req)
	}
}

func (r *router) serveGroupVersion(w http.ResponseWriter, req *http.Request, gv schema.GroupVersion) {
	if !r.discovery.serves(gv) {
		r.notFound(w, req, gv.Group)
		return
	}
	if allowGet(w, req) {
		r.discovery.serveVersion(w, req, gv)
	}
}

// serveIndex lists the paths that there are.
func (r *router) serveIndex(w http.ResponseWriter, _ *http.Request) {
	paths := r.discovery.paths()
	for path := range r.paths {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	writeJSON(w, map[string][]string{"paths": paths})
}

func serveVersion(w http.ResponseWriter, req *http.Request) {
	if allowGet(w, req) {
		writeJSON(w, Version())
	}
}

// allowGet answers 405 to what is not a read.
func allowGet(w http.ResponseWriter, req *http.Request) bool {
	if req.Method == http.MethodGet {
		return true
	}
	refuse(w, req, http.StatusMethodNotAllowed, "405: Method Not Allowed")
	return false
}

func writeJSON(w http.ResponseWriter, value any) {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // the client is gone
}
