// Package zoo holds webhooks to try the rules of the contract on: a good one, and for each rule one that breaks it and does
// everything else right. They are the proof that the rules find what they are for, and nothing else.
package zoo

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/exchange"
)

// The labels that the good webhook knows.
const (
	forbidden = "zoo.example.com/forbidden"
	labelled  = "zoo.example.com/labelled"
)

// request is a review as the webhook read it.
type request struct {
	*admissionv1.AdmissionRequest
	review *admissionv1.AdmissionReview
	// path is /validate or /mutate.
	path string
	// object is request.object; nil when it is null.
	object *object
}

// object is as much of any object as the webhook reads.
type object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Containers []corev1.Container `json:"containers"`
	} `json:"spec"`
	Data map[string]any `json:"data"`
}

// decider answers a request.
type decider func(*request) *admissionv1.AdmissionResponse

// serve makes of a decider a webhook's handler.
func serve(decide decider) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/validate" && r.URL.Path != "/mutate" {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodPost {
			http.Error(w, "want POST", http.StatusMethodNotAllowed)
			return
		}
		const limit = 8 << 20
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
		if err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		q, err := read(body, r.URL.Path)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		response := decide(q)
		write(w, q, response)
	})
}

// read reads a review.
func read(body []byte, path string) (*request, error) {
	review := &admissionv1.AdmissionReview{}
	if err := json.Unmarshal(body, review); err != nil {
		return nil, err
	}
	if review.Request == nil {
		return nil, fmt.Errorf("the review has no request")
	}
	q := &request{AdmissionRequest: review.Request, review: review, path: path}
	if len(review.Request.Object.Raw) > 0 && string(review.Request.Object.Raw) != "null" {
		q.object = &object{}
		if err := json.Unmarshal(review.Request.Object.Raw, q.object); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// write sends an answer.
func write(w http.ResponseWriter, q *request, response *admissionv1.AdmissionResponse) {
	if response != nil && response.UID == "" {
		response.UID = q.UID
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(admissionv1.AdmissionReview{TypeMeta: q.review.TypeMeta, Response: response})
}

// good decides as the good webhook: it refuses objects that are labelled so, and labels and completes pods.
func good(q *request) *admissionv1.AdmissionResponse {
	if q.path == "/mutate" {
		return mutate(q)
	}
	if q.object != nil && q.object.Labels[forbidden] != "" {
		return deny("objects with the label " + forbidden + " are not for this zoo")
	}
	return allow()
}

func allow() *admissionv1.AdmissionResponse { return &admissionv1.AdmissionResponse{Allowed: true} }

func deny(message string) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Result: &metav1.Status{Code: http.StatusForbidden, Message: message}}
}

// mutate labels pods, and lets the log be the message of containers that say nothing.
func mutate(q *request) *admissionv1.AdmissionResponse {
	response := allow()
	if q.object == nil || q.Kind.Kind != "Pod" {
		return response
	}
	var operations []exchange.Operation
	if q.object.Labels[labelled] == "" {
		operations = append(operations, label(q.object, "yes")...)
	}
	for i, container := range q.object.Spec.Containers {
		if container.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
			operations = append(operations, exchange.Operation{
				Op: "add", Path: fmt.Sprintf("/spec/containers/%d/terminationMessagePolicy", i), Value: corev1.TerminationMessageFallbackToLogsOnError,
			})
		}
	}
	return patch(response, operations)
}

// label makes the operations that give a pod the webhook's label.
func label(o *object, value string) []exchange.Operation {
	var operations []exchange.Operation
	if o.Labels == nil {
		operations = append(operations, exchange.Operation{Op: "add", Path: "/metadata/labels", Value: map[string]string{}})
	}
	return append(operations, exchange.Operation{Op: "add", Path: "/metadata/labels/zoo.example.com~1labelled", Value: value})
}

// patch puts operations into a response; none leave it as it is.
func patch(response *admissionv1.AdmissionResponse, operations []exchange.Operation) *admissionv1.AdmissionResponse {
	if len(operations) == 0 {
		return response
	}
	kind := admissionv1.PatchTypeJSONPatch
	data, err := json.Marshal(operations)
	if err != nil {
		panic(err) // operations are JSON
	}
	response.Patch, response.PatchType = data, &kind
	return response
}
