package target

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

const (
	// auditLogSize is how much of the audit log is kept in memory, in bytes; the oldest requests go first.
	auditLogSize = 32 << 20
	// auditWait is how long AuditEvents waits for the end of a request. The API server writes its last event
	// right after the response.
	auditWait = 10 * time.Second
)

// auditLog is a writer of audit events in JSON lines, which finds the events of a request.
type auditLog struct {
	mu       sync.Mutex
	partial  []byte
	requests map[string]*auditedRequest
	order    []*auditedRequest // by first event
	size     int               // bytes of all events
	limit    int               // of size
}

// auditedRequest are the events of one request, as written.
type auditedRequest struct {
	id     string
	lines  [][]byte
	ended  bool
	end    chan struct{} // closed when ended
	events int           // bytes of lines
}

func newAuditLog() *auditLog {
	return &auditLog{requests: map[string]*auditedRequest{}, limit: auditLogSize}
}

// Write takes what the API server writes to its standard output, in any pieces.
func (l *auditLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, p...)
	for {
		newline := bytes.IndexByte(l.partial, '\n')
		if newline < 0 {
			return len(p), nil
		}
		l.add(bytes.Clone(l.partial[:newline]))
		l.partial = append(l.partial[:0], l.partial[newline+1:]...)
	}
}

// add files one line; what is no event is left out.
func (l *auditLog) add(line []byte) {
	var event struct {
		AuditID string        `json:"auditID"`
		Stage   auditv1.Stage `json:"stage"`
	}
	if json.Unmarshal(line, &event) != nil || event.AuditID == "" {
		return
	}
	request := l.request(event.AuditID)
	request.lines = append(request.lines, line)
	request.events += len(line)
	l.size += len(line)
	if !request.ended && isLast(event.Stage) {
		request.ended = true
		close(request.end)
	}
	for l.size > l.limit && len(l.order) > 1 {
		oldest := l.order[0]
		l.order = l.order[1:]
		l.size -= oldest.events
		delete(l.requests, oldest.id)
	}
}

// isLast tells whether a request has no event after that of the stage.
func isLast(stage auditv1.Stage) bool {
	return stage == auditv1.StageResponseComplete || stage == auditv1.StagePanic
}

// request returns the request with that id, made when it is new.
func (l *auditLog) request(id string) *auditedRequest {
	request, found := l.requests[id]
	if !found {
		request = &auditedRequest{id: id, end: make(chan struct{})}
		l.requests[id] = request
		l.order = append(l.order, request)
	}
	return request
}

// eventsOf returns the events of the request, after its last one has come.
func (l *auditLog) eventsOf(ctx context.Context, id string) ([]auditv1.Event, error) {
	l.mu.Lock()
	request := l.request(id)
	l.mu.Unlock()

	ctx, cancel := context.WithTimeoutCause(ctx, auditWait, fmt.Errorf("it has not ended within %v", auditWait))
	defer cancel()
	select {
	case <-request.end:
	case <-ctx.Done():
		return nil, fmt.Errorf("audit events of request %s: %w", id, context.Cause(ctx))
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	events := make([]auditv1.Event, len(request.lines))
	for i, line := range request.lines {
		if err := json.Unmarshal(line, &events[i]); err != nil {
			return nil, fmt.Errorf("audit event of request %s: %w", id, err)
		}
	}
	return events, nil
}
