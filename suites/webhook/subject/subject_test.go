package subject_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/config"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/subject"
)

// What a process does that serves is seen in the zoo; here is what becomes of those that do not.
func TestLaunchFails(t *testing.T) {
	authority, err := subject.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	taken := l.Addr().(*net.TCPAddr).Port
	for _, test := range []struct {
		name string
		run  config.Run
		want string
	}{
		{"no such program", config.Run{Command: []string{"./none"}}, "command: "},
		{"a port that is taken", config.Run{Command: []string{"sleep", "60"}, Port: taken}, fmt.Sprintf("port: another program listens on port %d already", taken)},
		{"a port for readiness that is taken", config.Run{Command: []string{"sleep", "60"}, Ready: config.Ready{Port: taken}}, "ready.port: another program listens"},
		{"a program that ends", config.Run{Command: []string{"sh", "-c", "echo out of order; exit 3"}}, "the webhook ended before it was ready (exit status 3); its log ends with:\nout of order"},
		{"one that does not serve", config.Run{Command: []string{"sleep", "60"}, Ready: config.Ready{Timeout: "50ms"}}, "the webhook is not ready after 50ms"},
		{"placeholders", config.Run{Command: []string{"sh", "-c", `test -f "$1/tls.crt" && test "$KUBECONFIG" = "$2" && echo all there; exit 1`, "-", "${certDir}", "${kubeconfig}"}}, "all there"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := subject.Launch(t.Context(), subject.Start{Run: test.run, ConfigDir: t.TempDir(), Authority: authority, Names: []string{"a.b.svc"}})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestConnectFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "https://" + l.Addr().String()
	if _, err := subject.Connect(t.Context(), url, []byte("none")); err == nil || !strings.Contains(err.Error(), "ca: ") {
		t.Errorf("no certificate in ca: %v", err)
	}
	_ = l.Close()
	if _, err := subject.Connect(t.Context(), url, nil); err == nil || !strings.Contains(err.Error(), "start the webhook's server first") {
		t.Errorf("nobody listens: %v", err)
	}
}

func TestSnapshot(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("same", "a")
	write("changed", "a")
	write("gone", "a")
	before, err := subject.Snapshot(dir)
	if err != nil {
		t.Fatal(err)
	}
	write("changed", "ab")
	write("new", "a")
	if err := os.Remove(filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
	after, err := subject.Snapshot(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := before.Changed(after), []string{"changed", "gone", "new"}; !slices.Equal(got, want) {
		t.Errorf("changed %q, want %q", got, want)
	}
}
