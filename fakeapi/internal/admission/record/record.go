// Package record gathers the decision record of an API request while the request is served. As with warnings and audit
// annotations, the server puts a Log for the request into its context; the chain begins a Pass in it, and each stage
// reports to that what it did.
package record

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/audit"

	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
)

// Log holds what was decided in one API request.
type Log struct {
	mu      sync.Mutex
	entries []*entry
}

// entry is the decision on one object; a deletecollection has one for each.
type entry struct {
	record  decision.Record
	attempt int
}

type logKey struct{}

// With returns a context that carries a new log for one API request.
func With(ctx context.Context) (context.Context, *Log) {
	log := &Log{}
	return context.WithValue(ctx, logKey{}, log), log
}

// Records returns what was decided, to be read when the request has ended: one record, or one per object of a
// deletecollection, in the order in which they came to admission; none for a request that did not.
func (l *Log) Records() []decision.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	records := make([]decision.Record, len(l.entries))
	for i, e := range l.entries {
		records[i] = e.record
		records[i].Steps = slices.Clone(e.record.Steps)
	}
	return records
}

// Pass is one run of the mutating or of the validating half of the chain. A nil Pass records nothing.
type Pass struct {
	log   *Log
	entry *entry
	phase decision.Phase
	round int
}

// Begin begins a pass of the chain over a request. A mutating pass begins a new attempt, a validating one goes on with
// the attempt of the mutating pass. It is nil where the context has no log.
func Begin(ctx context.Context, a admission.Attributes, phase decision.Phase) *Pass {
	log, ok := ctx.Value(logKey{}).(*Log)
	if !ok {
		return nil
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	name := objectName(a)
	e := log.find(a, name)
	if e == nil {
		e = &entry{record: decision.Record{Request: request(a, name)}}
		if id, ok := audit.AuditIDFrom(ctx); ok {
			e.record.AuditID = string(id)
		}
		log.entries = append(log.entries, e)
	}
	if e.record.Request.Name == "" {
		e.record.Request.Name = name // generated since the mutating pass
	}
	if phase == decision.Mutating || e.attempt == 0 {
		e.attempt++
	}
	return &Pass{log: log, entry: e, phase: phase}
}

// find returns the entry that a pass over the request belongs to.
func (l *Log) find(a admission.Attributes, name string) *entry {
	for _, e := range slices.Backward(l.entries) {
		r := e.record.Request
		if r.Operation == string(a.GetOperation()) && r.Resource == a.GetResource() && r.Subresource == a.GetSubresource() &&
			r.Namespace == a.GetNamespace() && (r.Name == name || r.Name == "") {
			return e
		}
	}
	return nil
}

func request(a admission.Attributes, name string) decision.Request {
	r := decision.Request{
		Operation:   string(a.GetOperation()),
		Resource:    a.GetResource(),
		Subresource: a.GetSubresource(),
		Kind:        a.GetKind(),
		Namespace:   a.GetNamespace(),
		Name:        name,
		DryRun:      a.IsDryRun(),
	}
	if user := a.GetUserInfo(); user != nil {
		r.User = user.GetName()
	}
	return r
}

// objectName is the request's name, else that of the object, which a deletecollection gives no name for.
func objectName(a admission.Attributes) string {
	if name := a.GetName(); name != "" || a.GetOldObject() == nil {
		return name
	}
	accessor, err := meta.Accessor(a.GetOldObject())
	if err != nil {
		return ""
	}
	return accessor.GetName()
}

// Reinvoke begins the second round of a mutating pass.
func (p *Pass) Reinvoke() {
	if p != nil {
		p.round++
	}
}

// End ends the pass with the error that the chain refused the request with, or nil.
func (p *Pass) End(err error) {
	if p == nil {
		return
	}
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	p.entry.record.Allowed, p.entry.record.Error = err == nil, ""
	if err != nil {
		p.entry.record.Error = err.Error()
	}
}

// Report adds steps to the pass and fills in their attempt, phase and round.
func (p *Pass) Report(steps ...decision.Step) {
	if p == nil {
		return
	}
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	record := &p.entry.record
	reported := len(record.Steps)
	record.Steps = append(record.Steps, steps...)
	for i := range record.Steps[reported:] {
		step := &record.Steps[reported+i]
		step.Attempt, step.Phase, step.Round = p.entry.attempt, p.phase, p.round
	}
}
