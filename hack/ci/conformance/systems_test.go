// Package samples tests the samples of this directory: each is decoded strictly, and its shell parts run.
package samples

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	kyaml "sigs.k8s.io/yaml"
)

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
)

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
