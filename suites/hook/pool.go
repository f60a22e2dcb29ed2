package hook

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// Pool is the listeners and certificates of the webhook servers of one process. Its methods may be called from
// several goroutines.
//
// All servers share one port, and differ by the path of their URLs, except that those with a fault in their certificate, those
// that refuse connections and those that offer HTTP/2 have a port for each of these. A server is asked for by the name that its certificate must bear, so
// it serves any name by which an API server calls it: its address, or that of a Service.
type Pool struct {
	address address
	ours    *authority
	other   *authority // one that nobody is told of

	mu     sync.Mutex
	doors  map[door]*listener
	cases  map[string]*Servers // by the first segment of their path
	opened int
	closed bool
}

// door is a kind of port.
type door string

const (
	sound     door = ""
	wrongName door = door(fixtures.TLSWrongName)
	expired   door = door(fixtures.TLSExpired)
	refusing  door = "refusing"
	http2     door = "http2"
)

// listener is an open port.
type listener struct {
	port  int
	close func() error
}

// NewPool makes a pool whose servers are reached at address: HOST (any free port), HOST:PORT or HOST:FIRST-LAST, where
// HOST is the name or IP address that API servers use for this machine. On a loopback HOST it listens there, else on
// every interface.
func NewPool(address string) (*Pool, error) {
	parsed, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	ours, err := newAuthority("gatehouse webhooks")
	if err != nil {
		return nil, err
	}
	other, err := newAuthority("another authority")
	if err != nil {
		return nil, err
	}
	return &Pool{address: parsed, ours: ours, other: other, doors: map[door]*listener{}, cases: map[string]*Servers{}}, nil
}

// Open opens one webhook server for each of webhooks. Of these it reads TLS, Refuse and HTTP2 alone: until Script is called, the
// servers answer with status 500. The id, such as a case's, becomes part of the URLs.
func (p *Pool) Open(id string, webhooks map[string]fixtures.Webhook) (*Servers, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("open webhook servers: the pool is closed")
	}
	p.opened++
	s := newServers(p, fmt.Sprintf("%s-%d", pathSegment(id), p.opened))
	for name, webhook := range webhooks {
		config, err := p.clientConfig(s.segment, name, webhook)
		if err != nil {
			return nil, fmt.Errorf("webhook %s: %w", name, err)
		}
		if err := s.add(name, config); err != nil {
			return nil, fmt.Errorf("webhook %s: %w", name, err)
		}
	}
	p.cases[s.segment] = s
	return s, nil
}

var notInSegments = regexp.MustCompile(`[^a-zA-Z0-9.]+`)

// pathSegment makes of an id what can be one segment of a URL's path.
func pathSegment(id string) string {
	return strings.Trim(notInSegments.ReplaceAllString(id, "-"), "-.")
}

// clientConfig opens the door for a webhook server and says how it is reached. The caller holds the lock.
func (p *Pool) clientConfig(segment, name string, webhook fixtures.Webhook) (ClientConfig, error) {
	bundle, through := p.ours.bundle, sound
	switch webhook.TLS {
	case "":
	case fixtures.TLSUnknownCA:
		bundle = p.other.bundle
	case fixtures.TLSWrongName, fixtures.TLSExpired:
		through = door(webhook.TLS)
	default:
		return ClientConfig{}, fmt.Errorf("tls is %q; want %s, %s or %s",
			webhook.TLS, fixtures.TLSUnknownCA, fixtures.TLSWrongName, fixtures.TLSExpired)
	}
	if webhook.HTTP2 && through == sound {
		through = http2
	}
	if webhook.Refuse {
		through = refusing
	}
	opened, err := p.open(through)
	if err != nil {
		return ClientConfig{}, err
	}
	path := "/" + segment + "/" + pathSegment(name)
	return ClientConfig{
		URL:      "https://" + net.JoinHostPort(p.address.host, strconv.Itoa(opened.port)) + path,
		CABundle: slices.Clone(bundle),
		Host:     p.address.host,
		Port:     opened.port,
		Path:     path,
	}, nil
}

// open opens a port, or returns the one that is open. The caller holds the lock.
func (p *Pool) open(d door) (*listener, error) {
	if opened, found := p.doors[d]; found {
		return opened, nil
	}
	var opened *listener
	err := p.address.open(func(hostPort string) (err error) {
		if d == refusing {
			opened, err = reserve(hostPort)
		} else {
			opened, err = p.listen(d, hostPort)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	p.doors[d] = opened
	return opened, nil
}

// listen serves HTTPS at the address.
func (p *Pool) listen(d door, hostPort string) (*listener, error) {
	certificate, err := p.certificates(d)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", hostPort)
	if err != nil {
		return nil, err
	}
	// With HTTP/1.1 alone, closing a connection hits one call.
	protocols := []string{"http/1.1"}
	if d == http2 {
		protocols = []string{"h2", "http/1.1"}
	}
	server := &http.Server{
		Handler:   http.HandlerFunc(p.serve),
		ErrorLog:  log.New(quiet{}, "", 0),
		TLSConfig: &tls.Config{GetCertificate: certificate, NextProtos: protocols},
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.ServeTLS(l, "", "") // it ends with Close
	}()
	return &listener{
		port: l.Addr().(*net.TCPAddr).Port,
		close: func() error {
			err := server.Close()
			<-served
			return err
		},
	}, nil
}

// quiet swallows what net/http logs: failed handshakes are what some servers are for.
type quiet struct{}

func (quiet) Write(p []byte) (int, error) { return len(p), nil }

// certificates returns the choice of the certificate behind a door.
func (p *Pool) certificates(d door) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	always := func(c *tls.Certificate, err error) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
		return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c, nil }, err
	}
	switch d {
	case wrongName:
		return always(p.ours.serving("wrong-name.invalid"))
	case expired:
		return always(p.ours.expired(p.address.host))
	}
	return func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if hello.ServerName != "" {
			return p.ours.serving(hello.ServerName)
		}
		return p.ours.serving(p.address.host) // IP addresses are not told
	}, nil
}

// serve hands a call to the server of its path.
func (p *Pool) serve(w http.ResponseWriter, r *http.Request) {
	segment, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	name, _, _ := strings.Cut(rest, "/")
	p.mu.Lock()
	s := p.cases[segment]
	p.mu.Unlock()
	if s == nil || !s.serve(w, r, name) {
		http.NotFound(w, r)
	}
}

// forget takes a case's servers off.
func (p *Pool) forget(s *Servers) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.cases, s.segment)
}

// Close ends every server of the pool.
func (p *Pool) Close() error {
	p.mu.Lock()
	doors := p.doors
	p.doors, p.closed = nil, true
	cases := p.cases
	p.cases = map[string]*Servers{}
	p.mu.Unlock()
	for _, s := range cases {
		s.end()
	}
	var errs []error
	for _, d := range doors {
		errs = append(errs, d.close())
	}
	return errors.Join(errs...)
}
