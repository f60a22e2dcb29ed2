package serve

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"
)

// runServer serves a handler until the test ends and returns the server and its URL.
func runServer(t *testing.T, handler func(stopping context.Context) http.Handler) (*Server, *Identity, string) {
	t.Helper()
	identity, err := NewIdentity("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := Run(listener, identity, logr.Discard(), handler)
	t.Cleanup(func() {
		server.Stop()
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	})
	return server, identity, "https://" + listener.Address()
}

func httpClient(t *testing.T, identity *Identity, http2 bool) *http.Client {
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: identity.clientAuthorities()},
		ForceAttemptHTTP2: http2,
	}
	if !http2 {
		transport.TLSClientConfig.NextProtos = []string{"http/1.1"}
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// A request that is under way when the server stops is answered, and the connection closed after that.
func TestStopLetsRequestsFinish(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(name, func(t *testing.T) {
			entered := make(chan struct{})
			server, identity, url := runServer(t, func(stopping context.Context) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					close(entered)
					<-stopping.Done()
					_, _ = io.WriteString(w, req.Proto)
				})
			})
			go func() {
				<-entered
				server.Stop()
			}()
			response, err := httpClient(t, identity, http2).Get(url)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close() // read below
			if body, err := io.ReadAll(response.Body); err != nil || string(body) != name {
				t.Errorf("got %q, %v; want %q", body, err, name)
			}
			server.Stop()
		})
	}
}

// A client that comes while one server has gone and the next has not come is answered by the next.
func TestListenerOutlivesServers(t *testing.T) {
	identity, err := NewIdentity("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	named := func(name string) func(context.Context) http.Handler {
		return func(context.Context) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) })
		}
	}
	Run(listener, identity, logr.Discard(), named("first")).Stop()

	answered := make(chan string)
	client := httpClient(t, identity, true)
	go func() {
		response, err := client.Get("https://" + listener.Address())
		if err != nil {
			answered <- err.Error()
			return
		}
		defer response.Body.Close() // read below
		body, _ := io.ReadAll(response.Body)
		answered <- string(body)
	}()
	second := Run(listener, identity, logr.Discard(), named("second"))
	if got := <-answered; got != "second" {
		t.Errorf("got %q, want an answer of the second server", got)
	}
	second.Stop()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if response, err := client.Get("https://" + listener.Address()); err == nil {
		_ = response.Body.Close()
		t.Error("a closed listener answers")
	}
}

// Stop returns only when the handlers have.
func TestStopWaitsForHandlers(t *testing.T) {
	entered, left := make(chan struct{}), make(chan struct{})
	server, identity, url := runServer(t, func(stopping context.Context) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
			defer close(left)
			close(entered)
			<-stopping.Done()
			panic(http.ErrAbortHandler)
		})
	})
	go func() { _, _ = httpClient(t, identity, true).Get(url) }() // there is no answer
	<-entered
	server.Stop()
	select {
	case <-left:
	default:
		t.Error("Stop returned while a handler was running")
	}
}

func TestStoppingEndsLongRunningRequestsAlone(t *testing.T) {
	tests := map[string]struct {
		info  request.RequestInfo
		ended bool
	}{
		"watch":  {request.RequestInfo{Verb: "watch", IsResourceRequest: true, Resource: "pods"}, true},
		"exec":   {request.RequestInfo{Verb: "create", IsResourceRequest: true, Resource: "pods", Subresource: "exec"}, true},
		"create": {request.RequestInfo{Verb: "create", IsResourceRequest: true, Resource: "pods"}, false},
		"path":   {request.RequestInfo{Verb: "get", Path: "/version"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stopping, stop := context.WithCancel(t.Context())
			stop()
			ended := false
			handler := withStopping(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
				if test.ended {
					<-req.Context().Done()
				}
				ended = req.Context().Err() != nil
			}), stopping)
			req, err := http.NewRequestWithContext(request.WithRequestInfo(t.Context(), &test.info), http.MethodGet, "/", nil)
			if err != nil {
				t.Fatal(err)
			}
			handler.ServeHTTP(nil, req)
			if ended != test.ended {
				t.Errorf("ended %v, want %v", ended, test.ended)
			}
		})
	}
}

func TestPanicRecovery(t *testing.T) {
	var told []string
	logger := funcr.New(func(_, args string) { told = append(told, args) }, funcr.Options{})
	_, identity, url := runServer(t, func(context.Context) http.Handler {
		return withLogger(withPanicRecovery(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("no way") })), logger)
	})
	response, err := httpClient(t, identity, true).Get(url + "/there")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() // read below
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusInternalServerError || !strings.Contains(string(body), "This request caused apiserver to panic") {
		t.Errorf("got %d %q, %v", response.StatusCode, body, err)
	}
	if len(told) != 1 || !strings.Contains(told[0], "no way") || !strings.Contains(told[0], "/there") {
		t.Errorf("the logger heard %q", told)
	}
}

func TestLoggerOfTheContext(t *testing.T) {
	told := ""
	logger := funcr.New(func(_, args string) { told = args }, funcr.Options{})
	handler := withLogger(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		klog.FromContext(req.Context()).Info("hello")
	}), logger)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	handler.ServeHTTP(nil, req)
	if !strings.Contains(told, "hello") {
		t.Errorf("the logger heard %q", told)
	}
}
