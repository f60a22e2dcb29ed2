package fakeapi_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// What a user links in must not hold the real server, its database or the plugins that fakeapi is an independent
// implementation of.
func TestDependencies(t *testing.T) {
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", "./fakeapi/...", "./cmd/...")
	command.Dir = ".."
	var problems bytes.Buffer
	command.Stderr = &problems
	output, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, problems.String())
	}
	for _, path := range strings.Fields(string(output)) {
		for _, forbidden := range []string{"k8s.io/kubernetes", "go.etcd.io", "k8s.io/apiserver/pkg/admission/plugin"} {
			if path == forbidden || strings.HasPrefix(path, forbidden+"/") {
				t.Errorf("depends on %s", path)
			}
		}
	}
}
