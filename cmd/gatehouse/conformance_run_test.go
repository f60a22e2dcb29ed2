package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/reports"
)

// thirdParty writes a directory of fixtures with a file of these cases, which the name of each tells apart.
func thirdParty(t *testing.T, rows string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"behaviors.yaml": `
prefix: demo
areas: [{id: demo-objects, title: Objects, description: What is written can be read.}]
behaviors:
- {id: demo.read, area: demo-objects, statement: What is written can be read., level: must, kind: documented, sources: [nobody], api: [v1]}
`,
		"demo-objects/read.yaml": `title: What is written can be read
behaviors: [demo.read]
steps:
- create: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "y"}}
  expect: {object: {data: {x: "${want}"}}}
cases:
` + rows,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// ran is what came of a run of gatehouse conformance.
type ran struct {
	status         int
	stdout, stderr string
	report         reports.Report
	junit          string
}

// conform runs gatehouse conformance on cases of a third party.
func conform(t *testing.T, ctx context.Context, rows string, args ...string) ran {
	t.Helper()
	out := filepath.Join(t.TempDir(), "new", "out")
	args = append([]string{"conformance", "--fixtures", thirdParty(t, rows), "--focus", "^demo", "--out", out}, args...)
	var stdout, stderr bytes.Buffer
	r := ran{status: run(ctx, args, &stdout, &stderr)}
	r.stdout, r.stderr = stdout.String(), stderr.String()
	data, err := os.ReadFile(filepath.Join(out, "report.json"))
	if err != nil {
		t.Fatalf("%v; said %s", err, r.stderr)
	}
	if r.report, err = reports.ReadJSON("report.json", data); err != nil {
		t.Fatal(err)
	}
	junit, err := os.ReadFile(filepath.Join(out, "junit.xml"))
	if err != nil {
		t.Fatal(err)
	}
	r.junit = string(junit)
	return r
}

// outcomesOf are the outcomes of the third party's cases by name.
func (r ran) outcomesOf() map[string]reports.Outcome {
	list := map[string]reports.Outcome{}
	for _, result := range r.report.Results {
		if name, ok := strings.CutPrefix(result.ID, "demo-objects/read/"); ok {
			list[name] = result.Outcome
		}
	}
	return list
}

func TestConformance(t *testing.T) {
	got := conform(t, t.Context(), `
- {name: one, set: {want: "y"}}
- {name: two, set: {want: "y"}}
- {name: alone, serial: true, set: {want: "y"}}
- {name: elsewhere, needs: [nodes], set: {want: "y"}}
`, "--procs", "2")
	if got.status != 0 {
		t.Fatalf("exit status %d; said %s\n%s", got.status, got.stderr, got.stdout)
	}
	want := map[string]reports.Outcome{"one": reports.Pass, "two": reports.Pass, "alone": reports.Pass, "elsewhere": reports.NotRun}
	if diff := cmp.Diff(want, got.outcomesOf()); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if got.report.Target.Name != "fakeapi" || got.report.Target.Version == "" {
		t.Errorf("target %+v", got.report.Target)
	}
	for _, path := range []string{"junit.xml", "report.json"} {
		if !strings.Contains(got.stdout, path) {
			t.Errorf("%s is not named in the output:\n%s", path, got.stdout)
		}
	}
}

func TestConformanceWithAPlantedFailure(t *testing.T) {
	got := conform(t, t.Context(), "- {name: right, set: {want: \"y\"}}\n- {name: wrong, set: {want: z}}\n")
	if got.status != exitNotConformant {
		t.Errorf("exit status %d, want %d", got.status, exitNotConformant)
	}
	if diff := cmp.Diff(map[string]reports.Outcome{"right": reports.Pass, "wrong": reports.Fail}, got.outcomesOf()); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if !strings.Contains(got.stderr, "FAIL demo-objects/read/wrong: has another value") {
		t.Errorf("the failure was not shown while it ran:\n%s", got.stderr)
	}
	if !strings.Contains(got.stdout, "expect.object.data.x") || !strings.Contains(got.junit, "expect.object.data.x") {
		t.Errorf("the place of the failure is not in the summary or not in JUnit:\n%s\n%s", got.stdout, got.junit)
	}
}

func TestConformanceWithNothingExecuted(t *testing.T) {
	got := conform(t, t.Context(), "- {name: elsewhere, needs: [nodes], set: {want: \"y\"}}\n")
	if got.status != exitEnvironment || got.report.Verdict != reports.Broken {
		t.Errorf("exit status %d, verdict %s; want %d and an error", got.status, got.report.Verdict, exitEnvironment)
	}
}

func TestConformanceInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	got := conform(t, ctx, "- {name: one, set: {want: \"y\"}}\n")
	if got.status != exitEnvironment || got.report.Interrupted == "" {
		t.Errorf("exit status %d, interrupted %q; want %d and why", got.status, got.report.Interrupted, exitEnvironment)
	}
	if diff := cmp.Diff(map[string]reports.Outcome{"one": reports.NotRun}, got.outcomesOf()); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}
