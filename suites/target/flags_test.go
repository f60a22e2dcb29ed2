package target

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDefaultPlugins(t *testing.T) {
	for _, test := range []struct {
		name, help string
		want       []string
		err        string
	}{
		{
			name: "a list",
			help: "      --disable-admission-plugins strings    plugins that are off although they are in the default enabled plugins list (NamespaceLifecycle, Priority). Comma-delimited list of: AlwaysAdmit, (and) more.",
			want: []string{"NamespaceLifecycle", "Priority"},
		},
		{name: "another program", help: "usage: etcd", err: "does not tell which admission plugins"},
	} {
		t.Run(test.name, func(t *testing.T) {
			binary := filepath.Join(t.TempDir(), "kube-apiserver")
			if err := os.WriteFile(binary, []byte("#!/bin/sh\ncat <<'END'\n"+test.help+"\nEND\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			got, err := defaultPlugins(t.Context(), binary)
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("error %v, want %q", err, test.err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("plugins (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPIServerFlags(t *testing.T) {
	flags := apiServerFlags([]string{"NamespaceLifecycle", "PodSecurity", "Priority", "ServiceAccount", "ValidatingAdmissionWebhook"}, "policy.yaml")
	if diff := cmp.Diff([]string{"PodSecurity,ServiceAccount"}, flags["disable-admission-plugins"]); diff != "" {
		t.Errorf("plugins that are switched off (-want +got):\n%s", diff)
	}
}
