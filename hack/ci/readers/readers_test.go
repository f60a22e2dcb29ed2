// Package readers holds the samples of continuous integration, and the JUnit files of Gatehouse, against the programs
// that read them: each test gives a file to the program's own packages. It is a module of its own, for what these need
// is much, and of other versions of Kubernetes than Gatehouse.
package readers

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// The directory of the samples for conformance runs, and that for trials of webhooks.
const (
	conformance = "../conformance"
	webhook     = "../webhook"
)

// junitFile writes the JUnit file of a run with an outcome of each kind, which is not conformant.
func junitFile(t *testing.T, flavor string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "junit.xml")
	// It is of the module of Gatehouse.
	command := exec.CommandContext(t.Context(), "go", "run", "./cmd/gatehouse", "report",
		"--from", "reports/testdata/report.json", "--junit", file, "--junit-flavor", flavor)
	command.Dir = "../../.."
	// The exit status is that of the verdict; that there is a file the tests see.
	if out, err := command.CombinedOutput(); command.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// cases are the cases of that run, and whether they passed.
var cases = map[string]string{
	"matching-rules/operations/create":  "passed",
	"matching-rules/operations/update":  "failed",
	"matching-rules/operations/connect": "failed",
	"matching-rules/operations/exec":    "skipped",
	"matching-rules/operations/delete":  "skipped",
	"verdict":                           "failed",
}
