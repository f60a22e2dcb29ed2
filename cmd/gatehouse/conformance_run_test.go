package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	out            string // the directory of --out
	stdout, stderr string
	report         reports.Report
	junit          string
}

// conform runs gatehouse conformance on these cases alone.
func conform(t *testing.T, ctx context.Context, rows string, args ...string) ran {
	t.Helper()
	return conformTo(t, ctx, append([]string{"--builtin", thirdParty(t, rows)}, args...)...)
}

func conformTo(t *testing.T, ctx context.Context, args ...string) ran {
	t.Helper()
	out := filepath.Join(t.TempDir(), "new", "out")
	args = append([]string{"conformance", "--out", out}, args...)
	var stdout, stderr bytes.Buffer
	r := ran{out: out, status: run(ctx, args, &stdout, &stderr)}
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
	dir := thirdParty(t, `
- {name: one, set: {want: "y"}}
- {name: two, set: {want: "y"}}
- {name: alone, serial: true, set: {want: "y"}}
- {name: elsewhere, needs: [nodes], set: {want: "y"}}
`)
	got := conformTo(t, t.Context(), "--fixtures", dir, "--focus", "^demo", "--procs", "2")
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

// TestConformanceKnown: what is listed as known fails no run, as long as the list is right.
func TestConformanceKnown(t *testing.T) {
	const rows = `
- {name: right, set: {want: "y"}}
- {name: wrong, set: {want: z}}
`
	for name, test := range map[string]struct {
		known   string
		verdict reports.Verdict
		said    []string // on the terminal and in JUnit
	}{
		"a known failure": {
			"- {id: demo-objects/read/wrong, reason: as our proxy does, expires: 9999-12-31}", reports.ConformantWithKnownFailures,
			[]string{"as our proxy does", "1 known failure"},
		},
		"an expired entry": {
			"- {id: demo-objects/read/wrong, reason: as our proxy does, expires: 2020-12-31}", reports.NotConformant,
			[]string{"known failure, expired on 2020-12-31: as our proxy does"},
		},
		"an unexpected pass": {
			"- {id: demo-objects/read/wrong, reason: x, expires: 9999-12-31}\n- {id: demo-objects/read/right, reason: as our proxy does, expires: 9999-12-31}",
			reports.NotConformant, []string{"listed as a known failure (as our proxy does), but it passed: take it off the list"},
		},
		"no such case": {
			"- {id: demo-objects/read/wrong, reason: x, expires: 9999-12-31}\n- {id: demo-objects/read/gone, reason: x, expires: 9999-12-31}",
			reports.NotConformant, []string{"the known failure demo-objects/read/gone names no case"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "known.yaml")
			if err := os.WriteFile(file, []byte(test.known), 0o600); err != nil {
				t.Fatal(err)
			}
			got := conform(t, t.Context(), rows, "--known", file)
			if got.report.Verdict != test.verdict || got.status != test.verdict.ExitStatus() {
				t.Errorf("%s with exit status %d, want %s", got.report.Verdict, got.status, test.verdict)
			}
			for _, text := range test.said {
				if unwrapped := strings.Join(strings.Fields(got.stdout), " "); !strings.Contains(unwrapped, text) || !strings.Contains(got.junit, text) {
					t.Errorf("%q is not in the summary or not in JUnit:\n%s\n%s", text, got.stdout, got.junit)
				}
			}
			if len(got.report.Known) == 0 {
				t.Error("report.json does not keep the list")
			}
		})
	}
}

