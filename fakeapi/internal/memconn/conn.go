package memconn

import (
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// capacity is how many bytes may be under way in one direction before a writer waits.
const capacity = 64 << 10

// pair returns the two ends of a connection.
func pair(address net.Addr) (near, far *conn) {
	there, back := newStream(), newStream()
	return &conn{address: address, in: back, out: there}, &conn{address: address, in: there, out: back}
}

// conn is one end of a connection. Both ends have the address of the listener.
type conn struct {
	address net.Addr
	in, out *stream
}

var _ net.Conn = (*conn)(nil)

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.failed("read", err)
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	return n, c.failed("write", err)
}

// Close ends both directions. The peer can still read what was written.
func (c *conn) Close() error {
	c.in.closeReader()
	c.out.closeWriter()
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return c.address }
func (c *conn) RemoteAddr() net.Addr { return c.address }

func (c *conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t) // neither fails
	return c.SetWriteDeadline(t)
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.reading, t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.out.setDeadline(&c.out.writing, t)
	return nil
}

// failed says which operation failed. The end of the stream is no failure.
func (c *conn) failed(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: c.address.Network(), Addr: c.address, Err: err}
}

// stream is one direction of a connection.
type stream struct {
	mu      sync.Mutex
	changed sync.Cond
	data    bytes.Buffer
	// closedReader and closedWriter tell which sides are closed.
	closedReader, closedWriter bool
	reading, writing           deadline
}

func newStream() *stream {
	s := &stream{}
	s.changed.L = &s.mu
	return s
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.closedReader:
			return 0, net.ErrClosed
		case s.reading.passed:
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case s.data.Len() > 0:
			s.changed.Broadcast()
			return s.data.Read(p)
		case s.closedWriter:
			return 0, io.EOF
		}
		s.changed.Wait()
	}
}

func (s *stream) write(p []byte) (written int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch room := capacity - s.data.Len(); {
		case s.closedWriter:
			return written, net.ErrClosed
		case s.closedReader:
			return written, io.ErrClosedPipe
		case s.writing.passed:
			return written, os.ErrDeadlineExceeded
		case len(p) <= room:
			n, _ := s.data.Write(p) // does not fail
			s.changed.Broadcast()
			return written + n, nil
		case room > 0:
			n, _ := s.data.Write(p[:room])
			written, p = written+n, p[n:]
			s.changed.Broadcast()
		}
		s.changed.Wait()
	}
}

// closeReader drops what was not read.
func (s *stream) closeReader() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closedReader = true
	s.data = bytes.Buffer{}
	s.reading.set(time.Time{}, &s.changed)
}

func (s *stream) closeWriter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closedWriter = true
	s.writing.set(time.Time{}, &s.changed)
}

func (s *stream) setDeadline(d *deadline, t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.set(t, &s.changed)
}

// deadline is a time after which an operation gives up. The lock of the condition guards it.
type deadline struct {
	passed bool
	timer  *time.Timer
}

// set sets the deadline, or removes it with the zero time, and wakes who waits for the condition, now and when the
// deadline passes.
func (d *deadline) set(t time.Time, changed *sync.Cond) {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	left := time.Until(t)
	d.passed = !t.IsZero() && left <= 0
	if !t.IsZero() && left > 0 {
		var timer *time.Timer
		timer = time.AfterFunc(left, func() {
			changed.L.Lock()
			defer changed.L.Unlock()
			if d.timer == timer { // else it was set again meanwhile
				d.passed = true
				changed.Broadcast()
			}
		})
		d.timer = timer
	}
	changed.Broadcast()
}
