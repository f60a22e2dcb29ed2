package webhook_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/webhook"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/zoo"
)

// goodOptions put the good webhook of the zoo on trial in this process, and in short.
func goodOptions(t *testing.T) webhook.Options {
	t.Helper()
	files, err := zoo.Good().Files()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "manifests.yaml")
	if err := os.WriteFile(path, []byte(files["manifests.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	return webhook.Options{
		Manifests: []string{path}, Handler: zoo.Good().NewHandler,
		Limits: webhook.Limits{Load: time.Millisecond},
	}
}

// TestRun: a webhook that keeps the contract passes in somebody's own test.
func TestRun(t *testing.T) {
	if report := webhook.Run(t, goodOptions(t)); report.ExitStatus != 0 {
		t.Errorf("exit status %d: %q", report.ExitStatus, report.Reasons)
	}
}

// TestInterrupted: a trial that is interrupted judges nothing, and its report says so.
func TestInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	o := goodOptions(t)
	o.Progress = func(stage string) {
		if stage == "posting the reviews" {
			interrupt()
		}
	}
	report, err := webhook.Judge(ctx, o)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want that the context was cancelled", err)
	}
	if want := "posting the reviews: context canceled"; report.Interrupted != want || report.ExitStatus != 3 {
		t.Errorf("interrupted %q, exit status %d; want %q and 3", report.Interrupted, report.ExitStatus, want)
	}
	if len(report.Results) != len(webhook.Rules()) {
		t.Errorf("%d results of %d rules", len(report.Results), len(webhook.Rules()))
	}
	for _, r := range report.Results {
		if r.Outcome != reports.NotRun || r.Cause != reports.CauseInterrupted {
			t.Errorf("%s: %s (%s)", r.ID, r.Outcome, r.Cause)
		}
	}
}
