package reports

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// trialRun is the trial of a webhook that breaks one rule, does not follow another, and was not asked for a third.
func trialRun() Run {
	rule := func(id, statement string, level fixtures.Level) fixtures.Behavior {
		return fixtures.Behavior{ID: id, Area: "webhook-contract", Statement: statement, Level: level, Kind: fixtures.Documented, Sources: []string{"s"}, API: []string{"v1"}}
	}
	result := func(id string, o Outcome) Result {
		return Result{ID: "webhook-contract/" + strings.ReplaceAll(strings.TrimPrefix(id, "contract."), ".", "/"), Area: "webhook-contract", Behaviors: []string{id}, File: "gatehouse.yaml", Outcome: o}
	}
	uid := result("contract.response.uid-echoed", Fail)
	for _, n := range []string{"1", "2", "3"} {
		uid.Failures = append(uid.Failures, Failure{Step: n + ": CREATE pods a/b", Message: "pods.example.com: response.uid is \"x\"", Advice: "Copy request.uid into response.uid."})
		uid.Transcript = append(uid.Transcript, Step{
			Step: n + ": CREATE pods a/b", Request: "POST https://127.0.0.1:1/validate", Code: 200,
			Body:   `{"request":{"uid":"u","operation":"CREATE","object":{"metadata":{"name":"b","managedFields":[{"manager":"m"}]}}}}`,
			Answer: `{"response":{"uid":"x","allowed":true}}`,
		})
	}
	timeout := result("contract.registration.timeout-small", Warn)
	timeout.File, timeout.Line = "webhook.yaml", 7
	timeout.Failures = []Failure{{Path: "webhooks[0].timeoutSeconds", Line: 7, Message: "pods.example.com: requests may wait for 30s", Advice: "Set timeoutSeconds to 10 or less."}}
	memory := result("contract.time.memory", NotRun)
	memory.Cause, memory.Reason = CauseTarget, "Gatehouse did not start the process"
	deletion := result("contract.null-object-on-delete", NotRun)
	deletion.Cause, deletion.Reason = CauseInapplicable, "the rules match no DELETE"
	name := result("contract.registration.fully-qualified-name", Pass)
	return Run{
		Suite: "v0.1.0", Target: TargetInfo{Name: "fakeapi", Version: "v1.37.2+gatehouse"}, Start: start, End: start.Add(3 * time.Second),
		Webhook: &WebhookInfo{
			Names: []string{"pods.example.com (validating)"}, Config: "gatehouse.yaml",
			SetAside: []string{"Certificate cert-manager.io/v1 (webhook.yaml:20)"}, Notes: []string{"A create takes 1ms longer with the webhook."},
		},
		Ledger: &fixtures.Ledger{
			Areas: []fixtures.Area{{ID: "webhook-contract", Title: "Contract", Description: "What a webhook owes."}},
			Behaviors: []fixtures.Behavior{
				rule("contract.response.uid-echoed", "response.uid equals request.uid.", fixtures.Must),
				rule("contract.registration.timeout-small", "The registered timeout is short.", fixtures.Should),
				rule("contract.time.memory", "Memory does not grow.", fixtures.Should),
				rule("contract.null-object-on-delete", "The webhook handles object null on DELETE.", fixtures.Must),
				rule("contract.registration.fully-qualified-name", "Names are fully qualified.", fixtures.Must),
			},
		},
		Results: []Result{uid, timeout, memory, deletion, name},
	}
}

func TestWriteTextOfTrial(t *testing.T) {
	for _, test := range []struct {
		file string
		o    TextOptions
	}{{"text-trial.txt", TextOptions{}}, {"text-trial-all.txt", TextOptions{All: true}}} {
		var got bytes.Buffer
		if err := WriteText(&got, New(trialRun()), test.o); err != nil {
			t.Fatal(err)
		}
		golden(t, test.file, got.Bytes())
	}
}

// TestMoreOfTrial: findings that the report leaves out are counted with those that the text leaves out.
func TestMoreOfTrial(t *testing.T) {
	run := trialRun()
	run.Results[0].Failures = append(run.Results[0].Failures, More(4))
	text := writeText(t, New(run), TextOptions{})
	if !strings.Contains(text, "... and 6 findings more") || strings.Contains(text, "of the kind") {
		t.Errorf("got\n%s", text)
	}
}

// TestVerdictOfTrial: a rule that recommends warns and does not decide; one that is not looked at leaves the verdict open
// only where it must hold; one that does not apply is out of the question.
func TestVerdictOfTrial(t *testing.T) {
	only := func(keep ...string) Report {
		run := trialRun()
		var results []Result
		for _, r := range run.Results {
			for _, id := range keep {
				if r.Behaviors[0] == "contract."+id {
					results = append(results, r)
				}
			}
		}
		run.Results = results
		return New(run)
	}
	for _, test := range []struct {
		keep []string
		want Verdict
	}{
		{[]string{"response.uid-echoed", "registration.timeout-small"}, NotConformant},
		{[]string{"registration.timeout-small", "registration.fully-qualified-name", "null-object-on-delete"}, Conformant},
		{[]string{"registration.fully-qualified-name", "time.memory"}, Conformant},
		{[]string{"null-object-on-delete"}, Broken},
	} {
		if r := only(test.keep...); r.Verdict != test.want {
			t.Errorf("%q: verdict %s, want %s: %q", test.keep, r.Verdict, test.want, r.Reasons)
		}
	}
	must := trialRun()
	must.Results[0].Outcome, must.Results[0].Cause, must.Results[0].Failures = NotRun, CauseTarget, nil
	if r := New(must); r.Verdict != Partial {
		t.Errorf("a must that was not looked at: verdict %s, want %s", r.Verdict, Partial)
	}
	r := New(trialRun())
	if r.Total.CaseCounts.Warn != 1 || r.Total.CaseCounts.Executed() != 3 {
		t.Errorf("counts %+v", r.Total.CaseCounts)
	}
	known := trialRun()
	known.Known = []KnownFailure{{ID: "webhook-contract/registration/timeout-small", Reason: "slow", Expires: "2026-12-31"}}
	if r := New(known); r.Total.CaseCounts.KnownFail != 1 || r.Total.CaseCounts.Warn != 0 {
		t.Errorf("a warning that is skipped still warns: %+v", r.Total.CaseCounts)
	}
}

// TestTrialIsReadAgain: report.json of a trial is read as it was written.
func TestTrialIsReadAgain(t *testing.T) {
	var first, second bytes.Buffer
	if err := WriteJSON(&first, New(trialRun())); err != nil {
		t.Fatal(err)
	}
	if err := validateJSON(t, compileSchema(t), first.Bytes()); err != nil {
		t.Error(err)
	}
	read, err := ReadJSON("report.json", first.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(&second, read); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Error("report.json changes when it is read and written")
	}
}
