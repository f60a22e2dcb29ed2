package target

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTail(t *testing.T) {
	log := &tail{}
	if log.String() != "" {
		t.Errorf("an empty log is %q", log)
	}
	fmt.Fprint(log, "one\ntwo\n")
	if log.String() != "one\ntwo\n" {
		t.Errorf("a short log is %q", log)
	}
	line := strings.Repeat("x", 99) + "\n"
	for range 10 * tailSize / len(line) {
		fmt.Fprint(log, line)
	}
	fmt.Fprint(log, "last\n")
	got := log.String()
	if len(got) > tailSize || len(got) < tailSize-len(line) || !strings.HasPrefix(got, line) || !strings.HasSuffix(got, line+"last\n") {
		t.Errorf("the end of a long log has %d bytes, begins with %.20q, ends with %q", len(got), got, got[len(got)-20:])
	}
	if len(log.kept) > 3*tailSize {
		t.Errorf("%d bytes are kept", len(log.kept))
	}
}

func event(id, stage, uri string) string {
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":%q,"stage":%q,"requestURI":%q}`+"\n", id, stage, uri)
}

func TestAuditLog(t *testing.T) {
	log := newAuditLog()
	text := event("a", "RequestReceived", "/1") + event("b", "ResponseStarted", "/2") + "no event\n" + event("a", "ResponseComplete", "/1")
	for piece := range strings.SplitSeq(text, ":") { // pieces that are no lines
		fmt.Fprint(log, piece)
		if piece != text[len(text)-len(piece):] {
			fmt.Fprint(log, ":")
		}
	}
	events, err := log.eventsOf(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, event := range events {
		got = append(got, string(event.AuditID)+" "+string(event.Stage)+" "+event.RequestURI)
	}
	if diff := cmp.Diff([]string{"a RequestReceived /1", "a ResponseComplete /1"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}

	// Of b the last event is missing, of c all.
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, id := range []string{"b", "c"} {
		if events, err := log.eventsOf(gone, id); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), id) {
			t.Errorf("request %s: events %v, error %v", id, events, err)
		}
	}
	waiting := make(chan error)
	for _, id := range []string{"b", "c"} {
		go func() {
			events, err := log.eventsOf(t.Context(), id)
			if err == nil && string(events[len(events)-1].Stage) != "Panic" {
				err = fmt.Errorf("events %v", events)
			}
			waiting <- err
		}()
	}
	fmt.Fprint(log, event("b", "Panic", "/2")+event("c", "Panic", "/3"))
	for range 2 {
		if err := <-waiting; err != nil {
			t.Error(err)
		}
	}
}

func TestAuditLogForgets(t *testing.T) {
	log := newAuditLog()
	log.limit = 100 << 10
	long := strings.Repeat("x", 1<<10)
	for n := range 200 {
		fmt.Fprint(log, event(fmt.Sprint(n), "ResponseComplete", long))
	}
	if log.size > log.limit || len(log.requests) > 100 || len(log.requests) != len(log.order) {
		t.Errorf("%d bytes of %d requests are kept", log.size, len(log.requests))
	}
	if _, err := log.eventsOf(t.Context(), "199"); err != nil {
		t.Errorf("the latest request is forgotten: %v", err)
	}
}
