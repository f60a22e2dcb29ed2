// Package remote hands a target over to other processes: the one that owns the target serves it on a Unix socket, the
// others connect to that and to the API server itself. It is how the shards of a conformance run share one server.
package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/suites/target"
)

// Handover is what another process needs to use a target. It holds an administrator's credentials.
type Handover struct {
	// Socket is the path of the Unix socket on which the target's owner answers.
	Socket string `json:"socket"`
	// Kubeconfig is the administrator's connection to the API server, as a kubeconfig file's content.
	Kubeconfig []byte `json:"kubeconfig"`
	// Info, Needs and HookAddress are what Info, Can and HookAddress of the target.Target return.
	Info        target.Info     `json:"info"`
	Needs       []fixtures.Need `json:"needs"`
	HookAddress string          `json:"hookAddress"`
}

// Owner serves a target to other processes.
type Owner struct {
	handover Handover
	dir      string
	server   *http.Server
	done     chan struct{}
}

// Serve offers the target to other processes of the same user until Close.
func Serve(t target.Target) (*Owner, error) {
	kubeconfig, err := kubeconfigOf(t.RESTConfig())
	if err != nil {
		return nil, fmt.Errorf("handing over the target: %w", err)
	}
	dir, err := os.MkdirTemp("", "gatehouse-") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("handing over the target: %w", err)
	}
	socket := filepath.Join(dir, "target")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("handing over the target: %w", err)
	}
	o := &Owner{
		handover: Handover{Socket: socket, Kubeconfig: kubeconfig, Info: t.Info(), Needs: t.Can().UnsortedList(), HookAddress: t.HookAddress()},
		dir:      dir,
		server:   &http.Server{Handler: handler(t), ReadHeaderTimeout: time.Minute},
		done:     make(chan struct{}),
	}
	go func() {
		defer close(o.done)
		_ = o.server.Serve(listener) // ends with ErrServerClosed
	}()
	return o, nil
}

// Handover returns what another process passes to Connect.
func (o *Owner) Handover() Handover { return o.handover }

// Close ends the service. The target goes on.
func (o *Owner) Close() error {
	err := o.server.Close()
	<-o.done
	if removal := os.RemoveAll(o.dir); err == nil {
		err = removal
	}
	return err
}

// The paths of the service, and what is sent and comes back as JSON.
const (
	settlePath  = "/settle"  // []schema.GroupResource
	auditPath   = "/audit"   // an Audit-ID; []auditv1.Event
	storePath   = "/store"   // an object
	restartPath = "/restart" // null
	explainPath = "/explain" // an Audit-ID; a string
	logsPath    = "/logs"    // null; a string
)

func handler(t target.Target) http.Handler {
	mux := http.NewServeMux()
	handle(mux, settlePath, func(ctx context.Context, resources []schema.GroupResource) (struct{}, error) {
		return struct{}{}, t.Settle(ctx, resources...)
	})
	handle(mux, auditPath, func(ctx context.Context, auditID string) ([]auditv1.Event, error) {
		return t.AuditEvents(ctx, auditID)
	})
	handle(mux, storePath, func(ctx context.Context, object json.RawMessage) (struct{}, error) {
		return struct{}{}, t.StoreRaw(ctx, object)
	})
	handle(mux, restartPath, func(ctx context.Context, _ struct{}) (struct{}, error) {
		return struct{}{}, t.Restart(ctx)
	})
	handle(mux, explainPath, func(_ context.Context, auditID string) (string, error) { return t.Explain(auditID), nil })
	handle(mux, logsPath, func(context.Context, struct{}) (string, error) { return t.Logs(), nil })
	return mux
}

// handle serves a function: its argument is the request's body, its result the answer's, an error the text of a 500.
func handle[In, Out any](mux *http.ServeMux, path string, f func(context.Context, In) (Out, error)) {
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		var in In
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		out, err := f(r.Context(), in)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(out) // fails when the caller is gone
	})
}
