package controller

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

// TestMain leaves the suite of the project out where there is no API server for it: it is started by its own environment
// variables alone. TestFakeAPI runs it in any case.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" && os.Getenv("USE_EXISTING_CLUSTER") == "" {
		if err := flag.Set("test.skip", "^TestControllers$"); err != nil {
			panic(err) // the flag is the testing package's
		}
	}
	os.Exit(m.Run())
}

// The suite of a project runs unchanged on fakeapi: its envtest.Environment takes it for an existing cluster.
func TestFakeAPI(t *testing.T) {
	server, err := fakeapi.Start(t.Context(), fakeapi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, server.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	suite := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestControllers$", "-ginkgo.no-color")
	suite.Env = append(os.Environ(), "USE_EXISTING_CLUSTER=true", "KUBECONFIG="+kubeconfig)
	output, err := suite.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "Ran 7 of 7 Specs") {
		t.Errorf("the suite: %v\n%s", err, output)
	}
}
