package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// Listener is an open port. It outlives the servers that serve on it, one after the other: while there is none, clients
// wait.
type Listener struct{ tcp *net.TCPListener }

// Listen opens the address, host:port; port 0 takes a free one.
func Listen(ctx context.Context, address string) (*Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening on %q: %w", address, err)
	}
	return &Listener{listener.(*net.TCPListener)}, nil
}

// Address returns host and port.
func (l *Listener) Address() string { return l.tcp.Addr().String() }

// Close closes the port.
func (l *Listener) Close() error { return l.tcp.Close() }

// lend returns the listener for one server, which may close it.
func (l *Listener) lend() net.Listener {
	_ = l.tcp.SetDeadline(time.Time{}) // fails when closed, as Accept will then
	return &lent{TCPListener: l.tcp}
}

// lent is a listener whose Close ends Accept and leaves the port open.
type lent struct {
	*net.TCPListener
	closed atomic.Bool
}

func (l *lent) Accept() (net.Conn, error) {
	conn, err := l.TCPListener.Accept()
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
