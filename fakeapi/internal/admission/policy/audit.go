package policy

import (
	"encoding/json"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission"
)

const (
	failuresKey = "validation.policy.admission.k8s.io/validation_failure"
	// maxFailures is how many failures the annotation of an audit event tells.
	maxFailures = 50
	// maxAnnotationBytes is the length that longer audit annotations are cut to.
	maxAnnotationBytes = 10 * 1024
)

// auditedFailure is one failure in the audit annotation failuresKey.
type auditedFailure struct {
	Message           string                                     `json:"message"`
	Policy            string                                     `json:"policy"`
	Binding           string                                     `json:"binding"`
	ExpressionIndex   int                                        `json:"expressionIndex"`
	ValidationActions []admissionregistrationv1.ValidationAction `json:"validationActions"`
}

// auditTrail gathers what a request's audit event is to say.
type auditTrail struct {
	failures []auditedFailure
	keys     []string
	values   map[string][]string
}

// annotate adds a value of a policy's annotation. Equal values from several bindings or params count once.
func (t *auditTrail) annotate(policy string, a annotation) {
	key, value := policy+"/"+a.key, a.value[:min(len(a.value), maxAnnotationBytes)]
	if t.values == nil {
		t.values = map[string][]string{}
	}
	if t.values[key] == nil {
		t.keys = append(t.keys, key)
	}
	if !slices.Contains(t.values[key], value) {
		t.values[key] = append(t.values[key], value)
	}
}

// publish hands the annotations over. One that is there already, or has a key that is not allowed, is left as it is.
func (t *auditTrail) publish(a admission.Attributes) error {
	for _, key := range t.keys {
		_ = a.AddAnnotation(key, strings.Join(t.values[key], ", "))
	}
	if len(t.failures) == 0 {
		return nil
	}
	value, err := json.Marshal(t.failures[:min(len(t.failures), maxFailures)])
	if err != nil {
		return err
	}
	_ = a.AddAnnotation(failuresKey, string(value))
	return nil
}
