package fakeapi_test

import (
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
