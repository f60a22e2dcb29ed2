package target

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// fakeTarget is a fakeapi in this process.
type fakeTarget struct {
	server *fakeapi.Server
	log    *tail
	// retired tells that the server serves what current servers do not.
	retired bool
}

func openFakeAPI(ctx context.Context, options Options) (Target, error) {
	log := &tail{}
	logger := funcr.New(func(prefix, args string) { fmt.Fprintln(log, prefix, args) }, funcr.Options{LogTimestamp: true})
	// The server lives until Stop, so that cases can clean up after ctx has ended.
	withRetired := options.Needs.HasAny(retired.UnsortedList()...)
	server, err := fakeapi.Start(context.WithoutCancel(ctx), fakeapi.Options{
		RawStore:              true,
		TraceExpressions:      true,
		AuditPolicy:           auditPolicy(),
		Logger:                logger,
		LegacyWorkloads:       withRetired,
		V1beta1Configurations: withRetired,
	})
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", FakeAPI, err)
	}
	return &fakeTarget{server: server, log: log, retired: withRetired}, nil
}

func (t *fakeTarget) Info() Info { return Info{Name: FakeAPI, Version: t.server.Version()} }

func (t *fakeTarget) RESTConfig() *rest.Config { return t.server.RESTConfig() }

func (t *fakeTarget) Can() sets.Set[fixtures.Need] {
	can := sets.New(fixtures.NeedHooks, fixtures.NeedAudit, fixtures.NeedRawStore, fixtures.NeedRestart, fixtures.NeedInTreePlugins,
		fixtures.NeedControllers)
	if t.retired {
		can = can.Union(retired)
	}
	return can
}

func (t *fakeTarget) HookAddress() string { return "127.0.0.1" }

// Settle has nothing to wait for: every write acts on the next request.
func (t *fakeTarget) Settle(context.Context, ...schema.GroupResource) error { return nil }

func (t *fakeTarget) AuditEvents(ctx context.Context, auditID string) ([]auditv1.Event, error) {
	var events []auditv1.Event
	err := wait.PollUntilContextTimeout(ctx, time.Millisecond, auditWait, true, func(context.Context) (bool, error) {
		events = t.server.AuditEvents(auditID)
		return len(events) > 0 && isLast(events[len(events)-1].Stage), nil
	})
	if err != nil {
		return nil, fmt.Errorf("audit events of request %s: the last one has not come: %w", auditID, err)
	}
	return events, nil
}

func (t *fakeTarget) StoreRaw(ctx context.Context, object []byte) error {
	return t.server.StoreRaw(ctx, object)
}

func (t *fakeTarget) Restart(ctx context.Context) error {
	return t.server.Restart(context.WithoutCancel(ctx)) // as in openFakeAPI
}

// Decisions implements Recorder.
func (t *fakeTarget) Decisions(auditID string) []decision.Record { return t.server.Decisions(auditID) }

func (t *fakeTarget) Explain(auditID string) string {
	var texts []string
	for _, record := range t.Decisions(auditID) {
		texts = append(texts, decision.Explain(record))
	}
	return strings.Join(texts, "\n")
}

func (t *fakeTarget) Logs() string { return t.log.String() }

func (t *fakeTarget) Stop() error {
	t.server.Stop()
	return nil
}
