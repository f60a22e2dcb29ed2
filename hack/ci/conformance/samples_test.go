// Package samples tests the samples of this directory: each is decoded strictly, and its shell parts run.
package samples

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	kyaml "sigs.k8s.io/yaml"

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

// The fields of the samples' formats that the samples use.
type (
	gitHubWorkflow struct {
		Name        string
		On          map[string]any
		Permissions map[string]string
		Jobs        map[string]gitHubJob
	}
	gitHubJob struct {
		RunsOn   string `yaml:"runs-on"`
		Needs    []string
		If       string
		Strategy struct {
			FailFast *bool `yaml:"fail-fast"`
			Matrix   map[string][]int
		}
		Steps []struct {
			Name, Uses, Run, If string
			With, Env           map[string]any
		}
	}
	gitLabFile struct {
		Stages  []string
		Default struct {
			Image        string
			BeforeScript []string `yaml:"before_script"`
		}
		Conformance, Report gitLabJob
	}
	gitLabJob struct {
		Stage     string
		When      string
		Parallel  int
		Script    []string
		Artifacts struct {
			When    string
			Paths   []string
			Reports map[string]string
		}
	}
	prowConfig struct {
		Periodics []struct {
			Name             string            `json:"name"`
			Interval         string            `json:"interval"`
			Decorate         bool              `json:"decorate"`
			DecorationConfig map[string]string `json:"decoration_config"`
			ExtraRefs        []struct {
				Org     string `json:"org"`
				Repo    string `json:"repo"`
				BaseRef string `json:"base_ref"`
			} `json:"extra_refs"`
			Annotations map[string]string `json:"annotations"`
			Spec        corev1.PodSpec    `json:"spec"`
		} `json:"periodics"`
	}
	sonobuoyPlugin struct {
		Config struct {
			Driver       string `json:"driver"`
			PluginName   string `json:"plugin-name"`
			ResultFormat string `json:"result-format"`
			Description  string `json:"description"`
		} `json:"sonobuoy-config"`
		Spec corev1.Container `json:"spec"`
	}
)

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

func TestGitHubActions(t *testing.T) {
	var workflow gitHubWorkflow
	decode(t, "github-actions.yaml", &workflow)
	m := newMachine(t, tables(t, "a", "b", "c", "d", "e"))
	for _, name := range []string{"shard", "report"} {
		job := workflow.Jobs[name]
		for _, shard := range append(job.Strategy.Matrix["shard"], 0)[:max(len(job.Strategy.Matrix["shard"]), 1)] {
			for _, step := range job.Steps {
				if step.Run == "" {
					continue
				}
				var env []string
				for key, value := range step.Env {
					if value != "${{ matrix.shard }}" {
						t.Fatalf("%s: %s is %v", name, key, value)
					}
					env = append(env, fmt.Sprintf("%s=%d", key, shard))
				}
				m.must(t, step.Run, env...)
			}
		}
	}
	m.checkWhole(t, "out/report.json", 5, 0)
	if got, want := m.calls(t), "conformance --target envtest --shard 1/3 --out out/1\nconformance --target envtest --shard 2/3 --out out/2\nconformance --target envtest --shard 3/3 --out out/3\n"; got != want {
		t.Errorf("it called\n%s, want\n%s", got, want)
	}
	for _, job := range workflow.Jobs {
		for _, need := range job.Needs {
			if _, there := workflow.Jobs[need]; !there {
				t.Errorf("there is no job %s", need)
			}
		}
	}
}

func TestGitLabCI(t *testing.T) {
	var file gitLabFile
	decode(t, "gitlab-ci.yaml", &file)
	for _, job := range []gitLabJob{file.Conformance, file.Report} {
		if !slices.Contains(file.Stages, job.Stage) {
			t.Errorf("there is no stage %s", job.Stage)
		}
	}
	m := newMachine(t, tables(t, "a", "b", "wrong", "d", "e"))
	script := func(job gitLabJob) string {
		return strings.Join(slices.Concat(file.Default.BeforeScript, job.Script), "\n")
	}
	for i := range file.Conformance.Parallel {
		status, out := m.run(t, script(file.Conformance), "CI_PROJECT_DIR="+m.dir, fmt.Sprintf("CI_NODE_INDEX=%d", i+1), fmt.Sprintf("CI_NODE_TOTAL=%d", file.Conformance.Parallel))
		if want := map[int]int{2: 1}[i]; status != want {
			t.Errorf("shard %d: exit status %d, want %d\n%s", i+1, status, want, out)
		}
	}
	if status, out := m.run(t, script(file.Report), "CI_PROJECT_DIR="+m.dir); status != 1 {
		t.Errorf("exit status %d of the report, want 1\n%s", status, out)
	}
	m.checkWhole(t, "out/report.json", 5, 1)
	link := regexp.MustCompile(`\[\[ATTACHMENT\|(.*)\]\]`).FindSubmatch(read(t, filepath.Join(m.dir, file.Report.Artifacts.Reports["junit"])))
	if link == nil {
		t.Fatal("junit.xml links no bundle")
	}
	if text := read(t, filepath.Join(m.dir, string(link[1]))); !bytes.Contains(text, []byte("objects/read/wrong")) {
		t.Errorf("it links %s, which says %s", link[1], text)
	}
}

