package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/memconn"
)

// Listener is an open port, or the like in memory. It outlives the servers that serve on it, one after the other: while
// there is none, clients wait.
type Listener struct {
	port port
	// memory is the port, if it is one in memory.
	memory *memconn.Listener
}

// port is what listeners have in common.
type port interface {
	net.Listener
	// SetDeadline says when Accept gives up; never for the zero time.
	SetDeadline(time.Time) error
}

// Listen opens the address, host:port; port 0 takes a free one.
func Listen(ctx context.Context, address string) (*Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening on %q: %w", address, err)
	}
	return &Listener{port: listener.(*net.TCPListener)}, nil
}

// memoryAddress is what clients of a server in memory call it. It is in its certificate, and no proxy stands before it.
const memoryAddress = "localhost"

// ListenInMemory returns a listener without a port, which its Dial alone reaches.
func ListenInMemory() *Listener {
	memory := memconn.Listen(memoryAddress)
	return &Listener{port: memory, memory: memory}
}

// Dial returns how clients connect, whatever address they are given; nil for those of a port.
func (l *Listener) Dial() func(ctx context.Context, network, address string) (net.Conn, error) {
	if l.memory == nil {
		return nil
	}
	return func(ctx context.Context, _, _ string) (net.Conn, error) { return l.memory.Dial(ctx) }
}

// Address returns host and port, or but a name for a listener in memory.
func (l *Listener) Address() string { return l.port.Addr().String() }

// Close closes the port.
func (l *Listener) Close() error { return l.port.Close() }

// lend returns the listener for one server, which may close it.
func (l *Listener) lend() net.Listener {
	_ = l.port.SetDeadline(time.Time{}) // fails when closed, as Accept will then
	return &lent{port: l.port}
}

// lent is a listener whose Close ends Accept and leaves the port open.
type lent struct {
	port
	closed atomic.Bool
}

func (l *lent) Accept() (net.Conn, error) {
	conn, err := l.port.Accept()
	if errors.Is(err, os.ErrDeadlineExceeded) && l.closed.Load() {
		return nil, net.ErrClosed
	}
	return conn, err
}

func (l *lent) Close() error {
	if l.closed.Swap(true) {
		return net.ErrClosed
	}
	return l.SetDeadline(time.Unix(1, 0))
}
