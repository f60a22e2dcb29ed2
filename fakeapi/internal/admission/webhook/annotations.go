package webhook

import (
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apiserver/pkg/admission"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
)

// Prefixes of the audit annotations that the server makes of its own about webhooks.
const (
	mutationAnnotation             = "mutation.webhook.admission.k8s.io/"
	patchAnnotation                = "patch.webhook.admission.k8s.io/"
	failedOpenMutationAnnotation   = "failed-open.mutation.webhook.admission.k8s.io/"
	failedOpenValidatingAnnotation = "failed-open.validating.webhook.admission.k8s.io/"
)

// place is the end of an annotation's key. The index counts all mutating webhooks, called or not, but only those of the
// validating ones that are called.
func place(round, index int) string {
	return fmt.Sprintf("round_%d_index_%d", round, index)
}

// annotateMutation notes that a mutating webhook was called and whether it changed the object.
func annotateMutation(a admission.Attributes, h *hook, place string, mutated bool) {
	annotate(a, mutationAnnotation+place, auditinternal.LevelMetadata, struct {
		Configuration string `json:"configuration"`
		Webhook       string `json:"webhook"`
		Mutated       bool   `json:"mutated"`
	}{h.configuration, h.name, mutated})
}

// annotatePatch notes a patch that was applied, in audit events that show the request's object too.
func annotatePatch(a admission.Attributes, h *hook, place string, patch jsonpatch.Patch) {
	annotate(a, patchAnnotation+place, auditinternal.LevelRequest, struct {
		Configuration string                `json:"configuration"`
		Webhook       string                `json:"webhook"`
		Patch         jsonpatch.Patch       `json:"patch,omitempty"`
		PatchType     admissionv1.PatchType `json:"patchType,omitempty"`
	}{h.configuration, h.name, patch, admissionv1.PatchTypeJSONPatch})
}

// annotateFailedOpen notes that a webhook failed and was ignored.
func annotateFailedOpen(a admission.Attributes, h *hook, prefix, place string) {
	_ = a.AddAnnotation(prefix+place, h.name) // the keys are unique, so it cannot fail
}

func annotate(a admission.Attributes, key string, level auditinternal.Level, value any) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return // a patch that was decoded can be encoded
	}
	_ = a.AddAnnotationWithLevel(key, string(encoded), level) // the keys are unique, so it cannot fail
}
