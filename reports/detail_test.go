package reports

import "testing"

func TestSummary(t *testing.T) {
	ids := []string{"webhook.first", "webhook.second"}
	label, refused := Failure{Message: "a label\nis  missing"}, Failure{Message: "connection refused"}
	for name, tc := range map[string]struct {
		result Result
		want   string
	}{
		"a failure":                  {Result{Behaviors: ids, Outcome: Fail, Failures: []Failure{label, refused}}, "webhook.first: a label is missing"},
		"a failure without one":      {Result{Behaviors: ids, Outcome: Fail}, "webhook.first: fail"},
		"an expired known failure":   {Result{Behaviors: ids, Outcome: Fail, Reason: "expired", Failures: []Failure{label}}, "webhook.first: a label is missing"},
		"an error":                   {Result{Behaviors: ids, Outcome: Error, Failures: []Failure{refused}}, "webhook.first: connection refused"},
		"an error after a failure":   {Result{Behaviors: ids, Outcome: Error, Failures: []Failure{label, refused}}, "webhook.first: connection refused"},
		"an error that has a reason": {Result{Behaviors: ids, Outcome: Error, Reason: "shard died"}, "webhook.first: shard died"},
		"a known failure":            {Result{Behaviors: ids, Outcome: KnownFail, Reason: "issue 7", Failures: []Failure{label}}, "webhook.first: known failure: issue 7"},
		"a case not run":             {Result{Behaviors: ids, Outcome: NotRun, Cause: CauseTarget, Reason: "target cannot: audit"}, "webhook.first: not run: target cannot: audit"},
		"a case not run, no reason":  {Result{Behaviors: ids, Outcome: NotRun, Cause: CauseDeselected}, "webhook.first: not run: deselected"},
		"a case without behaviors":   {Result{Outcome: Fail, Failures: []Failure{label}}, "a label is missing"},
		"a message of a terminal":    {Result{Behaviors: ids, Outcome: Fail, Failures: []Failure{{Message: "\x1b[2J"}}}, "webhook.first: ␛[2J"},
	} {
		if got := summary(tc.result); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
