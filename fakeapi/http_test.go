package fakeapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega/gbytes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/version"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

// response is an answer of the server.
type response struct {
	code   int
	header http.Header
	body   string
}

// status is the answer as a Status.
func (r response) status(t testing.TB) metav1.Status {
	t.Helper()
	var status metav1.Status
	if err := json.Unmarshal([]byte(r.body), &status); err != nil || status.Kind != "Status" {
		t.Fatalf("the answer is no Status: %v\n%s", err, r.body)
	}
	return status
}

// do sends a request as the administrator. The headers are pairs of name and value.
func do(t testing.TB, server *fakeapi.Server, method, path, body string, headers ...string) response {
	t.Helper()
	client, err := rest.HTTPClientFor(server.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), method, server.RESTConfig().Host+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for pair := range slices.Chunk(headers, 2) {
		request.Header.Set(pair[0], pair[1])
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() // all has been read
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{answer.StatusCode, answer.Header, string(content)}
}

// What a client is told that asks for what there is not. The words are those of kube-apiserver v1.37.2.
func TestRefusals(t *testing.T) {
	const (
		notFound        = "the server could not find the requested resource"
		notAllowed      = "the server does not allow this method on the requested resource"
		plain           = "404 page not found\n"
		representations = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf"
		accepted        = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
	)
	server := start(t, fakeapi.Options{})
	tests := []struct {
		method, path string
		headers      []string
		body         string
		code         int
		message      string // of the Status, or the whole body
	}{
		{method: "GET", path: "/api/v1/foos", code: 404, message: notFound},
		{method: "GET", path: "/api/v2/foos", code: 404, message: notFound},
		{method: "GET", path: "/apis/apps/v9/deployments", code: 404, message: notFound},
		{method: "GET", path: "/apis/nope.io/v1/foos", code: 404, message: plain},
		{method: "GET", path: "/api/v2", code: 404, message: notFound},
		{method: "GET", path: "/apis/apps/v9", code: 404, message: notFound},
		{method: "GET", path: "/apis/nope.io", code: 404, message: plain},
		{method: "GET", path: "/nope", code: 404, message: plain},
		{method: "GET", path: "//api", code: 404, message: plain},
		{method: "GET", path: "/api/v1/configmaps/foo", code: 404, message: notFound},
		{method: "GET", path: "/api/v1/namespaces/default/nodes", code: 404, message: notFound},
		{method: "GET", path: "/api/v1/namespaces/default/configmaps/foo/status", code: 404, message: notFound},
		{method: "GET", path: "/api/v1/namespaces/default/pods/foo/log/bar", code: 404, message: notFound},
		{method: "GET", path: "/api/v1/namespaces/default/configmaps/foo", code: 404, message: `configmaps "foo" not found`},
		{method: "POST", path: "/api/v1/configmaps", code: 405, message: notAllowed},
		{method: "DELETE", path: "/api/v1/configmaps", code: 405, message: notAllowed},
		{method: "PUT", path: "/api/v1/namespaces/default/configmaps", code: 405, message: notAllowed},
		{method: "POST", path: "/api/v1/namespaces/default/configmaps/foo", code: 405, message: notAllowed},
		{method: "GET", path: "/api/v1/proxy/namespaces/default", code: 404, message: notFound},
		{method: "PUT", path: "/api/v1/watch/namespaces/default", code: 405, message: notAllowed},
		{method: "OPTIONS", path: "/api/v1/namespaces", code: 405, message: notAllowed},
		{method: "POST", path: "/api", code: 405, message: notAllowed},
		{method: "POST", path: "/apis/apps/v1", code: 405, message: notAllowed},
		{method: "DELETE", path: "/version", code: 405, message: notAllowed},
		{method: "GET", path: "/api/v1/namespaces/default", headers: []string{"Accept", "text/html"}, code: 406, message: representations},
		{method: "GET", path: "/api/v1/namespaces", headers: []string{"Accept", "application/*"}, code: 406, message: representations + ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"},
		{method: "GET", path: "/api/v1/namespaces", headers: []string{"Accept", "application/json;as=Foo;v=v1;g=meta.k8s.io"}, code: 406, message: "only the following media types are accepted: " + accepted},
		{method: "GET", path: "/api/v1/namespaces/default/pods/foo/log", headers: []string{"Accept", "text/html"}, code: 406, message: "406: Not Acceptable\n\nAvailable representations: text/plain, " + accepted},
		{method: "PATCH", path: "/api/v1/namespaces/default", body: "{}", headers: []string{"Content-Type", "application/json"}, code: 415, message: "415: Unsupported Media Type"},
		{method: "POST", path: "/api/v1/namespaces", body: "{}", headers: []string{"Content-Type", "text/foo"}, code: 415, message: "the body of the request was in an unknown format - accepted media types include: " + accepted},
		{method: "POST", path: "/api/v1/namespaces", body: "{", headers: []string{"Content-Type", "application/json"}, code: 400, message: "the object provided is unrecognized (must be of type Namespace): couldn't get version/kind; json parse error: unexpected end of JSON input ({)"},
		{method: "GET", path: "/api/v1/namespaces?timeout=abc", code: 400, message: `invalid timeout specified in the request URL - time: invalid duration "abc"`},
		{method: "POST", path: "/api/v1/namespaces/default/pods/foo/exec?dryRun=All", code: 400, message: "dryRun is not supported"},
	}
	for _, test := range tests {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			got := do(t, server, test.method, test.path, test.body, test.headers...)
			message := got.body
			if strings.HasPrefix(got.header.Get("Content-Type"), "application/json") {
				message = got.status(t).Message
			}
			if got.code != test.code || message != test.message {
				t.Errorf("got %d %q\nwant %d %q", got.code, message, test.code, test.message)
			}
			if got.header.Get("Audit-ID") == "" {
				t.Error("no Audit-ID")
			}
		})
	}
}

