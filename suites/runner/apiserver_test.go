package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/suites/target"
)

// caseOf loads a fixture file with one case.
func caseOf(t *testing.T, text string) *fixtures.LoadedCase {
	t.Helper()
	set, err := fixtures.Load(fstest.MapFS{
		"behaviors.yaml": {Data: []byte(`
areas: [{id: area, title: Area, description: An area.}]
behaviors: [{id: webhook.x, area: area, statement: It is so., level: must, kind: documented, sources: [x], api: [v1]}]
`)},
		"area/file.yaml": {Data: []byte("title: it is so\n" + strings.TrimPrefix(text, "\n") + "\nbehaviors: [webhook.x]\ncases: [{name: one}]\n")},
	}, fixtures.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return set.Cases[0]
}

func itoa(n int) string { return strconv.Itoa(n) }

// apiServer is a REST API over a map, as much of one as the runner needs to be tested.
type apiServer struct {
	client *client
	server *httptest.Server
	refuse string            // the resource whose creation is refused
	dieAt  string            // the resource at whose creation the server dies
	at     func(line string) // called with the line of every request

	dead atomic.Bool

	mu      sync.Mutex
	objects map[string]map[string]any
	count   int
}

func newAPIServer(t *testing.T) (*apiServer, *fakeTarget) {
	t.Helper()
	s := &apiServer{objects: map[string]map[string]any{}}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.server.Close)
	config := &rest.Config{Host: s.server.URL}
	var err error
	if s.client, err = newClient(config); err != nil {
		t.Fatal(err)
	}
	return s, &fakeTarget{api: s, config: config, version: "v1.37.2"}
}

// die makes the server answer no more requests, those under way included.
func (s *apiServer) die() {
	s.dead.Store(true)
	s.server.Listener.Close()
}

// left are the paths of the objects that there are.
func (s *apiServer) left() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objects))
}

