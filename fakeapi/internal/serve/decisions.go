package serve

import (
	"fmt"
	"io"
	"net/http"
	"sync"

	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/record"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/recent"
)

// Decisions keeps the admission decisions on the latest requests.
type Decisions struct {
	logs *recent.Log[*record.Log]

	mu      sync.Mutex // guards explain, so that records are whole
	explain io.Writer
}

// NewDecisions keeps the decisions on the latest requests, at most that many, and writes each to explain in plain words
// when its request ends; explain may be nil.
func NewDecisions(requests int, explain io.Writer) *Decisions {
	return &Decisions{logs: recent.New[*record.Log](requests), explain: explain}
}

// Records returns what was decided on the request with that Audit-ID: one record, one for each object of a
// deletecollection, none for a request that did not come to admission.
func (d *Decisions) Records(auditID string) []decision.Record {
	var records []decision.Record
	for _, log := range d.logs.Get(auditID) {
		records = append(records, log.Records()...)
	}
	return records
}

// filter opens a log for each request that may come to admission. It can be read from the start: the client may ask for
// it as soon as it has the response, which can be before the handler has returned.
func (d *Decisions) filter(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if info, ok := request.RequestInfoFrom(req.Context()); !ok || !mayBeAdmitted(info) {
			next.ServeHTTP(w, req)
			return
		}
		ctx, log := record.With(req.Context())
		if id, ok := audit.AuditIDFrom(ctx); ok {
			d.logs.Add(string(id), log)
		}
		defer d.write(log)
		next.ServeHTTP(w, req.WithContext(ctx))
	})
}

// mayBeAdmitted is false for plain reads. A read of a subresource may be a connection, such as an exec.
func mayBeAdmitted(info *request.RequestInfo) bool {
	if !info.IsResourceRequest {
		return false
	}
	switch info.Verb {
	case "list", "watch":
		return false
	case "get":
		return info.Subresource != ""
	default:
		return true
	}
}

func (d *Decisions) write(log *record.Log) {
	if d.explain == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, decided := range log.Records() {
		fmt.Fprintln(d.explain, decision.Explain(decided))
	}
}
