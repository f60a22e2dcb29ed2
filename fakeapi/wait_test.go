package fakeapi_test

import (
	"bytes"
	"sync"
	"testing"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

// auditEvent waits for the last event of a request.
func auditEvent(t testing.TB, server *fakeapi.Server, auditID string) auditv1.Event {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		events := server.AuditEvents(auditID)
		if len(events) > 0 && events[len(events)-1].Stage == auditv1.StageResponseComplete {
			return events[len(events)-1]
		}
	}
	t.Fatalf("request %q has no event of stage ResponseComplete: %+v", auditID, server.AuditEvents(auditID))
	return auditv1.Event{}
}

// safeBuffer is a buffer that one goroutine writes and another reads.
type safeBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *safeBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(data)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
