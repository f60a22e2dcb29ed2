package fakeapi_test

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

// converts answers ConversionReviews by giving each object the version that is wanted.
func converts(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		var review apiextensionsv1.ConversionReview
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			t.Error(err)
			return
		}
		response := &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
		for _, object := range review.Request.Objects {
			converted := &unstructured.Unstructured{}
			if err := converted.UnmarshalJSON(object.Raw); err != nil {
				t.Error(err)
				return
			}
			converted.SetAPIVersion(review.Request.DesiredAPIVersion)
			converted.Object["by"] = req.TLS.ServerName + " " + req.Host + req.URL.Path
			response.ConvertedObjects = append(response.ConvertedObjects, runtime.RawExtension{Object: converted})
		}
		review.Request, review.Response = nil, response
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	}
}

// A conversion webhook by service is called where ServiceAddresses says, under the name of the service, as those of
// admission are.
func TestServiceAddressesOfConversion(t *testing.T) {
	certificate, bundle := serving(t, "hook.team.svc")
	hook := httptest.NewUnstartedServer(converts(t))
	hook.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	hook.StartTLS()
	defer hook.Close()
	server := start(t, fakeapi.Options{
		ServiceAddresses: map[string]string{"team/hook:8443": hook.Listener.Addr().String()},
	})
	for service, want := range map[string]struct {
		code int
		body string
	}{
		`{"namespace":"team","name":"hook","port":8443,"path":"/convert"}`: {http.StatusOK, `"by":"hook.team.svc hook.team.svc:8443/convert"`},
		`{"namespace":"team","name":"hook"}`:                               {http.StatusInternalServerError, `service \"hook\" not found`},
	} {
		definition := things(fmt.Sprintf(`{"caBundle":%q,"service":%s}`, base64.StdEncoding.EncodeToString(bundle), service))
		mustDo(t, server, "PATCH", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com?fieldManager=test&force=true", definition, "application/apply-patch+yaml")
		mustDo(t, server, "PATCH", "/apis/example.com/v1/things/a?fieldManager=test", `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"}}`, "application/apply-patch+yaml")
		answer := do(t, server, "GET", "/apis/example.com/v2/things/a", "")
		if answer.code != want.code || !strings.Contains(string(answer.body), want.body) {
			t.Errorf("service %s: %d %s; want %d with %s", service, answer.code, answer.body, want.code, want.body)
		}
	}
}

// Lists convert each object that they have once, and those that they leave out not at all. Other reads convert anew.
func TestConversionsOfList(t *testing.T) {
	var conversions atomic.Int32
	convert := converts(t)
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		conversions.Add(1)
		convert(w, req)
	}))
	defer hook.Close()
	server := start(t, fakeapi.Options{})
	client := fmt.Sprintf(`{"url":%q,"caBundle":%q}`, hook.URL, base64.StdEncoding.EncodeToString(certificateOf(hook)))
	mustDo(t, server, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", things(client), "application/json")
	for name, label := range map[string]string{"a": "yes", "b": "yes", "c": "no"} {
		body := fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":%q,"labels":{"listed":%q}}}`, name, label)
		mustDo(t, server, "POST", "/apis/example.com/v1/things", body, "application/json")
	}
	const path = "/apis/example.com/v2/things"
	for _, read := range []struct {
		path string
		want int32
	}{
		{path + "?labelSelector=listed%3Dyes&limit=1", 1},
		{path + "?labelSelector=listed%3Dyes", 1},
		{path + "?fieldSelector=metadata.name%3Dc", 1},
		{path, 0},
		{path + "/a", 1},
		{path + "/a", 1},
		{"/apis/example.com/v1/things", 0},
	} {
		conversions.Store(0)
		if answer := do(t, server, "GET", read.path, ""); answer.code != http.StatusOK || conversions.Load() != read.want {
			t.Errorf("GET %s: %d with %d conversions, want %d\n%s", read.path, answer.code, conversions.Load(), read.want, answer.body)
		}
	}
	mustDo(t, server, "PATCH", "/apis/example.com/v1/things/a", `{"by":"hand"}`, "application/merge-patch+json")
	conversions.Store(0)
	if answer := do(t, server, "GET", path, ""); conversions.Load() != 1 || !strings.Contains(string(answer.body), `"generation":2`) {
		t.Errorf("after a change: %d conversions, want 1\n%s", conversions.Load(), answer.body)
	}
}

// certificateOf is the certificate of a test server, which vouches for itself.
func certificateOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// things is a definition of things in two versions, with that client configuration of a conversion webhook.
func things(client string) string {
	return fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"},"spec":{
		"group":"example.com","scope":"Cluster","names":{"plural":"things","kind":"Thing"},
		"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":%s}},
		"versions":[
			{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"by":{"type":"string"}}}}},
			{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{"by":{"type":"string"}}}}}]}}`, client)
}

// mustDo sends a request that must succeed.
func mustDo(t *testing.T, server *fakeapi.Server, method, path, body, contentType string) {
	t.Helper()
	if answer := do(t, server, method, path, body, "Content-Type", contentType); answer.code >= http.StatusBadRequest {
		t.Fatalf("%s %s: %d %s", method, path, answer.code, answer.body)
	}
}
