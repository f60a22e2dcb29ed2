// Package exchange sends reviews to a webhook as an API server does, and reads the answers: first whether there is one
// that an API server could use, then what it says.
package exchange

import (
	"encoding/json"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
)

// Fault is what keeps an answer from being one.
type Fault string

const (
	// None: there is an AdmissionReview; what it says may be wrong all the same.
	None Fault = ""
	// Unreachable: no connection.
	Unreachable Fault = "unreachable"
	// Certificate: the certificate does not vouch for the server.
	Certificate Fault = "certificate"
	// Late: no answer within the timeout of the registration.
	Late Fault = "late"
	// Closed: the connection ended without an answer, as it does when a handler panics.
	Closed Fault = "closed"
	// Status: a status code other than 200.
	Status Fault = "status"
	// Body: the body is no AdmissionReview in JSON.
	Body Fault = "body"
)

// Exchange is a review that was sent and what came back.
type Exchange struct {
	// URL is where the review was posted, Method how.
	URL, Method string
	// Sent is the body that was sent.
	Sent []byte
	// Code, Header and Body are those of the answer.
	Code   int
	Header http.Header
	Body   []byte
	// Took is the time from sending to the end of the answer.
	Took time.Duration
	// At is when the review was sent.
	At time.Time
	// Fault says what keeps the answer from being one, and Problem in words.
	Fault   Fault
	Problem string
	// Answer is the AdmissionReview of the answer; nil with a Fault.
	Answer *Answer
}

// Answer is an AdmissionReview as it came.
type Answer struct {
	// APIVersion and Kind are as they came.
	APIVersion, Kind string
	// Response is nil when there was none.
	Response *admissionv1.AdmissionResponse
}

// Allowed tells that the answer is usable and allows the request.
func (x *Exchange) Allowed() bool { return x.Responded() && x.Answer.Response.Allowed }

// Denied tells that the answer is usable and refuses the request.
func (x *Exchange) Denied() bool { return x.Responded() && !x.Answer.Response.Allowed }

// Responded tells that the answer has a response.
func (x *Exchange) Responded() bool {
	return x.Fault == None && x.Answer != nil && x.Answer.Response != nil
}

// Errored tells that the answer refuses the request with a code of a failure, as frameworks do when a handler could not
// read the request: 400, or 500 and up.
func (x *Exchange) Errored() bool {
	if !x.Denied() || x.Answer.Response.Result == nil {
		return false
	}
	code := x.Answer.Response.Result.Code
	return code == http.StatusBadRequest || code >= http.StatusInternalServerError
}

// Message is the message of the answer; "" without one.
func (x *Exchange) Message() string {
	if !x.Responded() || x.Answer.Response.Result == nil {
		return ""
	}
	return x.Answer.Response.Result.Message
}

// read reads the body of an answer into x.
func (x *Exchange) read() {
	var review struct {
		APIVersion string                         `json:"apiVersion"`
		Kind       string                         `json:"kind"`
		Response   *admissionv1.AdmissionResponse `json:"response"`
	}
	if err := json.Unmarshal(x.Body, &review); err != nil {
		x.Fault, x.Problem = Body, "the body is no AdmissionReview in JSON: "+err.Error()
		return
	}
	x.Answer = &Answer{APIVersion: review.APIVersion, Kind: review.Kind, Response: review.Response}
}

// Parse reads the body of what Do brought as an AdmissionReview; false when it is none.
func (x *Exchange) Parse() bool {
	x.read()
	return x.Fault == None
}
