package hook

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// Servers are the webhook servers of one case. They record calls in one sequence. Their methods may be called from several
// goroutines.
type Servers struct {
	pool    *Pool
	segment string // of their URLs' paths
	ctx     context.Context
	cancel  context.CancelFunc

	mu     sync.Mutex
	byPath map[string]*server // by the second segment of the path
	calls  []*Call            // since the last Drain, in order of arrival
	came   chan struct{}      // closed when the next call arrives
	active int                // calls in progress
	idle   chan struct{}      // closed when active falls to 0
}

// server is one webhook server.
type server struct {
	name    string
	config  ClientConfig
	respond responder
	calls   int64
	// converts tells that it is a conversion webhook.
	converts bool
}

// responder decides what is answered to a call, the number of which at the server is given. An error is the suite's failure.
type responder interface {
	respond(ctx context.Context, call *Call, number int64) (*response, error)
	close()
}

// response is an HTTP response.
type response struct {
	code     int
	headers  map[string]string
	body     []byte
	delay    time.Duration
	waitFor  []string // servers that must have been called first
	truncate int64    // close the connection after so many bytes of the body; 0 means never
	close    bool     // close it without an answer
}

func newServers(p *Pool, segment string) *Servers {
	ctx, cancel := context.WithCancel(context.Background())
	return &Servers{pool: p, segment: segment, ctx: ctx, cancel: cancel, byPath: map[string]*server{}, came: make(chan struct{})}
}

// add adds a server that has nothing to answer yet.
func (s *Servers) add(name string, config ClientConfig) error {
	path := pathSegment(name)
	if other, taken := s.byPath[path]; taken {
		return fmt.Errorf("its URL would be that of webhook %s", other.name)
	}
	s.byPath[path] = &server{name: name, config: config, respond: unscripted{}}
	return nil
}

// ClientConfigs tells how API servers reach each server.
func (s *Servers) ClientConfigs() map[string]ClientConfig {
	s.mu.Lock()
	defer s.mu.Unlock()
	configs := make(map[string]ClientConfig, len(s.byPath))
	for _, server := range s.byPath {
		configs[server.name] = server.config
	}
	return configs
}

// Script makes the servers answer as the webhooks of their names say. An error names the webhook and the answer that
// is wrong.
func (s *Servers) Script(webhooks map[string]fixtures.Webhook) error {
	for _, name := range slices.Sorted(maps.Keys(webhooks)) {
		respond, err := newScript(webhooks[name])
		if err != nil {
			return fmt.Errorf("webhook %s: %w", name, err)
		}
		if err := s.set(name, respond); err != nil {
			return err
		}
	}
	return nil
}

// Forward makes the server called name pass reviews on to the webhook at url. trust says whose certificate must be shown
// there, and who must vouch for it; nil means that of url's host, and the system's authorities.
func (s *Servers) Forward(name, url string, trust *tls.Config) error {
	forward, err := newForward(url, trust)
	if err != nil {
		return fmt.Errorf("webhook %s: %w", name, err)
	}
	return s.set(name, forward)
}

func (s *Servers) set(name string, respond responder) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	server, found := s.byPath[pathSegment(name)]
	if !found || server.name != name {
		return fmt.Errorf("webhook %s: no such server has been opened", name)
	}
	server.respond.close()
	server.respond = respond
	_, server.converts = respond.(conversion)
	return nil
}

// Drain waits until no call is in progress and returns the calls since the last Drain, in order of their arrival.
func (s *Servers) Drain(ctx context.Context) ([]Call, error) {
	for {
		s.mu.Lock()
		if s.active == 0 {
			calls := make([]Call, len(s.calls))
			for i, call := range s.calls {
				calls[i] = *call
			}
			s.calls = nil
			s.mu.Unlock()
			return calls, nil
		}
		active, idle := s.active, s.idle
		s.mu.Unlock()
		select {
		case <-idle:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the end of %d webhook calls: %w", active, context.Cause(ctx))
		}
	}
}

