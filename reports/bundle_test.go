package reports

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// bundleSet holds a case for each result of the bad run, all of one table.
func bundleSet(t *testing.T) *fixtures.Set {
	t.Helper()
	set, err := fixtures.Load(fstest.MapFS{
		"behaviors.yaml": {Data: []byte(`
areas: [{id: matching-rules, title: Rules, description: Rules.}]
behaviors: [{id: webhook.a, area: matching-rules, statement: It is so., level: must, kind: documented, sources: [x], api: [v1]}]
`)},
		"matching-rules/operations.yaml": {Data: []byte(`
title: Rules select by operation
behaviors: [webhook.a]
steps: [{get: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${what}"}}}]
cases:
- {name: create, set: {what: a}}
- {name: update, set: {what: b}}
- {name: exec, set: {what: c}}
- {name: delete, set: {what: d}}
- {name: connect, set: {what: e}}
`)},
	}, fixtures.Options{Name: "fixtures"})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestBundles: what failed and what ended in an error has a bundle, which tells all that the report does, and reads as
// a case.
func TestBundles(t *testing.T) {
	report, set, dir := New(badRun()), bundleSet(t), filepath.Join(t.TempDir(), "failures")
	bundles, err := Bundles(report, set)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, b := range bundles {
		ids = append(ids, b.ID())
		if err := b.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"matching-rules/operations/update", "matching-rules/operations/connect"}; !slices.Equal(ids, want) {
		t.Fatalf("bundles of %q, want %q", ids, want)
	}
	update := filepath.Join(dir, "matching-rules", "operations", "update")
	if got, want := entries(t, update), "README.md fixture report.json transcript.txt"; got != want {
		t.Errorf("the bundle holds %s, want %s", got, want)
	}
	if got, want := content(t, filepath.Join(update, bundleReadme)), bundles[0].readme(update); got != want {
		t.Errorf("the README is %q, want %q", got, want)
	}
	golden(t, "bundle-readme.md", []byte(bundles[0].readme("out/failures/matching-rules/operations/update")))
	golden(t, "bundle-transcript.txt", []byte(content(t, filepath.Join(update, bundleTranscript))))

	found, err := FindBundles(dir)
	if err != nil || len(found) != 2 {
		t.Fatalf("found %q, %v", found, err)
	}
	alone, c, err := ReadBundle(update)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(report.Results, func(r Result) bool { return r.ID == c.ID })
	if diff := cmp.Diff(text1(t, Report{Results: report.Results[i : i+1]}), text1(t, Report{Results: alone.Results})); diff != "" {
		t.Errorf("the result (-of the run +of the bundle):\n%s", diff)
	}
	if diff := cmp.Diff(report.Target, alone.Target); diff != "" {
		t.Errorf("the target (-of the run +of the bundle):\n%s", diff)
	}
	if alone.Verdict != NotConformant {
		t.Errorf("the verdict is %s", alone.Verdict)
	}
	if step, err := c.ResolveStep(0, fixtures.Vars{}); err != nil || step.Get.Unstructured().GetName() != "b" {
		t.Errorf("its step is %v, %v", step, err)
	}
}

func TestBundlesOfNothing(t *testing.T) {
	unexpected := sampleRun(passing()...)
	unexpected.Known = []KnownFailure{{ID: unexpected.Results[0].ID, Reason: "x", Expires: "2026-12-31"}}
	for name, run := range map[string]Run{"all pass": sampleRun(passing()...), "an unexpected pass": unexpected} {
		if bundles, err := Bundles(New(run), bundleSet(t)); err != nil || len(bundles) != 0 {
			t.Errorf("%s: %d bundles, %v", name, len(bundles), err)
		}
	}
}

func TestBundlePath(t *testing.T) {
	for id, want := range map[string]string{"a/b/c": "a/b/c", "../../etc": "etc", "/a//b": "a/b"} {
		if got := BundlePath(id); got != want {
			t.Errorf("%q: got %q, want %q", id, got, want)
		}
	}
}

// TestRemoveBundles: what earlier runs left goes, what is not a bundle stays.
func TestRemoveBundles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "failures")
	if err := RemoveBundles(dir); err != nil {
		t.Errorf("no directory: %v", err)
	}
	bundles, err := Bundles(New(badRun()), bundleSet(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bundles {
		if err := b.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	mine := filepath.Join(dir, "matching-rules", "report.json")
	if err := os.WriteFile(mine, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := RemoveBundles(dir); err != nil {
		t.Fatal(err)
	}
	if got := entries(t, filepath.Dir(mine)); got != "report.json" {
		t.Errorf("there is %q, want the file that is no bundle alone", got)
	}
	if err := errors.Join(os.Remove(mine), bundles[0].Write(dir), RemoveBundles(dir)); err != nil {
		t.Fatal(err)
	}
	if got := entries(t, filepath.Dir(dir)); got != "" {
		t.Errorf("there is %q, want nothing", got)
	}
}

func TestWriteBundleErrors(t *testing.T) {
	bundles, err := Bundles(New(badRun()), bundleSet(t))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := bundles[0].Write(file); err == nil || !strings.Contains(err.Error(), "writing "+file) {
		t.Errorf("got %v", err)
	}
}

func TestReadBundleRefuses(t *testing.T) {
	bundles, err := Bundles(New(badRun()), bundleSet(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(b *Bundle)
		want   string
	}{
		"another case":     {func(b *Bundle) { b.Fixture = bundles[1].Fixture }, "not the bundle of a case"},
		"a damaged table":  {func(b *Bundle) { b.Fixture = map[string][]byte{"behaviors.yaml": []byte("areas: 1\n")} }, "behaviors.yaml:1:8"},
		"no fixture":       {func(b *Bundle) { b.Fixture = nil }, "fixture"},
		"a damaged report": {func(b *Bundle) { b.Report.Verdict = Conformant }, "report.json: the verdict is"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, b := t.TempDir(), bundles[0]
			tc.change(&b)
			if err := b.Write(dir); err != nil {
				t.Fatal(err)
			}
			if _, _, err := ReadBundle(filepath.Join(dir, BundlePath(b.ID()))); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
	if _, _, err := ReadBundle(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty directory: %v", err)
	}
}

func TestReplay(t *testing.T) {
	failed := New(badRun()).Results[1] // the update
	then := New(sampleRun(failed))
	fakeapi := TargetInfo{Name: "fakeapi", Version: "v1.37.2+gatehouse"}
	passed, other, left := failed, failed, failed
	passed.Outcome, passed.Failures, passed.Transcript = Pass, nil, nil
	other.Failures = failed.Failures[:1]
	other.Transcript = slices.Clone(failed.Transcript)
	other.Transcript[1].Code = 201
	broken := failed
	broken.Outcome, broken.Failures = Error, []Failure{{Message: "connection refused"}}
	left.Outcome, left.Cause, left.Reason, left.Failures, left.Transcript = NotRun, CauseTarget, "hooks: the target cannot", nil, nil
	var all strings.Builder
	for _, now := range []Result{passed, failed, other, broken, left} {
		if err := WriteReplay(&all, then, fakeapi, now, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		all.WriteString("----\n")
	}
	golden(t, "replay.txt", []byte(all.String()))
}
