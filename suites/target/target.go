// Package target gives the suites an API server to test: the built-in fakeapi, a real kube-apiserver started through
// envtest, or any cluster by kubeconfig. It starts the server, says what it can do, and observes it from beside.
package target

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// Target is an API server under test. Its methods may be called from several goroutines.
type Target interface {
	// Info names the server for reports.
	Info() Info
	// RESTConfig returns a copy of the configuration of an administrator (group system:masters).
	RESTConfig() *rest.Config
	// Can tells what the target can do or show, of the fixtures' closed list.
	Can() sets.Set[fixtures.Need]
	// HookAddress is where the API server reaches webhook servers that listen on this machine, in the form that
	// hook.NewPool takes: HOST, HOST:PORT or HOST:FIRST-LAST. It is empty when there is no way.
	HookAddress() string
	// Settle waits until every write made before the call to objects of the given resources has taken effect on
	// admission and authorization: configurations, policies and bindings of admissionregistration.k8s.io, namespaces,
	// roles and bindings of rbac.authorization.k8s.io, priority classes, custom resource definitions; any other
	// resource is taken for one whose objects are params of policies. It may call webhooks that match Leases in a
	// namespace of the suite's own.
	Settle(ctx context.Context, resources ...schema.GroupResource) error
	// AuditEvents returns the events of the request with that Audit-ID, in order of their stages; it waits for the
	// ResponseComplete stage. The target must have fixtures.NeedAudit.
	AuditEvents(ctx context.Context, auditID string) ([]auditv1.Event, error)
	// StoreRaw writes a JSON object to the store under its kind and name, past the API. The target must have
	// fixtures.NeedRawStore.
	StoreRaw(ctx context.Context, object []byte) error
	// Restart stops the API server and starts it again over the same store. The target must have fixtures.NeedRestart.
	Restart(ctx context.Context) error
	// Explain tells in plain words how the server decided on the request with that Audit-ID; "" where the target
	// keeps no decision records.
	Explain(auditID string) string
	// Logs returns the end of the API server's log, for a report about a server that died; "" where there is none.
	Logs() string
	// Stop ends what the target started. It may be called more than once.
	Stop() error
}

// Recorder is a Target that keeps records of its decisions.
type Recorder interface {
	// Decisions returns what admission decided on the request with that Audit-ID: one record, or one for each object of a
	// deletecollection.
	Decisions(auditID string) []decision.Record
}

// Info names a target.
type Info struct {
	// Name is fakeapi, envtest or kubeconfig.
	Name string `json:"name"`
	// Version is the server's gitVersion, such as v1.37.2.
	Version string `json:"version"`
	// Server is the server's URL; empty for servers that the suite started.
	Server string `json:"server,omitempty"`
	// Flags are the flags that the suite started the server with.
	Flags []string `json:"flags,omitempty"`
}
