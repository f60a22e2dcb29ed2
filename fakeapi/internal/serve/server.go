package serve

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

const (
	// shutdownGrace is how long requests that are under way may take when the server stops.
	shutdownGrace = 5 * time.Second
	// flushGrace is for the end of an answer: an HTTP/2 connection counts as idle a moment before it is sent.
	flushGrace = 2 * time.Millisecond
)

// Server is a listening HTTPS server.
type Server struct {
	http        *http.Server
	listener    net.Listener
	connections connections
	requests    gate
	stopping    context.CancelFunc
	cancel      context.CancelFunc
	served      chan struct{}
	stop        sync.Once
}

// Run serves what handler makes on the listener until Stop, which leaves the listener open. The context that the handler
// is made with is done when the server stops; it is for long-running requests.
func Run(listener *Listener, identity *Identity, logger logr.Logger, handler func(stopping context.Context) http.Handler) *Server {
	stopping, stop := context.WithCancel(context.Background())
	base, cancel := context.WithCancel(context.Background())
	s := &Server{listener: listener.lend(), stopping: stop, cancel: cancel, served: make(chan struct{})}
	s.http = &http.Server{
		Handler:           s.requests.guard(handler(stopping)),
		TLSConfig:         identity.tlsConfig(),
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnState:         s.connections.track,
		ReadHeaderTimeout: 32 * time.Second,
		ErrorLog:          slog.NewLogLogger(logr.ToSlogHandler(logger), slog.LevelDebug),
	}
	go func() {
		defer close(s.served)
		if err := s.http.ServeTLS(s.listener, "", ""); stopping.Err() == nil {
			logger.Error(err, "serving", "address", listener.Address())
		}
	}()
	return s
}

// Stop ends watches and other long-running requests, lets the rest finish for a moment, and closes all connections. It
// returns when nothing of the server runs any more. It may be called more than once.
//
// It is not [http.Server.Shutdown], which keeps an idle HTTP/2 connection for a second.
func (s *Server) Stop() {
	s.stop.Do(func() {
		s.stopping()
		_ = s.listener.Close() // fails when closed already
		select {
		case <-s.connections.quiet():
			time.Sleep(flushGrace)
		case <-time.After(shutdownGrace):
		}
		s.cancel()
		_ = s.http.Close() // fails where a connection is closed already
		s.requests.close()
	})
	<-s.served
}

// farewell is how long clients have to hear that the server goes.
const farewell = 50 * time.Millisecond

// Leave tells clients that the server goes, for one that comes back: those who have heard it do not send their next
// request into a connection that is about to be closed. Stop must follow.
func (s *Server) Leave() {
	s.stopping()
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	_ = s.http.Shutdown(ctx) // Stop does what time did not allow
}

// connections knows which connections have requests under way.
type connections struct {
	mu     sync.Mutex
	active map[net.Conn]bool
	// idle is closed when none is active, if someone waits for that.
	idle chan struct{}
}

// track is told of every change of a connection's state.
func (c *connections) track(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state == http.StateActive {
		if c.active == nil {
			c.active = map[net.Conn]bool{}
		}
		c.active[conn] = true
		return
	}
	delete(c.active, conn)
	c.tell()
}

// quiet returns a channel that is closed as soon as no connection has a request under way.
func (c *connections) quiet() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	idle := make(chan struct{})
	c.idle = idle
	c.tell()
	return idle
}

func (c *connections) tell() {
	if c.idle != nil && len(c.active) == 0 {
		close(c.idle)
		c.idle = nil
	}
}

// gate counts the requests inside, and lets none in any more when closed.
type gate struct {
	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup
}

func (g *gate) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !g.enter() {
			panic(http.ErrAbortHandler) // the connection is closed already
		}
		defer g.inside.Done()
		next.ServeHTTP(w, req)
	})
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.inside.Add(1)
	return true
}

// close returns when the last request has left.
func (g *gate) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.inside.Wait()
}
