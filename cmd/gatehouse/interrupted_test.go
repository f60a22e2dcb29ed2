package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-dev/gatehouse/reports"
)

// reporting are the commands that write reports to --out, in runs of their own.
func reporting(t *testing.T) map[string][]string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"webhook.yaml":   colorsManifest,
		"gatehouse.yaml": "manifests: [webhook.yaml]\nurl: https://127.0.0.1:9/\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return map[string][]string{
		"conformance": {"conformance", "--builtin", thirdParty(t, "- {name: one, set: {want: \"y\"}}\n")},
		"policy test": {"policy", "test", "../../suites/policy/examples/service-account-use"},
		"webhook":     {"webhook", "--config", filepath.Join(dir, "gatehouse.yaml")},
	}
}

// reportFiles are the files of --out.
var reportFiles = []string{"report.json", "junit.xml", "report.html", "report.md"}

// TestInterruptedRunsReport: a run that is interrupted leaves whole reports of itself, that say so, and none of an earlier
// run.
func TestInterruptedRunsReport(t *testing.T) {
	for name, args := range reporting(t) {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			for _, file := range reportFiles {
				if err := os.WriteFile(filepath.Join(out, file), []byte("of an earlier run"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errors.New("enough of it"))
			var stdout, stderr bytes.Buffer
			if status := run(ctx, append(args, "--out", out), &stdout, &stderr); status != exitEnvironment {
				t.Errorf("exit status %d, want %d; said %s%s", status, exitEnvironment, &stdout, &stderr)
			}
			if said := stdout.String() + stderr.String(); !strings.Contains(said, "enough of it") {
				t.Errorf("it does not say why it ended: %s", said)
			}
			for _, file := range reportFiles {
				if text := readFile(t, filepath.Join(out, file)); !strings.Contains(text, "enough of it") || strings.Contains(text, "of an earlier run") {
					t.Errorf("%s does not say why the run ended:\n%s", file, text)
				}
			}
			report, err := reports.ReadJSON("report.json", []byte(readFile(t, filepath.Join(out, "report.json"))))
			if err != nil {
				t.Fatal(err)
			}
			if c := report.Total.CaseCounts; report.Verdict != reports.Broken || c.Executed() > 0 || c.NotRun == 0 {
				t.Errorf("verdict %s, %+v", report.Verdict, c)
			}
		})
	}
}

// TestUnwritableReports: a report that cannot be written is named, with the reason, before anything runs; the others are
// written all the same, and say that nothing has run.
func TestUnwritableReports(t *testing.T) {
	for name, args := range reporting(t) {
		for _, unwritable := range reportFiles {
			t.Run(name+" "+unwritable, func(t *testing.T) {
				out := t.TempDir()
				if err := os.MkdirAll(filepath.Join(out, unwritable, "in-the-way"), 0o755); err != nil {
					t.Fatal(err)
				}
				var stdout, stderr bytes.Buffer
				if status := run(t.Context(), append(args, "--out", out), &stdout, &stderr); status != exitEnvironment {
					t.Errorf("exit status %d, want %d", status, exitEnvironment)
				}
				if said := stderr.String(); !strings.Contains(said, "writing "+filepath.Join(out, unwritable)) || !strings.Contains(said, "file exists") {
					t.Errorf("it says %s", said)
				}
				for _, file := range reportFiles {
					if file != unwritable && !strings.Contains(readFile(t, filepath.Join(out, file)), "has not ended") {
						t.Errorf("%s does not say that nothing has run", file)
					}
				}
			})
		}
	}
}
