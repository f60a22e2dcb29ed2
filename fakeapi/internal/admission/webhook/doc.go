// Package webhook calls the webhooks of MutatingWebhookConfigurations and ValidatingWebhookConfigurations.
//
// What the API promises (admissionregistration.k8s.io/v1 and admission.k8s.io/v1):
//
//   - A webhook is called when its rules and selectors match (package match) and all its matchConditions are true. A
//     false condition keeps it back whatever the others are; a failing one, with none false, is a failure of the webhook.
//   - It gets an AdmissionReview in the first of its admissionReviewVersions that the server knows, by an HTTPS POST to
//     clientConfig.url or to clientConfig.service, trusting caBundle, and has timeoutSeconds to answer, or less where the
//     API request has less time left.
//   - It answers with the review's uid and allowed; with warnings for the client, annotations for the audit event and,
//     if it is a mutating one, a JSON patch. A denial reaches the client with its code, reason and message.
//   - failurePolicy says what becomes of a request when no valid answer comes: Fail refuses it, Ignore goes on without
//     the webhook. It does not cover denials, nor patches that cannot be applied.
//   - A dry run reaches only webhooks whose sideEffects are None or NoneOnDryRun; another one that matches refuses it.
//   - Mutating webhooks are called one after the other, configurations in order of name, and each sees what the ones
//     before it changed. In the chain's second round those are called again whose reinvocationPolicy is IfNeeded and
//     whose object changed since.
//   - Validating webhooks are called all at once. All of them are called even when one refuses.
//
// A request goes this way through the files: hook.go (the compiled webhook), concern.go (is it called?), review.go (what
// it is asked), client.go and service.go (over which connection), call.go (the call), intercept.go (who may stand before
// it), response.go (is the answer valid?), settle.go (what follows from it), patch.go (the changed object). mutating.go
// with reinvocation.go, and validating.go, are the two stages that put these together.
package webhook

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/utils/clock"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/match"
)

// Names of the admission plugins, as decision records give them.
const (
	mutatingPlugin   = "MutatingAdmissionWebhook"
	validatingPlugin = "ValidatingAdmissionWebhook"
)

// Options are what the stages work with; all of them are required but Authorizer and Intercept.
type Options struct {
	// Namespaces are looked up for namespace selectors.
	Namespaces match.Namespaces
	// Clients make the calls. The owner closes them.
	Clients *Clients
	// Clock measures the calls.
	Clock clock.PassiveClock
	// ReviewUIDs gives request.uid of each review; no two may be the same.
	ReviewUIDs func() types.UID
	// Authorizer answers authorizer in match conditions.
	Authorizer authorizer.UnconditionalAuthorizer
	// Intercept makes the calls instead; nil leaves them alone.
	Intercept Intercept
}