// Close ends the servers: their paths are gone, and calls in progress are cut off.
func (s *Servers) Close() {
	s.pool.forget(s)
	s.end()
}

// end cuts calls off and closes what the responders hold.
func (s *Servers) end() {
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, server := range s.byPath {
		server.respond.close()
	}
}

// serve answers and records a call of the server under that segment of the path; false when there is none.
func (s *Servers) serve(w http.ResponseWriter, r *http.Request, path string) bool {
	call := &Call{
		Received:   time.Now(),
		Headers:    r.Header.Clone(),
		URL:        "https://" + r.Host + r.URL.RequestURI(),
		Protocol:   r.Proto,
		ServerName: r.TLS.ServerName,
	}
	call.Headers.Set("Host", r.Host)
	respond, number, found := s.begin(path, call)
	if !found {
		return false
	}
	defer s.finish(call)

	ctx, cancel := context.WithCancel(r.Context()) // it ends when the caller goes away
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()

	var err error
	if call.Raw, err = io.ReadAll(r.Body); err != nil {
		call.Abandoned = true
		panic(http.ErrAbortHandler)
	}
	if utiljson.Unmarshal(call.Raw, &call.Review) != nil {
		call.Review = nil
	}
	answer, err := respond.respond(ctx, call, number)
	if err != nil {
		if ctx.Err() != nil {
			call.Abandoned = true
			panic(http.ErrAbortHandler)
		}
		call.Err = err
		answer = &response{code: http.StatusInternalServerError, body: []byte(err.Error())}
	}
	if !s.await(ctx, answer.waitFor) {
		call.Abandoned = true
		panic(http.ErrAbortHandler)
	}
	answer.write(ctx, w, call)
	return true
}

// await waits until each of the named servers has been called since the last Drain; false when the caller goes first.
func (s *Servers) await(ctx context.Context, names []string) bool {
	for {
		s.mu.Lock()
		missing := slices.ContainsFunc(names, func(name string) bool {
			return !slices.ContainsFunc(s.calls, func(call *Call) bool { return call.Hook == name })
		})
		came := s.came
		s.mu.Unlock()
		if !missing {
			return true
		}
		select {
		case <-came:
		case <-ctx.Done():
			return false
		}
	}
}

// begin records that a call has arrived.
func (s *Servers) begin(path string, call *Call) (responder, int64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	server, found := s.byPath[path]
	if !found || s.ctx.Err() != nil {
		return nil, 0, false
	}
	call.Hook, call.Conversion = server.name, server.converts
	server.calls++
	s.calls = append(s.calls, call)
	close(s.came)
	s.came = make(chan struct{})
	if s.active == 0 {
		s.idle = make(chan struct{})
	}
	s.active++
	return server.respond, server.calls, true
}

// finish records that a call has been answered.
func (s *Servers) finish(call *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call.Answered = time.Now()
	s.active--
	if s.active == 0 {
		close(s.idle)
	}
}

// write sends the response and records what was sent.
func (a *response) write(ctx context.Context, w http.ResponseWriter, call *Call) {
	if a.delay > 0 {
		select {
		case <-time.After(a.delay):
		case <-ctx.Done():
			call.Abandoned = true
			panic(http.ErrAbortHandler)
		}
	}
	if a.close {
		panic(http.ErrAbortHandler) // net/http closes the connection
	}
	w.Header().Set("Content-Type", "application/json")
	for name, value := range a.headers {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(a.body)))
	w.WriteHeader(a.code)
	call.Code, call.Answer = a.code, a.body
	if a.truncate == 0 {
		if _, err := w.Write(a.body); err != nil {
			call.Abandoned = true
		}
		return
	}
	call.Answer = a.body[:min(a.truncate, int64(len(a.body)))]
	_, _ = w.Write(call.Answer)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// unscripted is the responder of a server that has not been told what to answer.
type unscripted struct{}

func (unscripted) respond(context.Context, *Call, int64) (*response, error) {
	return nil, fmt.Errorf("the webhook server was called before it was told what to answer")
}

func (unscripted) close() {}