func TestPathsWithoutResources(t *testing.T) {
	server := start(t, fakeapi.Options{})
	for _, path := range []string{"/healthz", "/livez", "/readyz", "/readyz/ping"} {
		if got := do(t, server, "GET", path, ""); got.code != 200 || got.body != "ok" {
			t.Errorf("%s: %d %q", path, got.code, got.body)
		}
	}
	var info version.Info
	if got := do(t, server, "GET", "/version", ""); json.Unmarshal([]byte(got.body), &info) != nil || info.GitVersion != server.Version() {
		t.Errorf("/version: %s", got.body)
	}
	var index struct{ Paths []string }
	if got := do(t, server, "GET", "/", ""); json.Unmarshal([]byte(got.body), &index) != nil || !sets.New(index.Paths...).HasAll("/api/v1", "/apis/apps", "/apis/apps/v1", "/healthz", "/version") {
		t.Errorf("/: %s", got.body)
	}
	if got := do(t, server, "GET", "/openapi/v3", ""); !strings.Contains(got.body, `"apis/apps/v1"`) {
		t.Errorf("/openapi/v3: %s", got.body)
	}
	if got := do(t, server, "GET", "/openapi/v3/apis/apps/v1", ""); got.code != 200 || !strings.Contains(got.body, "fieldValidation") {
		t.Errorf("/openapi/v3/apis/apps/v1: %d %s", got.code, got.body)
	}
	if got := do(t, server, "GET", "/openapi/v2", "", "Accept", "application/json"); got.code != 200 || !strings.Contains(got.body, `"swagger":"2.0"`) {
		t.Errorf("/openapi/v2: %d %.200s", got.code, got.body)
	}
}

