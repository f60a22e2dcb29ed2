// Package decision holds the record that fakeapi keeps of every admission decision: what was considered, what was
// called, what came back, what changed, and why. It is plain data.
package decision

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Record is the decision on one API request.
type Record struct {
	// AuditID is the Audit-ID header of the response, and the id of the request's audit events.
	AuditID string `json:"auditID"`
	// Request is what was asked.
	Request Request `json:"request"`
	// Steps are what the admission chain did, in order. An API request that the server retried has the steps of all
	// its attempts, told apart by Step.Attempt.
	Steps []Step `json:"steps,omitempty"`
	// Allowed is whether the chain let the request pass.
	Allowed bool `json:"allowed"`
	// Error is the message of the error that the chain refused the request with.
	Error string `json:"error,omitempty"`
}

// Request is the API request that a Record is about.
type Request struct {
	User        string                      `json:"user"`
	Operation   string                      `json:"operation"`
	Resource    schema.GroupVersionResource `json:"resource"`
	Subresource string                      `json:"subresource,omitempty"`
	Kind        schema.GroupVersionKind     `json:"kind"`
	Namespace   string                      `json:"namespace,omitempty"`
	Name        string                      `json:"name,omitempty"`
	DryRun      bool                        `json:"dryRun,omitempty"`
}

// Phase is a part of the admission chain.
type Phase string

const (
	Mutating   Phase = "mutating"
	Validating Phase = "validating"
)

// Step is one webhook, policy binding or built-in check that the chain considered.
type Step struct {
	// Attempt counts the runs of the chain for one API request, from 1.
	Attempt int `json:"attempt"`
	// Phase is where in the chain the step belongs.
	Phase Phase `json:"phase"`
	// Round is 0 in the first pass and 1 in the reinvocation pass.
	Round int `json:"round"`
	// Plugin is the admission plugin, such as MutatingAdmissionWebhook.
	Plugin string `json:"plugin"`
	// Configuration is the name of the configuration object or policy.
	Configuration string `json:"configuration,omitempty"`
	// Name is the name of the webhook or of the policy binding.
	Name string `json:"name,omitempty"`
	// Outcome is what became of the step.
	Outcome Outcome `json:"outcome"`
	// Reason says in plain words which rule, selector or condition decided, or what went wrong.
	Reason string `json:"reason"`
	// Matched is the path of the rule that matched, such as rules[0].
	Matched string `json:"matched,omitempty"`
	// Reinvoked says why a step of round 1 was run again.
	Reinvoked string `json:"reinvoked,omitempty"`
	// Call is the call of a webhook, when one was made.
	Call *Call `json:"call,omitempty"`
	// Changes are what the step changed in the object, as JSON patch operations in one line each, such as
	// add /metadata/labels/a "1".
	Changes []string `json:"changes,omitempty"`
	// Warnings are the warnings that the step sent to the client.
	Warnings []string `json:"warnings,omitempty"`
	// Evaluations are the evaluations of the policy's expressions, in order. A variable stands before the expression that
	// read it; it is evaluated anew for each kind of expression.
	Evaluations []Evaluation `json:"evaluations,omitempty"`
}

// Evaluation is one evaluation of an expression of a policy.
type Evaluation struct {
	// Expression is the path of the expression in the policy, such as spec.validations[0].expression.
	Expression string `json:"expression"`
	// Param is the param that the policy was evaluated with, as namespace/name or name; empty for none.
	Param string `json:"param,omitempty"`
	// Result is what the expression came to.
	Result Result `json:"result"`
	// Error is why the expression has no value.
	Error string `json:"error,omitempty"`
	// Parts are what the parts of the expression came to, outermost first, without those that were not evaluated. They are
	// there for validations that are false and for errors; fakeapi.Options can ask for them everywhere.
	Parts []Part `json:"parts,omitempty"`
}

// Part is a part of an expression: a condition between && and ||, or an operation within one. Within a macro such as all it
// has the values of the last element that the macro looked at.
type Part struct {
	// Expression is the text of the part, such as object.spec.replicas <= params.max.
	Expression string `json:"expression"`
	// Filled is the text with the values of the operands in their place, such as 7 <= 5; empty where that tells no more.
	Filled string `json:"filled,omitempty"`
	// Value is what it came to, written as in CEL and cut when it is long.
	Value string `json:"value"`
	// Failed tells that Value is an error.
	Failed bool `json:"failed,omitempty"`
}

// Result is what an expression came to.
type Result string

const (
	// True is the value true.
	True Result = "true"
	// False is the value false.
	False Result = "false"
	// Value is any value that is no boolean.
	Value Result = "value"
	// Error: the expression did not compile, or its evaluation failed.
	Error Result = "error"
)

// Outcome is what became of a step.
type Outcome string

const (
	// Skipped: the step did not apply to the request.
	Skipped Outcome = "skipped"
	// Allowed: the step ran and let the request pass.
	Allowed Outcome = "allowed"
	// Denied: the step ran and refused the request.
	Denied Outcome = "denied"
	// FailedOpen: the step failed and its failure policy is Ignore.
	FailedOpen Outcome = "failed-open"
	// Failed: the step failed and refused the request for it.
	Failed Outcome = "failed"
)

// Call is one call of a webhook.
type Call struct {
	// URL is where the review was posted.
	URL string `json:"url"`
	// ReviewVersion is the version of the AdmissionReview sent, such as v1.
	ReviewVersion string `json:"reviewVersion"`
	// UID is request.uid of the review.
	UID string `json:"uid"`
	// Kind is the kind and version that the object was sent in.
	Kind schema.GroupVersionKind `json:"kind"`
	// Status is the HTTP status of the answer; 0 when none came.
	Status int `json:"status,omitempty"`
	// Duration is the time from the request to the end of the answer.
	Duration time.Duration `json:"duration"`
	// Error is why the call failed.
	Error string `json:"error,omitempty"`
}
