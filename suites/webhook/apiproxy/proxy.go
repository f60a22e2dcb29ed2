// Package apiproxy stands between a webhook and the API server and writes down every request that the webhook makes, so
// that the same is seen on every API server.
package apiproxy

import (
	"crypto/tls"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Request is a request that the webhook made.
type Request struct {
	// At is when it came in.
	At time.Time
	// Method and Path are those of HTTP; the path is without its query.
	Method, Path string
	// DryRun tells that the request writes nothing.
	DryRun bool
	// Code is the status of the answer; 0 while there is none.
	Code int
}

// String is the request line.
func (r Request) String() string { return r.Method + " " + r.Path }

// Writes tells that the request was to change something. Reviews of access and of tokens change nothing, and leases are
// renewed at all times by those who elect a leader.
func (r Request) Writes() bool {
	if slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, r.Method) || r.DryRun {
		return false
	}
	return !strings.HasPrefix(r.Path, "/apis/authorization.k8s.io/") && !strings.HasPrefix(r.Path, "/apis/authentication.k8s.io/") &&
		!strings.Contains(r.Path, "/leases")
}

// Proxy is a running proxy.
type Proxy struct {
	address string
	roots   []byte
	token   string
	server  *http.Server
	served  chan struct{}
	back    *http.Transport

	mu       sync.Mutex
	requests []*Request
}

// Start starts a proxy to an API server. Requests reach it as whom token stands for, whatever credentials they come with.
// certificate and bundle are those of the proxy, for 127.0.0.1.
func Start(to *rest.Config, token string, certificate tls.Certificate, bundle []byte) (*Proxy, error) {
	base, _, err := rest.DefaultServerUrlFor(to)
	if err != nil {
		return nil, fmt.Errorf("proxy of the API server: %w", err)
	}
	tlsConfig, err := rest.TLSConfigFor(rest.AnonymousClientConfig(to))
	if err != nil {
		return nil, fmt.Errorf("proxy of the API server: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy of the API server: %w", err)
	}
	p := &Proxy{
		address: l.Addr().String(), roots: bundle, token: token, served: make(chan struct{}),
		back: &http.Transport{TLSClientConfig: tlsConfig, MaxIdleConnsPerHost: 64},
	}
	quiet := log.New(nowhere{}, "", 0)
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: base.Scheme, Host: base.Host, Path: strings.TrimSuffix(base.Path, "/")})
			r.Out.Host = base.Host
			r.Out.Header.Set("Authorization", "Bearer "+token)
		},
		Transport:     p.back,
		FlushInterval: -1, // watches
		ErrorLog:      quiet,
	}
	p.server = &http.Server{
		Handler:   p.record(forward),
		ErrorLog:  quiet,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"http/1.1"}},
	}
	go func() { // it ends with Stop
		defer close(p.served)
		_ = p.server.ServeTLS(l, "", "")
	}()
	return p, nil
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

func (p *Proxy) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := &Request{At: time.Now(), Method: r.Method, Path: r.URL.Path, DryRun: r.URL.Query().Has("dryRun")}
		p.mu.Lock()
		p.requests = append(p.requests, request)
		p.mu.Unlock()
		seen := &codeWriter{ResponseWriter: w, seen: func(code int) {
			p.mu.Lock()
			defer p.mu.Unlock()
			request.Code = code
		}}
		next.ServeHTTP(seen, r)
	})
}

// codeWriter tells the status that is written.
type codeWriter struct {
	http.ResponseWriter
	seen func(int)
}

func (w *codeWriter) WriteHeader(code int) {
	w.seen(code)
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController, by which watches are flushed and connections upgraded.
func (w *codeWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Requests returns the requests since the start, in order.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Request, len(p.requests))
	for i, r := range p.requests {
		all[i] = *r
	}
	return all
}

// RESTConfig is for clients in this process.
func (p *Proxy) RESTConfig() *rest.Config {
	return &rest.Config{
		Host: "https://" + p.address, BearerToken: p.token, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: p.roots},
	}
}

// Kubeconfig is a kubeconfig file for a process.
func (p *Proxy) Kubeconfig() ([]byte, error) {
	const name = "gatehouse"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + p.address, CertificateAuthorityData: p.roots}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: p.token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return clientcmd.Write(*config)
}

// Stop ends the proxy and all connections through it.
func (p *Proxy) Stop() error {
	err := p.server.Close()
	<-p.served
	p.back.CloseIdleConnections()
	return err
}
