package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/hack/recorded/console"
)

// dist/install.yaml is what kustomize makes of config/default.
func TestInstallManifest(t *testing.T) {
	kubectl, err := console.FindKubectl(t.Context())
	if err != nil {
		t.Skipf("run `make envtest-assets`: %v", err)
	}
	want, err := exec.CommandContext(t.Context(), kubectl, "kustomize", "../config/default").Output()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../dist/install.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("kubectl kustomize config/default > dist/install.yaml (-config +dist):\n%s", diff)
	}
}
