package readers

import (
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

func newLinter(t *testing.T) *actionlint.Linter {
	t.Helper()
	var options actionlint.LinterOptions
	if path, err := exec.LookPath("shellcheck"); err == nil {
		options.Shellcheck = path
	}
	linter, err := actionlint.NewLinter(io.Discard, &options)
	if err != nil {
		t.Fatal(err)
	}
	return linter
}

// TestGitHubWorkflows: actionlint finds nothing in the workflows; in their scripts too where there is shellcheck.
func TestGitHubWorkflows(t *testing.T) {
	for _, dir := range []string{conformance, webhook} {
		found, err := newLinter(t).LintFile(filepath.Join(dir, "github-actions.yaml"), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range found {
			t.Error(e)
		}
	}
}

// TestGitHubWorkflowRefused: actionlint looks at what workflows of ours have.
func TestGitHubWorkflowRefused(t *testing.T) {
	for want, step := range map[string]string{
		`unexpected key "running"`:         "run: \"true\"\n      running: x",
		`property "shards" is not defined`: "run: echo ${{ matrix.shards }}",
		`missing input "path"`:             "uses: actions/upload-artifact@v4",
	} {
		workflow := "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    strategy: {matrix: {shard: [1, 2]}}\n    steps:\n    - " + step + "\n"
		found, err := newLinter(t).Lint("workflow.yaml", []byte(workflow), nil)
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, e := range found {
			all.WriteString(e.Error() + "\n")
		}
		if !strings.Contains(all.String(), want) {
			t.Errorf("of %s it says %q; want %q", step, all.String(), want)
		}
	}
}
