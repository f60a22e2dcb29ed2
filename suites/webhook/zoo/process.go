package zoo

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/gatehouse-dev/gatehouse/suites/webhook"
)

// Process is how an animal runs as a program of its own.
type Process struct {
	// Address is where to serve.
	Address string
	// CertDir holds tls.crt and tls.key.
	CertDir string
	// Handler is the webhook.
	Handler http.Handler
}

// Main runs an animal until it is asked to end, as the process of a trial.
func (a Animal) Main(p Process) error {
	p.Handler = a.handler(webhook.Environment{})
	if a.Serve != nil {
		return a.Serve(p)
	}
	return p.good()
}

// good serves as a good webhook does: with the certificate as it is in the files now, and to the end of each review.
func (p Process) good() error {
	return p.serve(p.fromFiles(), (*http.Server).Shutdown)
}

// fromFiles reads the certificate at each handshake.
func (p Process) fromFiles() *tls.Config {
	return &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		certificate, err := p.load()
		return &certificate, err
	}}
}

func (p Process) load() (tls.Certificate, error) {
	return tls.LoadX509KeyPair(filepath.Join(p.CertDir, "tls.crt"), filepath.Join(p.CertDir, "tls.key"))
}

// serve serves until SIGTERM, and ends as end does; nil ends at once.
func (p Process) serve(config *tls.Config, end func(*http.Server, context.Context) error) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	config.NextProtos = []string{"http/1.1"}
	server := &http.Server{Addr: p.Address, Handler: p.Handler, TLSConfig: config}
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		if end == nil {
			ended <- server.Close()
			return
		}
		limit, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		ended <- end(server, limit)
	}()
	if err := server.ListenAndServeTLS("", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}

// processAnimals have a fault that only a process can have.
func processAnimals() []Animal {
	return []Animal{
		tlsAnimal(),
		{Rule: "contract.availability.graceful-shutdown", Name: "drops everything on SIGTERM", Process: true, Serve: func(p Process) error {
			return p.serve(p.fromFiles(), nil)
		}},
		{Rule: "contract.availability.cert-rotation", Name: "reads its certificate once", Process: true, Serve: func(p Process) error {
			certificate, err := p.load()
			if err != nil {
				return err
			}
			return p.serve(&tls.Config{Certificates: []tls.Certificate{certificate}}, (*http.Server).Shutdown)
		}},
		{Rule: "contract.time.memory", Name: "remembers every request", Process: true, Handler: remembering},
	}
}

// remembering keeps 32 KiB of each request.
func remembering(webhook.Environment) http.Handler {
	var mu sync.Mutex
	var kept [][]byte
	return serve(func(q *request) *admissionv1.AdmissionResponse {
		memory := make([]byte, 32<<10)
		for i := 0; i < len(memory); i += 4 << 10 { // a page that is not written to is not resident
			memory[i] = 1
		}
		mu.Lock()
		kept = append(kept, memory)
		mu.Unlock()
		return good(q)
	})
}