func TestJenkins(t *testing.T) {
	pipeline := string(read(t, "Jenkinsfile"))
	if strings.Count(pipeline, "{") != strings.Count(pipeline, "}") {
		t.Error("its braces do not match")
	}
	m := newMachine(t, tables(t, "a", "b"))
	parts := regexp.MustCompile(`(?s)\bsh '''(.*?)'''|\bsh '([^'\n]+)'`).FindAllStringSubmatch(pipeline, -1)
	if len(parts) != 2 {
		t.Fatalf("%d shell parts", len(parts))
	}
	for _, part := range parts {
		m.must(t, part[1]+part[2])
	}
	m.checkWhole(t, "out/report.json", 2, 0)
	for _, path := range regexp.MustCompile(`'(out/junit[^']*)'`).FindAllStringSubmatch(pipeline, -1) {
		read(t, filepath.Join(m.dir, path[1]))
	}
}

func TestProw(t *testing.T) {
	var config prowConfig
	if err := kyaml.UnmarshalStrict(read(t, "prow.yaml"), &config); err != nil {
		t.Fatal(err)
	}
	for _, job := range config.Periodics {
		c := job.Spec.Containers[0]
		if !job.Decorate || len(job.ExtraRefs) != 1 || !slices.Equal(c.Command, []string{"bash", "-ec"}) {
			t.Errorf("%s: %+v", job.Name, job)
		}
		m := newMachine(t, tables(t, "a", "b"))
		m.must(t, c.Args[0], "ARTIFACTS="+filepath.Join(m.dir, "artifacts"))
		m.checkWhole(t, "artifacts/report.json", 2, 0)
		if junit := read(t, filepath.Join(m.dir, "artifacts", "junit.xml")); !bytes.Contains(junit, []byte(`name="duration-seconds"`)) {
			t.Errorf("TestGrid finds no latency in %s", junit)
		}
	}
}

