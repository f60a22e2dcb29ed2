package memconn

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Listener accepts the connections that Dial makes.
type Listener struct {
	address net.Addr

	mu      sync.Mutex
	changed sync.Cond
	// waiting are the ends of dialled connections that nobody has accepted.
	waiting  []*conn
	closed   bool
	deadline deadline
}

// Listen returns a listener of the address, which is but a name.
func Listen(address string) *Listener {
	l := &Listener{address: addr(address)}
	l.changed.L = &l.mu
	return l
}

// Dial makes a connection. It does not wait until it is accepted, as with a port.
func (l *Listener) Dial(ctx context.Context) (net.Conn, error) {
	refuse := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: l.address.Network(), Addr: l.address, Err: err}
	}
	if err := ctx.Err(); err != nil {
		return refuse(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return refuse(os.NewSyscallError("connect", syscall.ECONNREFUSED))
	}
	near, far := pair(l.address)
	l.waiting = append(l.waiting, far)
	l.changed.Broadcast()
	return near, nil
}

// Accept waits for a connection.
func (l *Listener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		switch {
		case l.closed:
			return nil, l.failed(net.ErrClosed)
		case l.deadline.passed:
			return nil, l.failed(os.ErrDeadlineExceeded)
		case len(l.waiting) > 0:
			accepted := l.waiting[0]
			l.waiting = l.waiting[1:]
			return accepted, nil
		}
		l.changed.Wait()
	}
}

// SetDeadline says when Accept gives up; never for the zero time.
func (l *Listener) SetDeadline(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return l.failed(net.ErrClosed)
	}
	l.deadline.set(t, &l.changed)
	return nil
}

// Close ends Accept, and the connections that were not accepted.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return l.failed(net.ErrClosed)
	}
	l.closed = true
	l.deadline.set(time.Time{}, &l.changed)
	for _, waiting := range l.waiting {
		_ = waiting.Close() // does not fail the first time
	}
	l.waiting = nil
	return nil
}

// Addr returns the listener's address.
func (l *Listener) Addr() net.Addr { return l.address }

func (l *Listener) failed(err error) error {
	return &net.OpError{Op: "accept", Net: l.address.Network(), Addr: l.address, Err: err}
}

// addr is an address in memory.
type addr string

func (addr) Network() string  { return "memory" }
func (a addr) String() string { return string(a) }
