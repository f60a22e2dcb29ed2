package exchange_test

import (
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/exchange"
)

func TestPost(t *testing.T) {
	const answer = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u","allowed":false,"status":{"code":500,"message":"no"}}}`
	body := func(code int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, text)
		}
	}
	for _, test := range []struct {
		name    string
		handler http.HandlerFunc
		fault   exchange.Fault
	}{
		{"an answer", body(200, answer), exchange.None},
		{"another status", body(500, "broken"), exchange.Status},
		{"no JSON", body(200, "allowed"), exchange.Body},
		{"nothing", body(200, ""), exchange.Body},
		{"a panic", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, exchange.Closed},
		{"too late", func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, exchange.Late},
	} {
		t.Run(test.name, func(t *testing.T) {
			timeout := time.Minute
			if test.fault == exchange.Late {
				timeout = time.Second
			}
			asked := make(chan string, 1)
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- r.Method + " " + r.URL.RequestURI() + " " + r.Header.Get("Content-Type")
				test.handler(w, r)
			}))
			t.Cleanup(server.Close)
			roots := x509.NewCertPool()
			roots.AddCert(server.Certificate())
			client := exchange.NewClient(server.Listener.Addr().String(), "example.com", roots)
			t.Cleanup(client.Close)
			x := client.Post(t.Context(), "/validate", timeout, []byte(`{}`))
			if x.Fault != test.fault || (x.Problem == "") != (x.Fault == exchange.None) {
				t.Errorf("fault %q (%s), want %q", x.Fault, x.Problem, test.fault)
			}
			if got, want := <-asked, "POST /validate?timeout="+timeout.String()+" application/json"; got != want {
				t.Errorf("asked %q, want %q", got, want)
			}
			if test.fault == exchange.None && (!x.Denied() || !x.Errored() || x.Message() != "no" || x.Allowed()) {
				t.Errorf("answer %+v", x.Answer)
			}
		})
	}
}

func TestPostToNobody(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	address := server.Listener.Addr().String()
	for _, test := range []struct {
		name  string
		fault exchange.Fault
		setup func()
	}{
		{"a certificate that nobody vouches for", exchange.Certificate, func() {}},
		{"nobody", exchange.Unreachable, server.Close},
	} {
		test.setup()
		client := exchange.NewClient(address, "example.com", x509.NewCertPool())
		if x := client.Post(t.Context(), "/", time.Minute, []byte(`{}`)); x.Fault != test.fault {
			t.Errorf("%s: fault %q (%s), want %q", test.name, x.Fault, x.Problem, test.fault)
		}
		client.Close()
	}
}

func TestApply(t *testing.T) {
	const object = `{"metadata":{"name":"a"}}`
	for _, test := range []struct{ name, patch, want string }{
		{"a patch", `[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`, `{"metadata":{"name":"a","labels":{"a":"b"}}}`},
		{"a missing parent", `[{"op":"add","path":"/metadata/labels/a","value":"b"}]`, ""},
		{"no list", `{"op":"add"}`, ""},
		{"no JSON", `[`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := exchange.Apply([]byte(test.patch), []byte(object))
			if (err == nil) != (test.want != "") || err == nil && !exchange.Same(got, []byte(test.want)) {
				t.Errorf("got %s, %v, want %s", got, err, test.want)
			}
		})
	}
}
