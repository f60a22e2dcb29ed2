package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega/gbytes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// running is a gatehouse serve under way.
type running struct {
	stdout, stderr *gbytes.Buffer
	status         chan int
	cancel         context.CancelFunc
}

// serving runs gatehouse serve until the test stops it or ends.
func serving(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{stdout: gbytes.NewBuffer(), stderr: gbytes.NewBuffer(), status: make(chan int, 1), cancel: cancel}
	go func() { r.status <- run(ctx, append([]string{"serve"}, args...), r.stdout, r.stderr) }()
	t.Cleanup(cancel)
	return r
}

// stop ends the server as a signal does and returns the exit status.
func (r *running) stop() int {
	r.cancel()
	return <-r.status
}

// kubeconfig waits until the server is ready and returns the path that it prints.
func (r *running) kubeconfig(t *testing.T) string {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, path, ok := strings.Cut(string(r.stdout.Contents()), "export KUBECONFIG="); ok && strings.HasSuffix(path, "\n") {
			return strings.TrimSpace(path)
		}
		select {
		case status := <-r.status:
			t.Fatalf("it ended with status %d: %s", status, r.stderr.Contents())
		default:
		}
	}
	t.Fatal("it did not get ready")
	return ""
}

func clientOf(t *testing.T, kubeconfig string) *kubernetes.Clientset {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return kubernetes.NewForConfigOrDie(config)
}

func TestServe(t *testing.T) {
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	auditLog := filepath.Join(dir, "audit.log")
	policy := writeFile(t, dir, "policy.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
	objects := writeFile(t, dir, "objects.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: loaded}\n")
	// A file that is there already must end up readable by its owner alone.
	if err := os.WriteFile(kubeconfig, []byte("old"), 0o644); err != nil { // on purpose
		t.Fatal(err)
	}

	server := serving(t, "--kubeconfig-out", kubeconfig, "--load", objects, "--audit-log", auditLog, "--audit-policy", policy, "--explain")
	if path := server.kubeconfig(t); path != kubeconfig {
		t.Errorf("it prints %s, want %s", path, kubeconfig)
	}
	info, err := os.Stat(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("the kubeconfig has mode %o, want 600", mode)
	}
	configMaps := clientOf(t, kubeconfig).CoreV1().ConfigMaps("default")
	if _, err := configMaps.Get(t.Context(), "loaded", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	if status := server.stop(); status != 0 {
		t.Errorf("status %d: %s", status, server.stderr.Contents())
	}
	if text := string(server.stdout.Contents()); !strings.Contains(text, "CREATE configmaps default/probe") {
		t.Errorf("no explanation in\n%s", text)
	}
	log, err := os.ReadFile(auditLog)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(log, []byte(`"name":"probe"`)) || bytes.Contains(log, []byte(`"level":"Request"`)) {
		t.Errorf("the audit log does not keep to the policy:\n%s", log)
	}
}

func TestServeWritesKubeconfigByEnvironment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	t.Setenv("KUBECONFIG_OUT", path)
	server := serving(t)
	if got := server.kubeconfig(t); got != path {
		t.Errorf("it prints %s, want %s", got, path)
	}
	if status := server.stop(); status != 0 {
		t.Errorf("status %d", status)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("after the end: %v", err)
	}
}

func TestServeRemovesItsTemporaryKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG_OUT", "")
	t.Setenv("TMPDIR", t.TempDir())
	server := serving(t)
	path := server.kubeconfig(t)
	if _, err := clientOf(t, path).Discovery().ServerVersion(); err != nil {
		t.Error(err)
	}
	server.stop()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after the end: %v, want no such file", err)
	}
}

func TestServeRefuses(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KUBECONFIG_OUT", filepath.Join(dir, "kubeconfig"))
	broken := writeFile(t, dir, "broken.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: B}\n")
	policy := func(name, content string) string { return writeFile(t, dir, name, content) }
	tests := map[string]struct {
		args   []string
		status int
		says   string
	}{
		"unknown flag":        {[]string{"--nope"}, exitUsage, "unknown flag: --nope"},
		"argument":            {[]string{"here"}, exitUsage, `unknown command "here"`},
		"port":                {[]string{"--port", "70000"}, exitUsage, "--port is 70000: want 0 to 65535"},
		"address":             {[]string{"--bind-address", "example.com"}, exitUsage, `--bind-address is "example.com": want an IP address`},
		"foreign address":     {[]string{"--bind-address", "192.0.2.1"}, exitEnvironment, "listening on"},
		"object":              {[]string{"--load", broken}, exitEnvironment, broken + ":5: document 2: ConfigMap default/B: "},
		"file":                {[]string{"--load", "gone.yaml"}, exitEnvironment, "gone.yaml: no such file"},
		"policy file":         {[]string{"--audit-policy", "gone.yaml"}, exitUsage, "--audit-policy: open gone.yaml: no such file"},
		"policy field":        {[]string{"--audit-policy", policy("a", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrulez: []\n")}, exitUsage, `unknown field "rulez"`},
		"policy version":      {[]string{"--audit-policy", policy("b", "apiVersion: audit.k8s.io/v1beta1\nkind: Policy\n")}, exitUsage, `apiVersion "audit.k8s.io/v1beta1" and kind "Policy": want audit.k8s.io/v1 and Policy`},
		"policy level":        {[]string{"--audit-policy", policy("c", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Loud}]\n")}, exitEnvironment, `rules[0].level: Unsupported value: "Loud"`},
		"audit log":           {[]string{"--audit-log", filepath.Join(dir, "gone", "log")}, exitUsage, "--audit-log: open"},
		"place of kubeconfig": {[]string{"--kubeconfig-out", filepath.Join(dir, "gone", "kubeconfig")}, exitEnvironment, "writing the kubeconfig"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			status := run(ctx, append([]string{"serve"}, test.args...), &stdout, &stderr)
			if status != test.status || !strings.Contains(stderr.String(), test.says) {
				t.Errorf("status %d, %q\nwant %d, %q", status, stderr.String(), test.status, test.says)
			}
		})
	}
}

func writeFile(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestServeRetiredVersions(t *testing.T) {
	for flag, want := range map[string][]string{
		"":                         nil,
		"--v1beta1-configurations": {"admissionregistration.k8s.io/v1beta1"},
		"--legacy-workloads":       {"apps/v1beta1", "apps/v1beta2", "extensions/v1beta1"},
	} {
		args := []string{"--kubeconfig-out", filepath.Join(t.TempDir(), "kubeconfig")}
		if flag != "" {
			args = append(args, flag)
		}
		groups, err := clientOf(t, serving(t, args...).kubeconfig(t)).Discovery().ServerGroups()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, group := range groups.Groups {
			for _, version := range group.Versions {
				switch version.GroupVersion {
				case "admissionregistration.k8s.io/v1beta1", "apps/v1beta1", "apps/v1beta2", "extensions/v1beta1":
					got = append(got, version.GroupVersion)
				}
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("with %q it serves %v, want %v", flag, got, want)
		}
	}
}
