package fakeapi_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
	"github.com/gatehouse-dev/gatehouse/hack/recorded/console"
)

//go:generate go run ../hack/generate/kubectl
//go:generate go run ../hack/generate/deviations DEVIATIONS.md

// TestKubectl runs the commands of testdata/kubectl with the real kubectl, which must print what it printed before a real
// kube-apiserver.
func TestKubectl(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it runs kubectl some hundred times")
	}
	kubectl, err := console.FindKubectl(t.Context())
	if err != nil {
		t.Skipf("run `make envtest-assets`: %v", err)
	}
	files, err := filepath.Glob("testdata/kubectl/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no sessions: ", err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "everyday" && os.Getenv("KUBEBUILDER_ASSETS") == "" {
				t.Skip("KUBEBUILDER_ASSETS is not set: without it, one session is enough")
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			session, err := console.Parse(data)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			server := start(t, fakeapi.Options{})
			player := console.Player{Kubectl: kubectl, Config: server.RESTConfig(), Directory: filepath.Dir(path)}
			outputs, err := player.Play(t.Context(), session)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			for i, command := range session.Commands {
				same := slices.Equal(outputs[i], command.Output)
				switch {
				case command.Deviation != "" && same:
					t.Errorf("%s:%d: %s: kubectl prints the same, without the deviation %q", path, command.Number, command.Line, command.Deviation)
				case command.Deviation == "" && !same:
					t.Errorf("%s:%d: %s (-real +fakeapi):\n%s", path, command.Number, command.Line, cmp.Diff(command.Output, outputs[i]))
				}
			}
		})
	}
}
