// Package subject runs the server of a webhook that is on trial: a command that is started and ended, a handler in this
// process, or a server that runs already.
package subject

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

// Subject is the running server of a webhook.
type Subject struct {
	// Address is HOST:PORT, where reviews are sent to.
	Address string
	// Roots vouch for the server's certificate; nil means the system's authorities.
	Roots *x509.CertPool
	// ServerName is a name that the certificate may bear in the place of that of the registration: the host of a url.
	ServerName string
	// Dir is the working directory, which the webhook should leave as it is; "" when it is not known.
	Dir string

	memory    func() (uint64, error)
	rotate    func() error
	terminate func() error
	stop      func() error
	log       func() string
	ended     func() error
}

// ErrNotOurs is the error of what can only be done with a process that Gatehouse started.
var ErrNotOurs = errors.New("the webhook's process was not started by Gatehouse")

// Memory is the resident memory of the process in bytes.
func (s *Subject) Memory() (uint64, error) {
	if s.memory == nil {
		return 0, ErrNotOurs
	}
	return s.memory()
}

// Rotate replaces the files of the certificate by new ones, of the same authority.
func (s *Subject) Rotate() error {
	if s.rotate == nil {
		return ErrNotOurs
	}
	return s.rotate()
}

// Terminate asks the process to end (SIGTERM) and returns at once.
func (s *Subject) Terminate() error {
	if s.terminate == nil {
		return ErrNotOurs
	}
	return s.terminate()
}

// Log is the end of what the process wrote; "" where it is not known.
func (s *Subject) Log() string {
	if s.log == nil {
		return ""
	}
	return s.log()
}

// Ended is why the process is no longer there; nil while it runs, and for one that Gatehouse did not start.
func (s *Subject) Ended() error {
	if s.ended == nil {
		return nil
	}
	return s.ended()
}

// Stop ends what was started. It may be called more than once.
func (s *Subject) Stop() error {
	if s.stop == nil {
		return nil
	}
	return s.stop()
}

// Connect is a server that runs at a URL; ca is PEM, nil for the system's authorities. It is an error when nobody listens
// there.
func Connect(ctx context.Context, to string, ca []byte) (*Subject, error) {
	u, err := url.Parse(to)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), "443")
	}
	s := &Subject{Address: host, ServerName: u.Hostname()}
	if ca != nil {
		s.Roots = x509.NewCertPool()
		if !s.Roots.AppendCertsFromPEM(ca) {
			return nil, errors.New("ca: the file holds no certificate in PEM")
		}
	}
	connection, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, fmt.Errorf("url: %s: %w; start the webhook's server first, or say how Gatehouse starts it (run)", to, err)
	}
	return s, connection.Close()
}

// Handle serves a handler with a certificate for the names. dir is what the handler should leave as it is; "" for none.
func Handle(handler http.Handler, authority *Authority, names []string, dir string) (*Subject, error) {
	certificate, err := authority.Certificate(names...)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve the webhook: %w", err)
	}
	written := &tail{}
	server := &http.Server{
		Handler:   handler,
		ErrorLog:  log.New(written, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"http/1.1"}},
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.ServeTLS(l, "", "") // it ends with Close
	}()
	return &Subject{
		Address: l.Addr().String(), Roots: authority.Pool(), Dir: dir,
		log: written.String,
		stop: func() error {
			err := server.Close()
			<-served
			return err
		},
	}, nil
}

// FreePort returns a port of loopback that nobody listens on now.
func FreePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// tempDir makes a directory and says how it is removed.
func tempDir() (dir string, remove func() error, err error) {
	dir, err = os.MkdirTemp("", "gatehouse-webhook-*")
	return dir, func() error { return os.RemoveAll(dir) }, err
}
