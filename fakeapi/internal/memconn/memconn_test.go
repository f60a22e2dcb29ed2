package memconn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// dialled returns the two ends of a connection.
func dialled(t *testing.T) (client, server net.Conn) {
	t.Helper()
	listener := Listen("here")
	client, err := listener.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server, err = listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return client, server
}

// What is written into one end comes out of the other, also more than fits in between.
func TestTransfer(t *testing.T) {
	client, server := dialled(t)
	sent := bytes.Repeat([]byte("gatehouse "), capacity/4)
	go func() {
		_, _ = client.Write(sent) // what did not arrive is seen below
		_ = client.Close()
	}()
	received, err := io.ReadAll(server)
	if err != nil || !bytes.Equal(received, sent) {
		t.Errorf("%d bytes arrived of %d: %v", len(received), len(sent), err)
	}
}

func TestFailures(t *testing.T) {
	tests := map[string]struct {
		do   func(client, server net.Conn) error
		want error
	}{
		"read from a closed end": {func(client, _ net.Conn) error { _ = client.Close(); return read(client) }, net.ErrClosed},
		"write to a closed end":  {func(client, _ net.Conn) error { _ = client.Close(); return write(client, 1) }, net.ErrClosed},
		"write to who has left":  {func(client, server net.Conn) error { _ = server.Close(); return write(client, 1) }, io.ErrClosedPipe},
		"read from who has left": {func(client, server net.Conn) error { _ = server.Close(); return read(client) }, io.EOF},
		"read after the deadline": {func(client, _ net.Conn) error {
			_ = client.SetReadDeadline(time.Now().Add(time.Minute))
			return read(client)
		}, os.ErrDeadlineExceeded},
		"write after the deadline": {func(client, _ net.Conn) error {
			_ = client.SetDeadline(time.Now().Add(time.Minute))
			return write(client, capacity+1)
		}, os.ErrDeadlineExceeded},
		"read with a deadline in the past": {func(client, _ net.Conn) error {
			_ = client.SetDeadline(time.Unix(1, 0))
			return read(client)
		}, os.ErrDeadlineExceeded},
		"a deadline that was taken back": {func(client, server net.Conn) error {
			_ = client.SetDeadline(time.Now().Add(time.Minute))
			_ = client.SetDeadline(time.Time{})
			time.Sleep(time.Hour)
			_ = write(server, 1)
			return read(client)
		}, nil},
		"closed while reading": {func(client, _ net.Conn) error {
			go func() { time.Sleep(time.Minute); _ = client.Close() }()
			return read(client)
		}, net.ErrClosed},
		"closed while writing": {func(client, server net.Conn) error {
			go func() { time.Sleep(time.Minute); _ = server.Close() }()
			return write(client, capacity+1)
		}, io.ErrClosedPipe},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := dialled(t)
				if err := test.do(client, server); !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
				_, _ = client.Close(), server.Close()
			})
		})
	}
}

func read(c net.Conn) error { _, err := c.Read(make([]byte, 1)); return err }

func write(c net.Conn, size int) error { _, err := c.Write(make([]byte, size)); return err }

func TestListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := Listen("here")
		if err := listener.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := listener.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Accept after the deadline: %v", err)
		}
		if err := listener.SetDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := listener.Dial(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("Dial with a context that is done: %v", err)
		}
		unaccepted, err := listener.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		if err := read(unaccepted); err != io.EOF {
			t.Errorf("reading from a connection that was not accepted: %v", err)
		}
		_, err = listener.Dial(t.Context())
		if want := "dial memory here: connect: connection refused"; !errors.Is(err, syscall.ECONNREFUSED) || err.Error() != want {
			t.Errorf("Dial: %v, want %s", err, want)
		}
		for name, err := range map[string]error{
			"Accept":      func() error { _, err := listener.Accept(); return err }(),
			"SetDeadline": listener.SetDeadline(time.Time{}),
			"Close":       listener.Close(),
		} {
			if !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s of a closed listener: %v", name, err)
			}
		}
	})
}
