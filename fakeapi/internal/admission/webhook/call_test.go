package webhook

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/clock"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/services"
)

type sideEffectClass = admissionregistrationv1.SideEffectClass

// certificate makes a self-signed certificate and returns it with the caBundle that trusts it.
func certificate(t *testing.T, change func(*x509.Certificate)) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "webhook"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	change(template)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// serve starts an HTTPS server; the certificate is that of httptest where change is nil.
func serve(t *testing.T, handler http.HandlerFunc, change func(*x509.Certificate)) (*httptest.Server, []byte) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if change == nil {
		server.StartTLS()
		t.Cleanup(server.Close)
		return server, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	}
	cert, caBundle := certificate(t, change)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, caBundle
}

// allowing answers every review with allowed.
func allowing(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "no review", http.StatusBadRequest)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": review.APIVersion, "kind": review.Kind, "response": map[string]any{"uid": review.Request.UID, "allowed": true},
	})
}

// saying answers with a status code and a body in which UID stands for the review's.
func saying(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "UID", string(review.Request.UID)))
	}
}

func newOptions(t *testing.T, clients *Clients) *Options {
	t.Cleanup(clients.Close)
	return &Options{Clients: clients, Clock: clock.RealClock{}}
}

// reviewOf is a review as send takes it.
func reviewOf(version string) review {
	body := fmt.Sprintf(`{"apiVersion":"admission.k8s.io/%s","kind":"AdmissionReview","request":{"uid":"u"}}`, version)
	return review{uid: "u", version: version, body: []byte(body)}
}

func hookAt(url string, caBundle []byte) *hook {
	return &hook{name: "w.example.com", timeoutSeconds: ptr(int32(10)), client: clientConfig{url: url, caBundle: string(caBundle)}}
}

func TestSendFailures(t *testing.T) {
	const ok = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"UID","allowed":true}}`
	tests := []struct {
		name    string
		handler http.HandlerFunc
		version string
		status  int
		err     string // part of the error; empty for none
	}{
		{"valid", saying(200, ok), "v1", 200, ""},
		{"201 is as good", saying(201, ok), "v1", 201, ""},
		{"404", saying(404, "nothing here"), "v1", 404, "failed to call webhook: the server could not find the requested resource"},
		{"400", saying(400, "what?"), "v1", 400, "failed to call webhook: the server rejected our request for an unknown reason"},
		{"500", saying(500, "ouch"), "v1", 500, `failed to call webhook: an error on the server ("unknown") has prevented the request from succeeding`},
		{"503", saying(503, ""), "v1", 503, "failed to call webhook: the server is currently unable to handle the request"},
		{"a Status", saying(500, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"my own words","code":500}`), "v1", 500,
			"failed to call webhook: my own words"},
		{"empty", saying(200, ""), "v1", 200, "0-length response with status code: 200 and content type: application/json"},
		{"HTML", saying(200, "<html></html>"), "v1", 200, "couldn't get version/kind; json parse error"},
		{"truncated", saying(200, ok[:60]), "v1", 200, "couldn't get version/kind; json parse error"},
		{"string for a boolean", saying(200, strings.Replace(ok, "true", `"true"`, 1)), "v1", 200, "cannot unmarshal"},
		{"illegal base64", saying(200, strings.Replace(ok, "true", `true,"patch":"%","patchType":"JSONPatch"`, 1)), "v1", 200, "illegal base64 data"},
		{"unknown fields", saying(200, strings.Replace(ok, "true", `true,"other":1`, 1)), "v1", 200, ""},
		{"YAML", saying(200, "apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nresponse: {uid: UID, allowed: true}\n"), "v1", 200, ""},
		{"wrong uid", saying(200, strings.Replace(ok, "UID", "other", 1)), "v1", 200, `received invalid webhook response: expected response.uid="u", got "other"`},
		{"no type", saying(200, `{"response":{"uid":"UID","allowed":true}}`), "v1", 200, "received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind="},
		{"other kind", saying(200, strings.Replace(ok, "AdmissionReview", "Other", 1)), "v1", 200, `no kind "Other" is registered for version "admission.k8s.io/v1"`},
		{"other version", saying(200, strings.Replace(ok, "/v1", "/v1beta1", 1)), "v1", 200, "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion"},
		{"v1beta1", saying(200, strings.Replace(ok, "/v1", "/v1beta1", 1)), "v1beta1", 200, ""},
		{"v1beta1 without type or uid", saying(200, `{"response":{"allowed":true}}`), "v1beta1", 200, ""},
		{"v1 for v1beta1", saying(200, ok), "v1beta1", 200, "unknown conversion"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server, caBundle := serve(t, tt.handler, nil)
			answer, call, err := newOptions(t, NewClients(services.Resolver{})).send(t.Context(), hookAt(server.URL, caBundle), reviewOf(tt.version), true)
			if !strings.Contains(errorText(err), tt.err) || (err == nil) != (tt.err == "") {
				t.Fatalf("error %v, want %q", err, tt.err)
			}
			if err != nil && !strings.HasPrefix(err.Error(), `failed calling webhook "w.example.com": `) {
				t.Errorf("error %v does not name the webhook", err)
			}
			if (answer != nil && answer.allowed) != (tt.err == "") || call.Status != tt.status || call.Error != errorText(err) {
				t.Errorf("answer %+v, call %+v", answer, call)
			}
		})
	}
}

