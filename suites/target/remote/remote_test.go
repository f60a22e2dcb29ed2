package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/suites/target"
	"github.com/gatehouse-dev/gatehouse/suites/target/remote"
)

// recorder is a target that notes what it is asked.
type recorder struct {
	err      error
	block    chan struct{} // Settle waits on it, if it is not nil
	resource []schema.GroupResource
	object   string
	restarts int
	config   rest.Config
}

func (r *recorder) Info() target.Info {
	return target.Info{Name: "recorder", Version: "v1.2.3", Flags: []string{"--a=b"}}
}
func (r *recorder) RESTConfig() *rest.Config { return rest.CopyConfig(&r.config) }
func (r *recorder) Can() sets.Set[fixtures.Need] {
	return sets.New(fixtures.NeedAudit, fixtures.NeedHooks)
}
func (r *recorder) HookAddress() string      { return "127.0.0.1" }
func (r *recorder) Explain(id string) string { return "explained " + id }
func (r *recorder) Logs() string             { return "the log" }
func (r *recorder) Stop() error              { return errors.New("only its owner stops a target") }

func (r *recorder) Settle(ctx context.Context, resources ...schema.GroupResource) error {
	if r.block != nil {
		close(r.block)
		<-ctx.Done()
		return ctx.Err()
	}
	r.resource = resources
	return r.err
}

func (r *recorder) AuditEvents(_ context.Context, id string) ([]auditv1.Event, error) {
	return []auditv1.Event{{AuditID: types.UID(id), Annotations: map[string]string{"a": "b"}}}, r.err
}

func (r *recorder) StoreRaw(_ context.Context, object []byte) error {
	r.object = string(object)
	return r.err
}

func (r *recorder) Restart(context.Context) error {
	r.restarts++
	return r.err
}

// served returns the target as another process has it.
func served(t *testing.T, r *recorder) target.Target {
	t.Helper()
	owner, err := remote.Serve(r)
	if err != nil {
		t.Fatal(err)
	}
	socket := owner.Handover().Socket
	t.Cleanup(func() {
		if err := owner.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(socket); !os.IsNotExist(err) {
			t.Errorf("the socket is still there: %v", err)
		}
	})
	data, err := json.Marshal(owner.Handover())
	if err != nil {
		t.Fatal(err)
	}
	var handover remote.Handover
	if err := json.Unmarshal(data, &handover); err != nil {
		t.Fatal(err)
	}
	connected, err := remote.Connect(handover)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := connected.Stop(); err != nil {
			t.Error(err)
		}
	})
	return connected
}

func TestRemote(t *testing.T) {
	r := &recorder{config: rest.Config{Host: "https://127.0.0.1:6443"}}
	connected := served(t, r)
	if diff := cmp.Diff(r.Info(), connected.Info()); diff != "" {
		t.Errorf("Info (-want +got):\n%s", diff)
	}
	if got := connected.Can(); !got.Equal(r.Can()) {
		t.Errorf("Can = %v, want %v", got, r.Can())
	}
	if got := connected.HookAddress(); got != "127.0.0.1" {
		t.Errorf("HookAddress = %q", got)
	}
	resources := []schema.GroupResource{{Resource: "namespaces"}, {Group: "g", Resource: "r"}}
	if err := connected.Settle(t.Context(), resources...); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(resources, r.resource); diff != "" {
		t.Errorf("settled (-want +got):\n%s", diff)
	}
	events, err := connected.AuditEvents(t.Context(), "id")
	if want := []auditv1.Event{{AuditID: "id", Annotations: map[string]string{"a": "b"}}}; err != nil || !cmp.Equal(events, want) {
		t.Errorf("AuditEvents = %v, %v; want %v", events, err, want)
	}
	if err := connected.StoreRaw(t.Context(), []byte(`{"kind":"X"}`)); err != nil || r.object != `{"kind":"X"}` {
		t.Errorf("StoreRaw: %v; it stored %s", err, r.object)
	}
	if err := connected.Restart(t.Context()); err != nil || r.restarts != 1 {
		t.Errorf("Restart: %v; %d restarts", err, r.restarts)
	}
	if got := connected.Explain("id"); got != "explained id" {
		t.Errorf("Explain = %q", got)
	}
	if got := connected.Logs(); got != "the log" {
		t.Errorf("Logs = %q", got)
	}
}

func TestRemoteErrors(t *testing.T) {
	connected := served(t, &recorder{err: errors.New("what went wrong"), config: rest.Config{Host: "https://127.0.0.1"}})
	for name, call := range map[string]func() error{
		"Settle":      func() error { return connected.Settle(t.Context()) },
		"StoreRaw":    func() error { return connected.StoreRaw(t.Context(), []byte("{}")) },
		"Restart":     func() error { return connected.Restart(t.Context()) },
		"AuditEvents": func() error { _, err := connected.AuditEvents(t.Context(), "id"); return err },
	} {
		if err := call(); err == nil || err.Error() != "what went wrong" {
			t.Errorf("%s: error %v, want the target's", name, err)
		}
	}
}

func TestRemoteCancellation(t *testing.T) {
	r := &recorder{block: make(chan struct{}), config: rest.Config{Host: "https://127.0.0.1"}}
	connected := served(t, r)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-r.block
		cancel()
	}()
	if err := connected.Settle(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that the call was cancelled", err)
	}
}

func TestRemoteOwnerGone(t *testing.T) {
	owner, err := remote.Serve(&recorder{config: rest.Config{Host: "https://127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	connected, err := remote.Connect(owner.Handover())
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Close(); err != nil {
		t.Fatal(err)
	}
	if err := connected.Settle(t.Context()); err == nil {
		t.Error("no error when the owner is gone")
	}
}

func TestRemoteRESTConfig(t *testing.T) {
	want := rest.Config{
		Host: "https://example.com:6443/prefix", BearerToken: "token",
		Impersonate:     rest.ImpersonationConfig{UserName: "u", Groups: []string{"g"}},
		TLSClientConfig: rest.TLSClientConfig{ServerName: "name", CAData: []byte("ca"), CertData: []byte("cert"), KeyData: []byte("key")},
	}
	got := served(t, &recorder{config: want}).RESTConfig()
	for _, field := range []struct{ name, got, want string }{
		{"host", got.Host, want.Host}, {"token", got.BearerToken, want.BearerToken}, {"user", got.Impersonate.UserName, want.Impersonate.UserName},
		{"server name", got.ServerName, want.ServerName}, {"ca", string(got.CAData), "ca"}, {"certificate", string(got.CertData), "cert"}, {"key", string(got.KeyData), "key"},
	} {
		if field.got != field.want {
			t.Errorf("%s is %q, want %q", field.name, field.got, field.want)
		}
	}
}

func TestServeRefusesWhatCannotBeWritten(t *testing.T) {
	config := rest.Config{Host: "https://127.0.0.1", Dial: (&net.Dialer{}).DialContext}
	if _, err := remote.Serve(&recorder{config: config}); err == nil {
		t.Error("no error for a configuration with a dialer")
	}
}
