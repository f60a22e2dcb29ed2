package reports

import (
	"time"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// start is when the sample runs began.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func sampleLedger() *fixtures.Ledger {
	behavior := func(area, id string, level fixtures.Level, kind fixtures.Kind) fixtures.Behavior {
		return fixtures.Behavior{
			ID: id, Area: area, Statement: "Something is so.", Level: level, Kind: kind,
			Sources: []string{"k8s.io/api admissionregistration/v1 RuleWithOperations.operations"}, API: []string{"v1"},
			Notes: "not for reports",
		}
	}
	later := behavior("matching-rules", "webhook.match.later", fixtures.Must, fixtures.Documented)
	later.Since = "1.40"
	return &fixtures.Ledger{
		Areas: []fixtures.Area{
			{ID: "matching-rules", Title: "Rules", Description: "Which requests a rule selects.", Finished: true},
			{ID: "invocation-order", Title: "Order", Description: "In which order webhooks run.", Finished: true},
			{ID: "webhook-contract", Title: "Contract", Description: "What a webhook owes."},
		},
		Behaviors: []fixtures.Behavior{
			behavior("matching-rules", "webhook.match.operations.create", fixtures.Must, fixtures.Documented),
			behavior("matching-rules", "webhook.match.scope.namespaced", fixtures.Must, fixtures.Documented),
			behavior("matching-rules", "webhook.match.wildcard", fixtures.Should, fixtures.Observed),
			later,
			behavior("invocation-order", "webhook.order.by-name", fixtures.Must, fixtures.Observed),
			behavior("invocation-order", "webhook.order.parallel", fixtures.May, fixtures.Documented),
			behavior("webhook-contract", "contract.uid.echoed", fixtures.Must, fixtures.Documented),
		},
	}
}

func sampleTarget() TargetInfo {
	return TargetInfo{Name: "envtest", Version: "v1.37.2", Flags: []string{"--audit-log-path=audit.log"}}
}

// sampleResult is a case of the matching rules that took 10 ms.
func sampleResult(name string, line int, outcome Outcome, behaviors ...string) Result {
	return Result{
		ID: "matching-rules/operations/" + name, Title: "Rules select by operation: " + name, Area: "matching-rules",
		Behaviors: behaviors, File: "fixtures/matching-rules/operations.yaml", Line: line, Outcome: outcome,
		Start: start.Add(time.Duration(line) * time.Second), Duration: 10 * time.Millisecond,
	}
}

// passing are results under which the sample's target is conformant.
func passing() []Result {
	order := sampleResult("by-name", 9, Pass, "webhook.order.by-name")
	order.ID, order.Area, order.File = "invocation-order/names/by-name", "invocation-order", "fixtures/invocation-order/names.yaml"
	return []Result{
		sampleResult("create", 12, Pass, "webhook.match.operations.create"),
		sampleResult("namespaced", 20, Pass, "webhook.match.scope.namespaced"),
		order,
	}
}

func sampleRun(results ...Result) Run {
	return Run{
		Suite: "v0.1.0", Ledger: sampleLedger(), Target: sampleTarget(),
		Start: start, End: start.Add(83 * time.Second), Results: results,
	}
}

// badRun has a case of every outcome, and a server that sent whatever it liked.
func badRun() Run {
	failed := sampleResult("update", 24, Fail, "webhook.match.scope.namespaced", "webhook.match.wildcard")
	failed.Failures = []Failure{
		{
			Step: "steps[1]", Line: 31, Path: "expect.object.metadata.labels", Message: "label first is missing",
			Expected: "first: \"yes\"\nsecond: \"yes\"\n", Actual: "second: \"yes\"\n",
		},
		{Step: "steps[1]", Line: 33, Path: "expect.calls", Message: "no webhook was called", Expected: "[first]\n"},
		{Step: "steps[2]", Path: "expect.error.message", Message: "message does not match", Actual: "\x1b[31mdenied\x1b[0m \xff\x00 [[ATTACHMENT|/etc/passwd]] ]]>"},
	}
	failed.Transcript = []Step{
		{Step: "setup[0]", Request: "POST /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", Body: `{"kind":"ValidatingWebhookConfiguration"}`, Code: 201, Duration: time.Millisecond},
		{
			Step: "steps[1]", Request: "POST /api/v1/namespaces/x/configmaps", Body: `{"kind":"ConfigMap"}`, Code: 403,
			Answer: `{"kind":"Status"}`, Warnings: []string{"take care"}, AuditID: "1234",
			Calls:    []Call{{Hook: "first", Review: `{"request":{}}`, Answer: `{"response":{}}`}},
			Decision: "webhook first.example.com was called: rule 0 selects it\nit denied the request",
		},
		{Step: "steps[2]", Request: "GET /healthz"},
	}
	notRun := sampleResult("exec", 40, NotRun, "webhook.order.parallel")
	notRun.Cause, notRun.Reason, notRun.Start, notRun.Duration = CauseTarget, "target cannot: nodes", time.Time{}, 0
	known := sampleResult("delete", 50, Fail, "webhook.match.operations.create")
	known.Failures = []Failure{{Step: "steps[0]", Path: "expect.code", Message: "code is 500", Expected: "200", Actual: "500"}}
	broken := sampleResult("connect", 60, Error, "webhook.order.by-name")
	broken.Failures = []Failure{{Step: "setup[1]", Message: "connection refused"}}
	leftOut := sampleResult("create", 12, Pass, "webhook.match.operations.create")
	leftOut.LeftOut = []string{"steps[3]: target cannot: audit"}
	run := sampleRun(broken, known, notRun, failed, leftOut)
	run.Known = []KnownFailure{{ID: known.ID, Reason: "answers 500", Link: "https://example.com/1", Expires: "2026-12-31"}}
	return run
}