func TestSendTLS(t *testing.T) {
	none := func(*x509.Certificate) {}
	tests := []struct {
		name   string
		change func(*x509.Certificate)
		bundle func([]byte) []byte
		err    string
	}{
		{"good", none, nil, ""},
		{"one of several authorities", none, func(own []byte) []byte {
			_, other := certificate(t, func(c *x509.Certificate) { c.Subject.CommonName = "another" })
			return append(other, own...)
		}, ""},
		{"unknown authority", none, func([]byte) []byte {
			_, other := certificate(t, func(c *x509.Certificate) { c.Subject.CommonName = "another" })
			return other
		}, "x509: certificate signed by unknown authority"},
		{"no caBundle: the system's authorities", none, func([]byte) []byte { return nil }, "x509: certificate signed by unknown authority"},
		{"no certificate in the caBundle", none, func([]byte) []byte { return []byte("nonsense") }, "could not get REST client: unable to load root certificates"},
		{"another address", func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(10, 0, 0, 1)} }, nil, "x509: certificate is valid for 10.0.0.1, not 127.0.0.1"},
		{"expired", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }, nil, "certificate has expired or is not yet valid"},
		{"for clients", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }, nil, "incompatible key usage"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server, caBundle := serve(t, allowing, tt.change)
			if tt.bundle != nil {
				caBundle = tt.bundle(caBundle)
			}
			_, _, err := newOptions(t, NewClients(services.Resolver{})).send(t.Context(), hookAt(server.URL, caBundle), reviewOf("v1"), true)
			if !strings.Contains(errorText(err), tt.err) || (err == nil) != (tt.err == "") {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}

