package hook

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

const configMapReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1","operation":"CREATE",
	"object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"probe","labels":{"a":"b"}},"data":{"n":"1"}},"oldObject":null,"options":null}}`

func openPool(t *testing.T, address string) *Pool {
	t.Helper()
	pool, err := NewPool(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return pool
}

// open opens and scripts the servers of a case.
func open(t *testing.T, pool *Pool, webhooks map[string]fixtures.Webhook) *Servers {
	t.Helper()
	servers, err := pool.Open("area/case.yaml:row", webhooks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(servers.Close)
	if err := servers.Script(webhooks); err != nil {
		t.Fatal(err)
	}
	return servers
}

// clientFor is a client that trusts what the config says, as an API server does. It calls the server under another name
// where serverName is given.
func clientFor(t *testing.T, config ClientConfig, serverName string) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(config.CABundle) {
		t.Fatalf("the CA bundle %q holds no certificate", config.CABundle)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: serverName}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// post calls a webhook and returns the code and the body.
func post(t *testing.T, client *http.Client, url, body string) (int, string, http.Header, error) {
	t.Helper()
	response, err := client.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), response.Header, err
}

func drain(t *testing.T, servers *Servers) []Call {
	t.Helper()
	calls, err := servers.Drain(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

func pointer[T any](v T) *T { return &v }

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var decoded map[string]any
	if err := json.Unmarshal([]byte(text), &decoded); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return decoded
}

func waitUntil(t *testing.T, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it never was so")
		}
	}
}

func isError[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}
