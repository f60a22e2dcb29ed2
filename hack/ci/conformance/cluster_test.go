package samples

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	kyaml "sigs.k8s.io/yaml"
)

// sonobuoyPlugin are the fields of a Sonobuoy plugin that the sample uses.
type sonobuoyPlugin struct {
	Config struct {
		Driver       string `json:"driver"`
		PluginName   string `json:"plugin-name"`
		ResultFormat string `json:"result-format"`
		Description  string `json:"description"`
	} `json:"sonobuoy-config"`
	Spec corev1.Container `json:"spec"`
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