func (s *apiServer) serve(w http.ResponseWriter, r *http.Request) {
	if s.at != nil {
		s.at(r.Method + " " + r.URL.Path)
	}
	if s.dead.Load() {
		panic(http.ErrAbortHandler)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	w.Header().Set("Audit-ID", itoa(s.count))
	w.Header().Set("Seen-User", r.Header.Get("Impersonate-User"))
	w.Header().Set("Seen-Group", r.Header.Get("Impersonate-Group"))
	path := r.URL.Path
	switch {
	case path == "/version":
		fmt.Fprint(w, "{}")
	case path == "/counter":
		fmt.Fprintf(w, `{"count": %d}`, s.count-1)
	case strings.Count(path, "/") <= 3 && (strings.HasPrefix(path, "/apis/") || path == "/api/v1") && !strings.Contains(strings.TrimPrefix(path, "/api/v1"), "/v1/"):
		s.discovery(w, path)
	case r.Method == http.MethodPost:
		s.create(w, r)
	default:
		s.other(w, r)
	}
}

func (s *apiServer) discovery(w http.ResponseWriter, path string) {
	if definition := s.definition(path); definition != nil {
		names := definition["spec"].(map[string]any)["names"].(map[string]any)
		fmt.Fprintf(w, `{"resources": [{"name": %q, "kind": %q, "namespaced": true}]}`, names["plural"], names["kind"])
		return
	}
	document, served := map[string]string{
		"/apis/apiextensions.k8s.io/v1": `{"resources": [{"name": "customresourcedefinitions", "kind": "CustomResourceDefinition"}]}`,
		"/api/v1": `{"resources": [{"name": "configmaps", "kind": "ConfigMap", "namespaced": true}, {"name": "secrets", "kind": "Secret", "namespaced": true},
			{"name": "namespaces", "kind": "Namespace"}, {"name": "nodes", "kind": "Node"}]}`,
		"/apis/rbac.authorization.k8s.io/v1": `{"resources": [{"name": "clusterroles", "kind": "ClusterRole"}, {"name": "clusterrolebindings", "kind": "ClusterRoleBinding"}]}`,
		"/apis/admissionregistration.k8s.io/v1": `{"resources": [{"name": "validatingwebhookconfigurations", "kind": "ValidatingWebhookConfiguration"},
			{"name": "validatingadmissionpolicies", "kind": "ValidatingAdmissionPolicy"}]}`,
	}[path]
	if !served {
		status(w, http.StatusNotFound, "not found", "")
		return
	}
	io.WriteString(w, document)
}

// definition is the custom resource definition of the group in a path, nil where there is none.
func (s *apiServer) definition(path string) map[string]any {
	for at, object := range s.objects {
		if strings.Contains(at, "/customresourcedefinitions/") && strings.HasPrefix(path, "/apis/"+object["spec"].(map[string]any)["group"].(string)+"/") {
			return object
		}
	}
	return nil
}

func (s *apiServer) create(w http.ResponseWriter, r *http.Request) {
	resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch resource {
	case s.dieAt:
		s.die()
		panic(http.ErrAbortHandler)
	case s.refuse:
		status(w, http.StatusForbidden, "no", "")
		return
	}
	var object map[string]any
	if err := json.NewDecoder(r.Body).Decode(&object); err != nil {
		status(w, http.StatusBadRequest, err.Error(), "")
		return
	}
	metadata := object["metadata"].(map[string]any)
	metadata["uid"] = "uid-" + itoa(s.count)
	s.objects[r.URL.Path+"/"+metadata["name"].(string)] = object
	w.WriteHeader(http.StatusCreated)
	json.NewEncoder(w).Encode(object)
}

func (s *apiServer) other(w http.ResponseWriter, r *http.Request) {
	object, there := s.objects[r.URL.Path]
	if !there && s.definition(r.URL.Path) != nil {
		io.WriteString(w, `{"items": []}`)
		return
	}
	if !there {
		parts := strings.Split(r.URL.Path, "/")
		status(w, http.StatusNotFound, "not found", fmt.Sprintf(`{"name": %q, "kind": %q}`, parts[len(parts)-1], parts[len(parts)-2]))
		return
	}
	if r.Method == http.MethodDelete {
		delete(s.objects, r.URL.Path)
		for path := range s.objects {
			if strings.HasPrefix(path, r.URL.Path+"/") {
				delete(s.objects, path)
			}
		}
	}
	json.NewEncoder(w).Encode(object)
}

func status(w http.ResponseWriter, code int, message, details string) {
	if details == "" {
		details = "null"
	}
	w.WriteHeader(code)
	reason := strings.ReplaceAll(http.StatusText(code), " ", "")
	fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "code": %d, "reason": %q, "message": %q, "details": %s}`, code, reason, message, details)
}

// fakeTarget is a target over an apiServer.
type fakeTarget struct {
	api       *apiServer
	config    *rest.Config
	version   string
	settleErr error

	settled []string // the resources of each Settle, sorted
}

func (f *fakeTarget) Info() target.Info             { return target.Info{Name: "fake", Version: f.version} }
func (f *fakeTarget) RESTConfig() *rest.Config      { return rest.CopyConfig(f.config) }
func (f *fakeTarget) HookAddress() string           { return "" }
func (f *fakeTarget) Restart(context.Context) error { return nil }
func (f *fakeTarget) Explain(auditID string) string { return "decided on " + auditID }
func (f *fakeTarget) Logs() string                  { return "last line\n" }
func (f *fakeTarget) Stop() error                   { return nil }
func (f *fakeTarget) Can() sets.Set[fixtures.Need] {
	return sets.New(fixtures.NeedAudit, fixtures.NeedRawStore)
}

func (f *fakeTarget) Settle(_ context.Context, resources ...schema.GroupResource) error {
	var names []string
	for _, r := range resources {
		names = append(names, r.String())
	}
	slices.Sort(names)
	f.settled = append(f.settled, strings.Join(names, " "))
	return f.settleErr
}

func (f *fakeTarget) AuditEvents(_ context.Context, auditID string) ([]auditv1.Event, error) {
	return []auditv1.Event{{AuditID: "x", Annotations: map[string]string{"a": "1"}}}, nil
}

func (f *fakeTarget) StoreRaw(_ context.Context, data []byte) error {
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	metadata := object["metadata"].(map[string]any)
	f.api.mu.Lock()
	defer f.api.mu.Unlock()
	f.api.objects[fmt.Sprintf("/api/v1/namespaces/%s/configmaps/%s", metadata["namespace"], metadata["name"])] = object
	return nil
}