// TestReplay: what failed leaves a bundle, which runs again as it is and as it was mended; what passes leaves none.
func TestReplay(t *testing.T) {
	got := conform(t, t.Context(), "- {name: right, set: {want: \"y\"}}\n- {name: wrong, set: {want: z}}\n")
	failures := filepath.Join(got.out, "failures")
	bundle := filepath.Join(failures, "demo-objects", "read", "wrong")
	if !strings.Contains(got.stdout, "gatehouse replay "+failures) {
		t.Errorf("the summary does not say how to run it again:\n%s", got.stdout)
	}
	replay := func(args ...string) (status int, said string) {
		var stdout, stderr bytes.Buffer
		status = run(t.Context(), append([]string{"replay"}, args...), &stdout, &stderr)
		return status, stdout.String() + stderr.String()
	}
	if status, said := replay(bundle); status != exitNotConformant || !strings.Contains(said, "it is as it was") {
		t.Errorf("as it is: exit status %d, said %s", status, said)
	}
	table := filepath.Join(bundle, "fixture", "demo-objects", "read.yaml")
	mended := strings.Replace(readFile(t, table), "x: z", "x: \"y\"", 1)
	if err := os.WriteFile(table, []byte(mended), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, said := replay(failures); status != 0 || !strings.Contains(said, "it passes now") {
		t.Errorf("mended: exit status %d, said %s", status, said)
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no directory":   {nil, "name the bundle of a failed case"},
		"no bundle":      {[]string{t.TempDir()}, "no bundle of a failed case"},
		"no such place":  {[]string{"/nonexistent"}, "/nonexistent"},
		"unknown target": {[]string{bundle, "--target", "kind"}, `--target is "kind"`},
		"another's flag": {[]string{bundle, "--context", "x"}, "--context is for --target kubeconfig, not for fakeapi"},
	} {
		if status, said := replay(test.args...); status != exitUsage || !strings.Contains(said, test.want) {
			t.Errorf("%s: exit status %d, said %s; want %s", name, status, said, test.want)
		}
	}
	again := conform(t, t.Context(), "- {name: right, set: {want: \"y\"}}\n")
	if _, err := os.Stat(filepath.Join(again.out, "failures")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a run in which all passed has left failures: %v", err)
	}
}

// TestShardsMakeOneRun: three runs of one shard each, merged, are what one run gives, whether the cases were dealt in turn
// or by their times.
func TestShardsMakeOneRun(t *testing.T) {
	var rows strings.Builder
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		rows.WriteString("- {name: " + name + ", set: {want: \"y\"}}\n")
	}
	rows.WriteString("- {name: alone, serial: true, set: {want: \"y\"}}\n- {name: elsewhere, needs: [nodes], set: {want: \"y\"}}\n")
	builtin := thirdParty(t, rows.String())
	whole := conformTo(t, t.Context(), "--builtin", builtin)
	times := filepath.Join(t.TempDir(), "times.json")
	if status, _, err := runReport("--from", whole.out, "--times", times); status != whole.status {
		t.Fatal(err)
	}
	for name, flags := range map[string][]string{"in turn": nil, "by times": {"--times", times}} {
		t.Run(name, func(t *testing.T) {
			merged := filepath.Join(t.TempDir(), "report.json")
			args := []string{"--json", merged}
			for _, shard := range []string{"1/3", "2/3", "3/3"} {
				got := conformTo(t, t.Context(), append([]string{"--builtin", builtin, "--shard", shard}, flags...)...)
				args = append(args, "--from", got.out)
				// By times a slow case may be as much as all others.
				if n := got.report.Total.CaseCounts.Executed(); n == 0 || flags == nil && (n < 2 || n > 4) {
					t.Errorf("shard %s executes %d of 8 cases", shard, n)
				}
			}
			if status, _, err := runReport(args...); status != whole.status {
				t.Fatal(err)
			}
			got, err := reports.ReadJSON("merged", []byte(readFile(t, merged)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(timeless(whole.report), timeless(got)); diff != "" {
				t.Errorf("(-one run +merged):\n%s", diff)
			}
		})
	}
}

// timeless is a report without the times of its run.
func timeless(r reports.Report) reports.Report {
	r.Start, r.End = time.Time{}, time.Time{}
	for i := range r.Results {
		r.Results[i].Start, r.Results[i].Duration = time.Time{}, 0
	}
	return r
}

// TestConformanceOnly: a run of a file that has changed reads no other, and knows nothing of failures elsewhere.
func TestConformanceOnly(t *testing.T) {
	builtin, known := thirdParty(t, "- {name: one, set: {want: \"y\"}}\n"), filepath.Join(t.TempDir(), "known.yaml")
	if err := os.WriteFile(filepath.Join(builtin, "demo-objects", "broken.yaml"), []byte("title: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(known, []byte("- {id: demo-objects/broken/x, reason: x, expires: 9999-12-31}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := conformTo(t, t.Context(), "--builtin", builtin, "--known", known, "--only", "demo-objects/read.yaml", "--focus", "^demo")
	if got.status != 0 || got.report.Verdict != reports.Partial || len(got.report.Results) != 1 {
		t.Errorf("exit status %d, %s, %d results; said %s", got.status, got.report.Verdict, len(got.report.Results), got.stderr)
	}
}
