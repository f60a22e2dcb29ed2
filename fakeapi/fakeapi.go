package fakeapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/intree"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/audit"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/serve"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

// Server is a running API server. Its methods may be called from several goroutines.
type Server struct {
	options   Options
	identity  *serve.Identity
	tokens    *serve.Tokens
	admin     string // the administrator's token
	listener  *serve.Listener
	store     *store.Store
	recorder  *audit.Recorder
	decisions *serve.Decisions
	// release undoes what Start bound to its context.
	release func() bool
	// loaded tells that the objects of the options are there.
	loaded atomic.Bool

	mu      sync.Mutex
	running *instance // nil when stopped
}

// Start starts a server. It serves when Start returns, until Stop is called or ctx is done.
func Start(ctx context.Context, options Options) (*Server, error) {
	s, err := newServer(options)
	if err != nil {
		return nil, err
	}
	if s.options.InMemory {
		s.listener = serve.ListenInMemory()
	} else if s.listener, err = serve.Listen(ctx, s.options.Address); err != nil {
		return nil, err
	}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.listener.Close())
	}
	if err := s.load(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	s.loaded.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release = context.AfterFunc(ctx, s.Stop)
	return s, nil
}

// newServer makes what lasts over restarts.
func newServer(options Options) (*Server, error) {
	if options.InMemory && options.Address != "" {
		return nil, fmt.Errorf("options: Address is %q of a server that is InMemory", options.Address)
	}
	if options.Address == "" {
		options.Address = "127.0.0.1:0"
	}
	if options.History == 0 {
		options.History = defaultHistory
	}
	known := intree.Names()
	for i, name := range options.AdmissionPlugins {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("options: AdmissionPlugins[%d] is %q: want one of %s", i, name, strings.Join(known, ", "))
		}
	}
	host, _, err := net.SplitHostPort(options.Address)
	if err != nil {
		return nil, fmt.Errorf("options: Address %q is not host:port: %w", options.Address, err)
	}
	identity, err := serve.NewIdentity(host)
	if err != nil {
		return nil, err
	}
	admin := serve.RandomToken()
	users := map[string]user.Info{admin: &user.DefaultInfo{Name: "admin", Groups: []string{user.SystemPrivilegedGroup}}}
	for i, u := range options.Users {
		if u.Token == "" || u.Name == "" {
			return nil, fmt.Errorf("options: Users[%d] needs a Token and a Name", i)
		}
		if _, taken := users[u.Token]; taken {
			return nil, fmt.Errorf("options: Users[%d], %q, has the token of another user", i, u.Name)
		}
		users[u.Token] = &user.DefaultInfo{Name: u.Name, UID: u.UID, Groups: u.Groups, Extra: u.Extra}
	}
	recording := audit.RecorderOptions{Requests: options.History, Log: options.AuditLog, Logger: options.Logger}
	if options.Clock != nil {
		recording.Clock = options.Clock
	}
	return &Server{
		options:   options,
		identity:  identity,
		tokens:    serve.NewTokens(users),
		admin:     admin,
		store:     store.New(store.Options{Revision: options.FirstResourceVersion}),
		recorder:  audit.NewRecorder(recording),
		decisions: serve.NewDecisions(options.History, options.Explain),
	}, nil
}

// Stop ends the server and all connections to it, watches too. It returns when nothing of the server runs any more. It
// may be called more than once.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		return
	}
	if s.release != nil {
		s.release()
	}
	s.running.stop()
	s.running = nil
	_ = s.listener.Close() // nobody serves on it any more
}

// start starts the first instance, over a new store.
func (s *Server) start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run(ctx, true)
}

// Restart stops the server and starts it again at the same address, over the same objects and with the same
// credentials. Connections end; watches go on where they were when clients ask for them again.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		return fmt.Errorf("restarting: %w", errStopped)
	}
	s.running.server.Leave()
	s.running.stop()
	s.running = nil
	if err := s.run(ctx, false); err != nil {
		return errors.Join(fmt.Errorf("restarting: %w", err), s.listener.Close())
	}
	return nil
}

// RESTConfig returns a configuration for clients of the administrator, who is in the group system:masters. The copy is
// the caller's.
func (s *Server) RESTConfig() *rest.Config {
	config := s.anonymousConfig()
	config.BearerToken = s.admin
	return config
}

// UserConfig returns a configuration for clients of another user, who authenticates by a client certificate. What the
// user may do is up to roles and bindings.
func (s *Server) UserConfig(name string, groups ...string) (*rest.Config, error) {
	certificate, key, err := s.identity.ClientCertificate(name, groups)
	if err != nil {
		return nil, err
	}
	config := s.anonymousConfig()
	config.CertData, config.KeyData = certificate, key
	return config, nil
}

func (s *Server) anonymousConfig() *rest.Config {
	return &rest.Config{
		Host:            "https://" + s.listener.Address(),
		TLSClientConfig: rest.TLSClientConfig{CAData: s.identity.CertificateAuthority()},
		Dial:            s.listener.Dial(),
		// No limit on the client's side: the server has none either.
		QPS: -1,
	}
}

// Decisions returns what admission decided on the request with that Audit-ID (a header of its response): one record, or
// one for each object of a deletecollection. There are none when the request did not come to admission, or is not among
// the latest.
func (s *Server) Decisions(auditID string) []decision.Record { return s.decisions.Records(auditID) }

// AuditEvents returns the audit events of the request with that Audit-ID that there are so far, in order of their stages.
// The last one, of stage ResponseComplete, may come a little later than the response.
func (s *Server) AuditEvents(auditID string) []auditv1.Event { return s.recorder.Events(auditID) }

// Version is the version that the server gives itself, a gitVersion such as v1.37.2+gatehouse.
func (s *Server) Version() string { return serve.Version().GitVersion }
