package main

import (
	"bytes"
	"html"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/reports"
)

// shellWords are the words into which a shell splits a command.
func shellWords(t *testing.T, command string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\n' `+command).Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// TestRunAgain: the command that reports give for a failed case runs that case alone, as it was run, wherever it is
// written.
func TestRunAgain(t *testing.T) {
	const rows = `
- {name: right, set: {want: "y"}}
- {name: wrong, set: {want: z}}
- {name: wrong-too, set: {want: z}}
`
	dir := thirdParty(t, rows)
	for name, test := range map[string]struct {
		args []string // of gatehouse, without --out
		id   string
		want string // the command without the case
	}{
		"fixtures": {
			[]string{"conformance", "--fixtures", dir, "--labels", "demo-objects", "--shard", "1/1", "--procs", "1"}, "demo-objects/read/wrong",
			"gatehouse conformance --fixtures=" + dir,
		},
		"other built-in fixtures and a target": {
			[]string{"conformance", "--target", "fakeapi", "--builtin", dir, "--focus", "wrong$"}, "demo-objects/read/wrong",
			"gatehouse conformance --builtin=" + dir + " --target=fakeapi",
		},
		"policies": {
			[]string{"policy", "test", "../../suites/policy/testdata/decided", "--coverage-min", "1"}, "../../suites/policy/testdata/decided/test/not-as-expected",
			"gatehouse policy test ../../suites/policy/testdata/decided",
		},
	} {
		t.Run(name, func(t *testing.T) {
			runIn := func(args []string) (reports.Report, string, string) {
				out := t.TempDir()
				var stdout, stderr bytes.Buffer
				if status := run(t.Context(), append(args, "--out", out), &stdout, &stderr); status != exitNotConformant {
					t.Fatalf("%q: exit status %d; said %s%s", args, status, &stdout, &stderr)
				}
				r, err := reports.ReadJSON("report.json", []byte(readFile(t, filepath.Join(out, "report.json"))))
				if err != nil {
					t.Fatal(err)
				}
				return r, stdout.String(), out
			}
			_, stdout, out := runIn(test.args)
			command := test.want + " --focus '^" + regexp.QuoteMeta(test.id) + "$'"
			for what, text := range map[string]string{
				"the terminal": stdout,
				"HTML":         html.UnescapeString(readFile(t, filepath.Join(out, "report.html"))),
				"Markdown":     readFile(t, filepath.Join(out, "report.md")),
				"JUnit":        html.UnescapeString(readFile(t, filepath.Join(out, "junit.xml"))),
			} {
				if !regexp.MustCompile(`(?m)` + regexp.QuoteMeta(command) + "($|`$|</code>)").MatchString(text) {
					t.Errorf("%s does not tell %s:\n%s", what, command, text)
				}
			}
			again, _, _ := runIn(shellWords(t, command)[1:])
			var ran []string
			for _, result := range again.Results {
				if result.Outcome != reports.NotRun {
					ran = append(ran, result.ID)
				}
			}
			if diff := cmp.Diff([]string{test.id}, ran); diff != "" {
				t.Errorf("cases that ran again (-want +got):\n%s", diff)
			}
		})
	}
}
