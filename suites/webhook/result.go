package webhook

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/exchange"
)

// maxFindings is how many findings of a rule a report holds; the rest is counted.
const maxFindings = 10

// resultID is the id of a rule's result: its words as a path below the area.
func resultID(rule string) string {
	return path.Join(Area, strings.ReplaceAll(strings.TrimPrefix(rule, "contract."), ".", "/"))
}

// result judges a record by a rule.
func result(rule Rule, r *record, ledger *fixtures.Ledger, config string) reports.Result {
	entry, _ := ledger.Behavior(rule.ID) // a test sees to it that it is there
	out := reports.Result{
		ID: resultID(rule.ID), Title: entry.Statement, Area: Area, Behaviors: []string{rule.ID}, File: config,
	}
	if len(r.set.Hooks) > 0 && config == "" {
		out.File, _ = splitPlace(r.set.Hooks[0].Place)
	}
	j := rule.judge(r)
	out.Notes = j.notes
	switch {
	case len(j.findings) > 0 && entry.Level == fixtures.Must:
		out.Outcome = reports.Fail
	case len(j.findings) > 0:
		out.Outcome = reports.Warn
	case j.notRun != "":
		out.Outcome, out.Cause, out.Reason = reports.NotRun, reports.CauseTarget, j.notRun
	case j.looked == 0 && len(r.unseen) > 0:
		out.Outcome, out.Cause = reports.NotRun, reports.CauseTarget
		out.Reason = fmt.Sprintf("no request was made that %s is registered for; give samples that its rules, selectors and conditions match", r.unseen[0])
	case j.looked == 0:
		out.Outcome, out.Cause, out.Reason = reports.NotRun, reports.CauseInapplicable, j.inapplicable
	default:
		out.Outcome = reports.Pass
	}
	for i, f := range j.findings {
		if i == maxFindings {
			out.Failures = append(out.Failures, reports.More(len(j.findings)-i))
			break
		}
		place, line := splitPlace(f.place)
		if i == 0 && place != "" {
			out.File, out.Line = place, line
		}
		failure, step := describe(f, rule.Change, i)
		if place == out.File {
			failure.Line = line
		}
		out.Failures = append(out.Failures, failure)
		if step != nil {
			out.Transcript = append(out.Transcript, *step)
		}
	}
	return out
}

// describe makes of a finding what a report says: the failure, and the review and the answer as its evidence.
func describe(f finding, advice string, number int) (reports.Failure, *reports.Step) {
	failure := reports.Failure{Message: f.message, Path: f.path, Advice: advice}
	if f.hook != nil {
		failure.Message = f.hook.Name + ": " + f.message
	}
	var step *reports.Step
	switch {
	case f.attempt != nil:
		step = evidence(f.attempt.Exchange, f.attempt.title)
	case f.hostile != nil:
		step = evidence(f.hostile.Exchange, f.hostile.title)
	case f.live != nil:
		failure.Message = f.live.title + ": " + f.message
		step = &reports.Step{Step: f.live.title, Request: f.live.title, Code: f.live.code, Answer: f.live.err}
		for _, call := range f.live.calls {
			step.Calls = append(step.Calls, reports.Call{Hook: call.hook, Review: call.review, Answer: call.answer})
		}
	}
	if step != nil {
		step.Step = fmt.Sprintf("%d: %s", number+1, step.Step) // each piece of evidence has a name of its own
		failure.Step = step.Step
	}
	return failure, step
}

func evidence(x *exchange.Exchange, title string) *reports.Step {
	return &reports.Step{
		Step: title, Request: x.Method + " " + x.URL, Body: bounded(x.Sent), Code: x.Code, Answer: bounded(x.Body), Duration: x.Took,
	}
}

// maxEvidence is how many bytes of a body a report holds.
const maxEvidence = 32 << 10

func bounded(body []byte) string {
	if len(body) <= maxEvidence {
		return string(body)
	}
	return fmt.Sprintf("%s... (%d bytes)", body[:maxEvidence], len(body))
}

// splitPlace splits FILE:LINE.
func splitPlace(place string) (string, int) {
	i := strings.LastIndexByte(place, ':')
	if i < 0 {
		return place, 0
	}
	line, err := strconv.Atoi(place[i+1:])
	if err != nil {
		return place, 0
	}
	return place[:i], line
}