func TestSendRequest(t *testing.T) {
	var got *http.Request
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		allowing(w, r)
	}))
	server.EnableHTTP2 = true
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	caBundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	options := newOptions(t, NewClients(services.Resolver{}))

	for path, want := range map[string]string{"": "/", "/": "/", "/a/b": "/a/b", "/a/": "/a", "//a/../b": "/b"} {
		if _, _, err := options.send(t.Context(), hookAt(server.URL+path, caBundle), reviewOf("v1"), true); err != nil {
			t.Fatal(err)
		}
		if got.URL.Path != want || got.URL.RawQuery != "timeout=10s" || got.Method != http.MethodPost {
			t.Errorf("path %q: %s %s, want %s", path, got.Method, got.URL, want)
		}
	}
	for header, want := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, */*", "User-Agent": "kube-apiserver-admission", "Accept-Encoding": "gzip",
	} {
		if got.Header.Get(header) != want {
			t.Errorf("%s: %q, want %q", header, got.Header.Get(header), want)
		}
	}
	before := connections.Load()
	for range 3 {
		if _, _, err := options.send(t.Context(), hookAt(server.URL, caBundle), reviewOf("v1"), true); err != nil {
			t.Fatal(err)
		}
	}
	if connections.Load() != before {
		t.Errorf("%d new connections, want the old one", connections.Load()-before)
	}
	if got.Proto != "HTTP/2.0" {
		t.Errorf("%s on the loopback, want HTTP/2", got.Proto)
	}
}

func TestSendTimeouts(t *testing.T) {
	block := make(chan struct{})
	server, caBundle := serve(t, func(w http.ResponseWriter, r *http.Request) { <-block }, nil)
	t.Cleanup(func() { close(block) })
	options := newOptions(t, NewClients(services.Resolver{}))

	h := hookAt(server.URL, caBundle)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, call, err := options.send(ctx, h, reviewOf("v1"), true)
	if want := fmt.Sprintf(`failed calling webhook "w.example.com": failed to call webhook: Post "%s/?timeout=1s": context deadline exceeded`, server.URL); errorText(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if call.Status != 0 || wasCanceled(err) {
		t.Errorf("call %+v, canceled %v", call, wasCanceled(err))
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, _, err = options.send(ctx, h, reviewOf("v1"), true); !wasCanceled(err) {
		t.Errorf("error %v, want it to be known as canceled", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	h = hookAt("https://"+listener.Addr().String(), caBundle)
	if _, _, err = options.send(t.Context(), h, reviewOf("v1"), true); !strings.Contains(errorText(err), "connection refused") {
		t.Errorf("error %v, want connection refused", err)
	}
}

func TestSendRetriesAfter(t *testing.T) {
	var calls atomic.Int32
	server, caBundle := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			w.Header().Set("Retry-After", "0")
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		}
		allowing(w, r)
	}, nil)
	if _, _, err := newOptions(t, NewClients(services.Resolver{})).send(t.Context(), hookAt(server.URL, caBundle), reviewOf("v1"), true); err != nil || calls.Load() != 2 {
		t.Errorf("%d calls, error %v", calls.Load(), err)
	}
}

func TestSendToService(t *testing.T) {
	var host, protocol, serverName string
	handler := func(w http.ResponseWriter, r *http.Request) {
		host, protocol, serverName = r.Host, r.Proto, r.TLS.ServerName
		allowing(w, r)
	}
	named := func(name string) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = []string{name}, nil }
	}
	server, caBundle := serve(t, handler, named("hook.ns.svc"))
	address := server.Listener.Addr().String()
	config := newClientConfig(&admissionregistrationv1.WebhookClientConfig{
		CABundle: caBundle,
		Service:  &admissionregistrationv1.ServiceReference{Namespace: "ns", Name: "hook", Path: ptr("/here")},
	})
	h := &hook{name: "w.example.com", client: config}

	_, call, err := newOptions(t, NewClients(services.Resolver{Addresses: map[string]string{"ns/hook": address}})).send(t.Context(), h, reviewOf("v1"), false)
	if err != nil {
		t.Fatal(err)
	}
	if host != "hook.ns.svc:443" || protocol != "HTTP/1.1" || serverName != "hook.ns.svc" || call.URL != "https://hook.ns.svc:443/here?timeout=30s" {
		t.Errorf("Host %s, %s, SNI %s, URL %s", host, protocol, serverName, call.URL)
	}
	_, _, err = newOptions(t, NewClients(services.Resolver{})).send(t.Context(), h, reviewOf("v1"), false)
	if want := `Post "https://hook.ns.svc:443/here?timeout=30s": service "hook" not found`; !strings.Contains(errorText(err), want) {
		t.Errorf("error %v, want %s", err, want)
	}
	other, caBundle := serve(t, handler, named("other.ns.svc"))
	h.client.caBundle = string(caBundle)
	_, _, err = newOptions(t, NewClients(services.Resolver{Addresses: map[string]string{"ns/hook": other.Listener.Addr().String()}})).send(t.Context(), h, reviewOf("v1"), false)
	if want := "x509: certificate is valid for other.ns.svc, not hook.ns.svc"; !strings.Contains(errorText(err), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestProtocols(t *testing.T) {
	for url, http2 := range map[string]bool{
		"https://localhost:1/": true, "https://LOCALHOST": true, "https://127.0.0.5:1": true, "https://[::1]:1": true,
		"https://example.com": false, "https://10.0.0.1": false,
	} {
		server, err := clientConfig{url: url}.server()
		if err != nil || (server.protocols == nil) != http2 {
			t.Errorf("%s: %v, %v; HTTP/2 %v", url, server.protocols, err, http2)
		}
	}
}