// absolute is the path of a script of this directory.
func absolute(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSonobuoy(t *testing.T) {
	var plugin sonobuoyPlugin
	if err := kyaml.UnmarshalStrict(read(t, "sonobuoy.yaml"), &plugin); err != nil {
		t.Fatal(err)
	}
	m := newMachine(t, tables(t, "a", "wrong"))
	results := t.TempDir()
	status, out := m.run(t, "sh "+absolute(t, plugin.Spec.Command[0]), "POD_IP=192.0.2.7", "RESULTS_DIR="+results)
	if status != 1 {
		t.Errorf("exit status %d, want 1\n%s", status, out)
	}
	if got, want := m.calls(t), "--target kubeconfig --hook-address 192.0.2.7"; !strings.Contains(got, want) {
		t.Errorf("it called %s, want %s", got, want)
	}
	m.must(t, "tar -xzf "+string(read(t, filepath.Join(results, "done"))))
	m.checkWhole(t, "report.json", 2, 1)
	if mount := plugin.Spec.VolumeMounts[0].MountPath; !bytes.Contains(read(t, plugin.Spec.Command[0]), []byte(mount)) {
		t.Errorf("%s does not write to %s", plugin.Spec.Command[0], mount)
	}
}

func TestIndexedJob(t *testing.T) {
	codec := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	var job *batchv1.Job
	for document := range bytes.SplitSeq(read(t, "indexed-job.yaml"), []byte("\n---\n")) {
		object, kind, err := codec.Decode(document, nil, nil)
		if err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		if kind.Kind == "Job" {
			job, _ = object.(*batchv1.Job)
		}
	}
	c := job.Spec.Template.Spec.Containers[0]
	shards := int(*job.Spec.Completions)
	if i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "SHARDS" }); i < 0 || c.Env[i].Value != fmt.Sprint(shards) {
		t.Errorf("SHARDS is not %d: %+v", shards, c.Env)
	}
	for name, test := range map[string]struct {
		cases  []string
		state  string
		lost   bool // a shard has no log
		failed int
		status int
	}{
		"conformant":      {[]string{"a", "b", "c", "d", "e", "f", "g"}, "SuccessCriteriaMet Complete", false, 0, 0},
		"not conformant":  {[]string{"a", "wrong", "c", "d", "e", "f", "g"}, "SuccessCriteriaMet Complete", false, 1, 1},
		"a shard is lost": {[]string{"a", "b", "c", "d", "e", "f", "g"}, "FailureTarget Failed", true, 0, 3},
	} {
		t.Run(name, func(t *testing.T) {
			logs := t.TempDir()
			m := newMachine(t, tables(t, test.cases...), "LOGS="+logs, "STATE="+test.state, "POD_IP=192.0.2.7")
			for i := range shards {
				log := m.must(t, "sh "+absolute(t, c.Command[0]), fmt.Sprintf("JOB_COMPLETION_INDEX=%d", i), fmt.Sprintf("SHARDS=%d", shards), "TIMES=/nonexistent")
				if i == 0 && test.lost {
					continue
				}
				if err := os.WriteFile(filepath.Join(logs, fmt.Sprintf("gatehouse-%d-x", i)), []byte(log), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got, want := m.calls(t), "--target kubeconfig --hook-address 192.0.2.7 --shard 3/3"; !strings.Contains(got, want) {
				t.Errorf("it called %s, want %s", got, want)
			}
			status, out := m.run(t, absolute(t, "collect")+" out")
			if status != test.status {
				t.Errorf("exit status %d, want %d\n%s", status, test.status, out)
			}
			if !test.lost {
				m.checkWhole(t, "out/report.json", len(test.cases), test.failed)
			}
		})
	}
}

// TestIndexedJobTakesTimes: a shard of an image with recorded times is dealt by them.
func TestIndexedJobTakesTimes(t *testing.T) {
	m := newMachine(t, tables(t, "a", "b", "c"), "POD_IP=192.0.2.7", "SHARDS=2", "JOB_COMPLETION_INDEX=1")
	times := filepath.Join(m.dir, "times.json")
	if err := os.WriteFile(times, []byte(`{"schemaVersion": 1, "results": [{"id": "objects/read/a", "duration": 9}, {"id": "objects/read/b", "duration": 1}, {"id": "objects/read/c", "duration": 1}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	log := m.must(t, "sh "+absolute(t, "run-shard"), "TIMES="+times)
	if got, want := m.calls(t), "--times "+times; !strings.Contains(got, want) || !strings.Contains(log, "running 2 cases") {
		t.Errorf("it called %s and said %s", got, log)
	}
}

func TestScriptsParse(t *testing.T) {
	for script, shell := range map[string]string{"run-shard": "sh", "run-sonobuoy": "sh", "collect": "bash"} {
		if out, err := exec.CommandContext(t.Context(), shell, "-n", script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
		if info, err := os.Stat(script); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s cannot be executed: %v", script, err)
		}
	}
}

// TestContainerfile: what the image is made of is there, the binary needs nothing of the image in which it was built, and
// what the other samples run is in it.
func TestContainerfile(t *testing.T) {
	file := string(read(t, "Containerfile"))
	copied := map[string]bool{"gatehouse": true}
	for _, line := range regexp.MustCompile(`(?m)^COPY (.*)$`).FindAllStringSubmatch(file, -1) {
		words := slices.DeleteFunc(strings.Fields(line[1]), func(w string) bool { return strings.HasPrefix(w, "--") })
		for _, source := range words[:len(words)-1] {
			if strings.HasPrefix(source, "/") { // of the first stage
				continue
			}
			if _, err := os.Stat(filepath.Join("../../..", source)); err != nil {
				t.Error(err)
			}
			copied[filepath.Base(source)] = true
		}
	}
	for sample, script := range map[string]string{"indexed-job.yaml": "run-shard", "sonobuoy.yaml": "run-sonobuoy"} {
		if !copied[script] || !bytes.Contains(read(t, sample), []byte("command: ["+script+"]")) {
			t.Errorf("%s runs something else than %s, or it is not in the image, which has %v", sample, script, slices.Sorted(maps.Keys(copied)))
		}
	}
	if !strings.Contains(file, "RUN CGO_ENABLED=0 go build") {
		t.Error("the binary may need libraries of the image in which it was built")
	}
}
