package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/fixtures/expr"
)

// script answers as a fixture says: the first answer whose condition holds.
type script []scripted

// scripted is one answer, made ready.
type scripted struct {
	when  *expr.Condition // nil for always
	patch []byte          // JSON; nil for none
	merge []byte          // the JSON merge patch of the review; nil for none
	delay time.Duration
	fixtures.Answer
}

func newScript(webhook fixtures.Webhook) (responder, error) {
	scope := expr.Answer
	if webhook.Versions != nil {
		scope = expr.Conversion
	}
	var s script
	for i, answer := range webhook.Answer {
		ready, err := newScripted(scope, answer)
		if err != nil {
			return nil, fmt.Errorf("answer[%d].%w", i, err)
		}
		s = append(s, ready)
	}
	if webhook.Versions != nil {
		return newConversion(s, webhook.Versions), nil
	}
	return s, nil
}

// newScripted makes an answer ready. Its errors begin with the name of the field.
func newScripted(scope expr.Scope, answer fixtures.Answer) (scripted, error) {
	a := scripted{Answer: answer}
	var err error
	if answer.When != "" {
		if a.when, err = expr.Compile(scope, answer.When); err != nil {
			return a, fmt.Errorf("when: %q: %w", answer.When, err)
		}
	}
	if answer.Patch != nil {
		if a.patch, err = json.Marshal(answer.Patch); err != nil {
			return a, fmt.Errorf("patch: %w", err)
		}
	}
	if answer.Review != nil {
		if a.merge, err = json.Marshal(answer.Review); err != nil {
			return a, fmt.Errorf("review: %w", err)
		}
	}
	if answer.Delay != "" {
		if a.delay, err = time.ParseDuration(answer.Delay); err != nil {
			return a, fmt.Errorf("delay: %q is no duration such as 2s or 300ms", answer.Delay)
		}
	}
	if answer.HTTP != nil && answer.HTTP.Code != 0 && (answer.HTTP.Code < 200 || answer.HTTP.Code > 999) {
		return a, fmt.Errorf("http.code: %d is no status code of a response; want 200 to 999", answer.HTTP.Code)
	}
	return a, nil
}

func (s script) close() {}

func (s script) respond(_ context.Context, call *Call, number int64) (*response, error) {
	request, _ := call.Review["request"].(map[string]any)
	variables := map[string]any{
		"request":   request,
		"object":    request["object"],
		"oldObject": request["oldObject"],
		"options":   request["options"],
		"call":      number,
	}
	answer, err := s.choose(call, variables)
	if err != nil {
		return nil, err
	}
	return answer.response(answer.review(call.Review))
}

// choose returns the first answer whose condition holds, or one that says nothing.
func (s script) choose(call *Call, variables map[string]any) (scripted, error) {
	for i, answer := range s {
		if answer.when == nil {
			return answer, nil
		}
		holds, err := answer.when.Holds(variables)
		if err != nil {
			return scripted{}, fmt.Errorf("webhook %s: answer[%d].when: %w", call.Hook, i, err)
		}
		if holds {
			return answer, nil
		}
	}
	return scripted{}, nil
}

// response makes the response with a review in it.
func (a scripted) response(review map[string]any) (*response, error) {
	body, err := a.encode(review)
	if err != nil {
		return nil, err
	}
	r := &response{code: 200, body: body, delay: a.delay, waitFor: a.WaitFor}
	h := a.HTTP
	if h == nil {
		return r, nil
	}
	if h.Code != 0 {
		r.code = h.Code
	}
	if h.Body != nil {
		r.body = []byte(*h.Body)
	}
	if h.BodySize > 0 {
		r.body = append(bytes.Repeat([]byte(" "), int(h.BodySize)), r.body...)
	}
	r.headers, r.truncate, r.close = h.Headers, h.Truncate, h.Close
	return r, nil
}

// review makes the AdmissionReview that answers another, in its version.
func (a scripted) review(received map[string]any) map[string]any {
	request, _ := received["request"].(map[string]any)
	answer := map[string]any{"uid": request["uid"], "allowed": a.Status == nil}
	if a.Allowed != nil {
		answer["allowed"] = *a.Allowed
	}
	if a.Status != nil {
		answer["status"] = a.Status
	}
	if a.patch != nil {
		answer["patch"] = a.patch // []byte is base64 in JSON
		answer["patchType"] = admissionv1.PatchTypeJSONPatch
	}
	if a.Warnings != nil {
		answer["warnings"] = a.Warnings
	}
	if a.AuditAnnotations != nil {
		answer["auditAnnotations"] = a.AuditAnnotations
	}
	return map[string]any{"apiVersion": received["apiVersion"], "kind": "AdmissionReview", "response": answer}
}

// encode writes a review, changed as the answer says.
func (a scripted) encode(review map[string]any) ([]byte, error) {
	encoded, err := json.Marshal(review)
	if err != nil {
		return nil, fmt.Errorf("encode the %s: %w", review["kind"], err)
	}
	if a.merge == nil {
		return encoded, nil
	}
	if encoded, err = jsonpatch.MergePatch(encoded, a.merge); err != nil {
		return nil, fmt.Errorf("apply the answer's review to the %s: %w", review["kind"], err)
	}
	return encoded, nil
}