func TestDiscovery(t *testing.T) {
	server := start(t, fakeapi.Options{})
	discovery := clientFor(t, server.RESTConfig()).Discovery()

	// The client asks for the aggregated form.
	_, lists, err := discovery.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]metav1.APIResource{}
	for _, list := range lists {
		for _, resource := range list.APIResources {
			served[list.GroupVersion+" "+resource.Name] = resource
		}
	}
	deployments := served["apps/v1 deployments"]
	if deployments.Kind != "Deployment" || !deployments.Namespaced || deployments.SingularName != "deployment" ||
		!slices.Contains(deployments.ShortNames, "deploy") || !slices.Contains(deployments.Categories, "all") || !sets.New(deployments.Verbs...).HasAll("create", "deletecollection", "watch") {
		t.Errorf("deployments: %+v", deployments)
	}
	scale := served["apps/v1 deployments/scale"]
	if scale.Kind != "Scale" || scale.Group != "autoscaling" || scale.Version != "v1" {
		t.Errorf("deployments/scale: %+v", scale)
	}
	for _, name := range []string{"v1 pods/exec", "admissionregistration.k8s.io/v1 validatingadmissionpolicies/status", "authorization.k8s.io/v1 selfsubjectaccessreviews"} {
		if _, ok := served[name]; !ok {
			t.Errorf("no %s", name)
		}
	}

	// The plain forms say the same.
	var list metav1.APIResourceList
	if got := do(t, server, "GET", "/apis/apps/v1", ""); json.Unmarshal([]byte(got.body), &list) != nil || list.GroupVersion != "apps/v1" {
		t.Fatalf("/apis/apps/v1: %s", got.body)
	}
	plain := sets.New[string]()
	for _, resource := range list.APIResources {
		plain.Insert("apps/v1 " + resource.Name)
	}
	aggregated := sets.New[string]()
	for name := range served {
		if strings.HasPrefix(name, "apps/v1 ") {
			aggregated.Insert(name)
		}
	}
	if !plain.Equal(aggregated) {
		t.Errorf("apps/v1: plain and aggregated discovery differ in %v", plain.SymmetricDifference(aggregated).UnsortedList())
	}
	var groups metav1.APIGroupList
	if got := do(t, server, "GET", "/apis", ""); json.Unmarshal([]byte(got.body), &groups) != nil || groups.Kind != "APIGroupList" {
		t.Fatalf("/apis: %s", got.body)
	}
	for _, group := range groups.Groups {
		if len(group.Versions) == 0 || group.PreferredVersion != group.Versions[0] {
			t.Errorf("group %s prefers %v of %v", group.Name, group.PreferredVersion, group.Versions)
		}
	}
	var versions metav1.APIVersions
	if got := do(t, server, "GET", "/api", ""); json.Unmarshal([]byte(got.body), &versions) != nil || !slices.Equal(versions.Versions, []string{"v1"}) {
		t.Errorf("/api: %s", got.body)
	}

	// An unchanged document is not sent again.
	const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	first := do(t, server, "GET", "/apis", "", "Accept", accept)
	if again := do(t, server, "GET", "/apis", "", "Accept", accept, "If-None-Match", first.header.Get("ETag")); first.code != 200 || again.code != 304 {
		t.Errorf("aggregated discovery: %d, with its ETag %d", first.code, again.code)
	}
}

func TestAuditEvents(t *testing.T) {
	log := gbytes.NewBuffer()
	server := start(t, fakeapi.Options{
		AuditLog: log,
		AuditPolicy: &auditv1.Policy{Rules: []auditv1.PolicyRule{
			{Level: auditv1.LevelNone, Resources: []auditv1.GroupResources{{Resources: []string{"secrets"}}}},
			{Level: auditv1.LevelRequest, OmitStages: []auditv1.Stage{auditv1.StageRequestReceived}},
		}},
	})
	const body = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"probe"},"data":{"a":"b"}}`
	created := do(t, server, "POST", "/api/v1/namespaces/default/configmaps", body, "Content-Type", "application/json", "Impersonate-User", "ann", "Impersonate-Group", "system:masters", "Audit-ID", "chosen")
	if created.code != 201 || created.header.Get("Audit-ID") != "chosen" {
		t.Fatalf("%d, Audit-ID %q: %s", created.code, created.header.Get("Audit-ID"), created.body)
	}
	event := auditEvent(t, server, "chosen")
	if event.Level != auditv1.LevelRequest || event.Verb != "create" || event.User.Username != "admin" || event.ImpersonatedUser == nil || event.ImpersonatedUser.Username != "ann" ||
		event.ObjectRef == nil || event.ObjectRef.Resource != "configmaps" || event.ObjectRef.Name != "probe" || event.ResponseStatus.Code != 201 || event.Annotations["authorization.k8s.io/decision"] != "allow" {
		t.Errorf("event: %+v", event)
	}
	if event.RequestObject == nil || !strings.Contains(string(event.RequestObject.Raw), `"a":"b"`) {
		t.Error("the event has no request object")
	}
	if text := string(log.Contents()); !strings.Contains(text, `"auditID":"chosen"`) {
		t.Errorf("log: %s", text)
	}

	refused := do(t, server, "POST", "/api/v1/namespaces/default/configmaps", body, "Content-Type", "application/json")
	if event := auditEvent(t, server, refused.header.Get("Audit-ID")); event.ResponseStatus.Code != 409 || event.ResponseStatus.Reason != metav1.StatusReasonAlreadyExists {
		t.Errorf("event of a refusal: %+v", event.ResponseStatus)
	}
	do(t, server, "GET", "/api/v1/namespaces/default/secrets", "", "Audit-ID", "unaudited")
	if events := server.AuditEvents("unaudited"); len(events) != 0 {
		t.Errorf("%d events at level None", len(events))
	}
}
