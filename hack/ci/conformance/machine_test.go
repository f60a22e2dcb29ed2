package samples

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/gatehouse-dev/gatehouse/reports"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// decode decodes a file of another program than Kubernetes, whose fields have yaml tags.
func decode(t *testing.T, name string, out any) {
	t.Helper()
	d := yaml.NewDecoder(bytes.NewReader(read(t, name)))
	d.KnownFields(true)
	if err := d.Decode(out); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// machine is a machine on which the samples' shell parts run: its gatehouse runs a small table on fakeapi, whatever
// target it is to run on, its go gives out gatehouse, and its kubectl knows a Job that has completed.
type machine struct {
	dir string // where the shell parts run
	env []string
}

// The programs of a machine. What gatehouse conformance is asked for is kept in $CALLS.
var programs = map[string]string{
	"gatehouse": `#!/bin/sh
if [ "$1" != conformance ]; then exec "$REAL" "$@"; fi
echo "$@" >>"$CALLS"
shift
for arg do
  shift
  case $skip$arg in
  --target|--hook-address) skip=next: ;;
  next:*) skip= ;;
  *) set -- "$@" "$arg" ;;
  esac
done
exec "$REAL" conformance --builtin "$TABLES" --procs 1 "$@"
`,
	"go": `#!/bin/sh
case "$*" in
*"build -o "*) while [ "$1" != -o ]; do shift; done; mkdir -p "$(dirname "$2")"; cp "$PROGRAMS/gatehouse" "$2" ;;
"run sigs.k8s.io/controller-runtime/tools/setup-envtest@"*" --print path") echo /envtest/assets ;;
*) echo "go $*: not what the samples should ask for" >&2; exit 1 ;;
esac
`,
	"git": `#!/bin/sh
[ "$1 $2 $3" = "clone --depth 1" ]
`,
	"kubectl": `#!/bin/sh
[ "$1 $2" = "--namespace gatehouse" ] || exit 1
shift 2
case "$1 $2" in
"get job") echo "$STATE" ;;
"get pods") cd "$LOGS" && echo * ;;
"logs "*) cat "$LOGS/$2" ;;
*) exit 1 ;;
esac
`,
}

// tables are the cases that a machine runs; those whose names begin with wrong fail.
func tables(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	var rows strings.Builder
	for _, name := range names {
		want := "y"
		if strings.HasPrefix(name, "wrong") {
			want = "z"
		}
		fmt.Fprintf(&rows, "- {name: %s, set: {want: %q}}\n", name, want)
	}
	for name, text := range map[string]string{
		"behaviors.yaml": `
areas: [{id: objects, title: Objects, description: What is written can be read.}]
behaviors:
- {id: demo.read, area: objects, statement: What is written can be read., level: must, kind: documented, sources: [nobody], api: [v1]}
`,
		"objects/read.yaml": `title: What is written can be read
behaviors: [demo.read]
steps:
- create: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "y"}}
  expect: {object: {data: {x: "${want}"}}}
cases:
` + rows.String(),
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// real is the program that machines run.
var real string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "gatehouse-samples-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		real = filepath.Join(dir, "gatehouse")
		build := exec.Command("go", "build", "-o", real, "../../../cmd/gatehouse")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

func newMachine(t *testing.T, tables string, env ...string) *machine {
	t.Helper()
	bin := t.TempDir()
	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m := &machine{dir: t.TempDir()}
	m.env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PROGRAMS="+bin, "REAL="+real, "TABLES="+tables, "CALLS="+filepath.Join(bin, "calls"))
	m.env = append(m.env, env...)
	return m
}

// run runs a script as CI systems do, and returns its exit status and output.
func (m *machine) run(t *testing.T, script string, env ...string) (status int, output string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-ec", script)
	command.Dir, command.Env = m.dir, append(slices.Clone(m.env), env...)
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), string(out)
}

// must runs a script that is to succeed.
func (m *machine) must(t *testing.T, script string, env ...string) string {
	t.Helper()
	status, out := m.run(t, script, env...)
	if status != 0 {
		t.Fatalf("exit status %d of\n%s\n%s", status, script, out)
	}
	return out
}

// calls are the flags with which gatehouse conformance was called, a line each.
func (m *machine) calls(t *testing.T) string {
	t.Helper()
	return m.must(t, `cat "$CALLS"`)
}

// report reads a report that a machine has.
func (m *machine) report(t *testing.T, name string) reports.Report {
	t.Helper()
	name = filepath.Join(m.dir, name)
	r, err := reports.ReadJSON(name, read(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// checkWhole checks that a report is of a whole run of that many cases, and that there is a JUnit file beside it.
func (m *machine) checkWhole(t *testing.T, name string, cases, failed int) {
	t.Helper()
	r := m.report(t, name)
	if c := r.Total.CaseCounts; c.Executed() != cases || c.Fail != failed || r.Selection.Partial() {
		t.Errorf("%s: %+v of %q, want %d cases and %d failed", name, c, r.Selection, cases, failed)
	}
	if junit := read(t, filepath.Join(m.dir, filepath.Dir(name), "junit.xml")); !bytes.Contains(junit, []byte("<testsuites")) {
		t.Errorf("junit.xml is %s", junit)
	}
}
