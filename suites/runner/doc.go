// Package runner executes one conformance case on an API server: it makes the case's namespace, starts its webhook
// servers, creates its objects, runs its steps, compares what came back with what the fixture expects, and takes away
// what it made. It knows no test framework, and the server only by its REST API and the target.Target interface.
//
// Run is the whole of it. Its parts are plain functions over plain data: subset compares an object with the subset that
// a fixture writes, checkCalls the webhook calls that came in with the expected sequence, checkAnswer a response with
// an Expect.
package runner
