package webhook

import (
	"strings"
	"testing"

	"github.com/gatehouse-dev/gatehouse/reports"
)

// Run puts a webhook on trial inside a Go test: with a subtest for each rule, which fails when the rule is broken, is
// skipped when it was not looked at, and logs a warning where the rule only recommends. It returns the report.
func Run(t *testing.T, o Options) reports.Report {
	t.Helper()
	if o.Progress == nil {
		o.Progress = func(text string) { t.Log(text) }
	}
	report, err := Judge(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if report.Interrupted != "" {
		t.Fatal(report.Interrupted)
	}
	for _, note := range report.Webhook.Notes {
		t.Log(note)
	}
	for _, result := range report.Results {
		if result.Outcome == reports.Warn { // go test shows what a subtest that passes logs with -v alone
			t.Logf("warning: %s: %s", strings.Join(result.Behaviors, ", "), result.Failures[0].Message)
		}
	}
	for _, result := range report.Results {
		t.Run(strings.TrimPrefix(result.ID, Area+"/"), func(t *testing.T) {
			switch result.Outcome {
			case reports.Pass:
			case reports.NotRun, reports.KnownFail:
				t.Skip(result.Reason)
			case reports.Warn:
				t.Log("warning:\n" + reports.Describe(result))
			default:
				t.Error(reports.Describe(result))
			}
		})
	}
	return report
}
