package reports

import (
	"time"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// Outcome is what became of one case.
type Outcome string

const (
	// Pass: the case ran and everything was as expected.
	Pass Outcome = "pass"
	// Fail: the case ran and something was not as expected.
	Fail Outcome = "fail"
	// KnownFail: the case failed and is listed as a known failure that has not expired.
	KnownFail Outcome = "known-fail"
	// NotRun: the case was not run; Reason says why.
	NotRun Outcome = "not-run"
	// Warn: what was not as expected is recommended, not demanded. Only the rules about webhooks warn.
	Warn Outcome = "warn"
	// Error: the suite or the environment failed, so that nothing is known about the behaviour.
	Error Outcome = "error"
)

// Values returns the closed list of outcomes.
func (Outcome) Values() []string {
	return []string{string(Pass), string(Fail), string(KnownFail), string(NotRun), string(Warn), string(Error)}
}

// NotRunCause says what kept a case from running.
type NotRunCause string

const (
	// CauseVersion: the case does not apply to the target's version of Kubernetes, or the version does not serve what
	// the case needs. Behaviours that have no other cases are not applicable.
	CauseVersion NotRunCause = "version"
	// CauseInapplicable: what the case is about is not there: a rule about patches, and a webhook that only validates.
	// Behaviours that have no other cases are not applicable.
	CauseInapplicable NotRunCause = "inapplicable"
	// CauseTarget: the target cannot do or show something that the case needs.
	CauseTarget NotRunCause = "target"
	// CauseDeselected: the selection left the case out.
	CauseDeselected NotRunCause = "deselected"
	// CauseInterrupted: the run ended before the case's turn.
	CauseInterrupted NotRunCause = "interrupted"
)

// Values returns the closed list of causes.
func (NotRunCause) Values() []string {
	return []string{string(CauseVersion), string(CauseInapplicable), string(CauseTarget), string(CauseDeselected), string(CauseInterrupted)}
}

// Result is the result of one case: what the runner returns and what a shard streams to its parent.
type Result struct {
	// ID is the id of the case: AREA/FILE/NAME.
	ID string `json:"id"`
	// Title says what the case shows.
	Title string `json:"title"`
	// Area is the ledger area (the fixture's directory).
	Area string `json:"area"`
	// Behaviors are the ids of the ledger that the case bears witness to.
	Behaviors []string `json:"behaviors"`
	// File is the fixture's path, relative to the repository or to the directory given with --fixtures.
	File string `json:"file"`
	// Line is the line of the row in File.
	Line int `json:"line"`
	// Outcome is what became of the case.
	Outcome Outcome `json:"outcome"`
	// Cause says what kept the case from running; it is set when Outcome is not-run, and then alone.
	Cause NotRunCause `json:"cause,omitempty"`
	// Reason says in one line why the case was not run, or is a known failure.
	Reason string `json:"reason,omitempty"`
	// Failures are what was not as expected (or, for an error, what went wrong), in order.
	Failures []Failure `json:"failures,omitempty"`
	// Fixture are the lines of the fixture that the case and its failures stand in; kept for cases that did not pass.
	Fixture []fixtures.Excerpt `json:"fixture,omitempty"`
	// Notes are what the case saw besides, such as measured times.
	Notes []string `json:"notes,omitempty"`
	// LeftOut names steps that were left out because the target cannot do them, and why.
	LeftOut []string `json:"leftOut,omitempty"`
	// Start is when the case began.
	Start time.Time `json:"start"`
	// Duration is how long the case took, in nanoseconds.
	Duration time.Duration `json:"duration"`
	// Transcript are the steps as they went; kept for cases that did not pass, and where the run was to explain all.
	Transcript []Step `json:"transcript,omitempty"`
	// Decided is what policies decided in the steps, in order; known in policy tests, on servers that record decisions.
	Decided []Decided `json:"decided,omitempty"`
}

// Failure is one expectation that did not hold.
type Failure struct {
	// Step is the path of the step in the case, such as steps[1].
	Step string `json:"step"`
	// Line is the line of the expectation (or of its step) in the fixture.
	Line int `json:"line,omitempty"`
	// Path is the expectation, such as expect.calls[0].request.uid.
	Path string `json:"path"`
	// Message says in one line what is wrong.
	Message string `json:"message"`
	// Expected is what should have been, as YAML.
	Expected string `json:"expected,omitempty"`
	// Actual is what was, as YAML.
	Actual string `json:"actual,omitempty"`
	// Advice says what to change, where that is known.
	Advice string `json:"advice,omitempty"`
}

// Step is one request of a case as it went.
type Step struct {
	// Step is the path of the step in the case, such as setup[0] or steps[1].
	Step string `json:"step"`
	// Request is the request line, such as POST /api/v1/namespaces/x/configmaps?dryRun=All.
	Request string `json:"request"`
	// Body is the request's body, as it was sent.
	Body string `json:"body,omitempty"`
	// Code is the HTTP status code; 0 when no answer came.
	Code int `json:"code"`
	// Answer is the response's body.
	Answer string `json:"answer,omitempty"`
	// Warnings are the texts of the response's Warning headers.
	Warnings []string `json:"warnings,omitempty"`
	// AuditID is the response's Audit-ID header.
	AuditID string `json:"auditID,omitempty"`
	// Calls are the webhook calls made during the step, in the order in which they came in.
	Calls []Call `json:"calls,omitempty"`
	// Decision is the server's decision record in plain words, where it keeps one.
	Decision string `json:"decision,omitempty"`
	// Duration is how long the request took, in nanoseconds.
	Duration time.Duration `json:"duration"`
}

// Call is one webhook call as the suite's server recorded it.
type Call struct {
	// Hook is the server's name in the fixture.
	Hook string `json:"hook"`
	// Review is the AdmissionReview that came in.
	Review string `json:"review"`
	// Answer is what was sent back.
	Answer string `json:"answer"`
}

// TargetInfo names the server that the cases ran on.
type TargetInfo struct {
	// Name is fakeapi, envtest or kubeconfig.
	Name string `json:"name"`
	// Version is the server's gitVersion.
	Version string `json:"version"`
	// Server is the server's URL; empty for servers that the suite started.
	Server string `json:"server,omitempty"`
	// Flags are the flags that the suite started the server with.
	Flags []string `json:"flags,omitempty"`
}

// WebhookInfo names the webhooks that a run put on trial.
type WebhookInfo struct {
	// Names are the names of the webhooks, each with its type, such as pods.example.com (validating).
	Names []string `json:"names"`
	// Config is the gatehouse.yaml of the trial.
	Config string `json:"config,omitempty"`
	// SetAside names objects of the manifests that the trial had no use for.
	SetAside []string `json:"setAside,omitempty"`
	// Notes are statements about the webhooks that are no judgements: what users see while a webhook is down, how long
	// it takes.
	Notes []string `json:"notes,omitempty"`
}
