package webhook

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
)

// registrationRules are about the manifests: most are found by package lint, without the webhook's server.
func registrationRules() []Rule {
	rules := []Rule{
		{
			ID:     "contract.registration.accepted",
			Change: "Write what the API server takes: its message says which field is wrong.",
			judge: hooks("", anyHook, func(r *record, h *manifests.Hook) []finding {
				var findings []finding
				for _, refusal := range r.refusals {
					if refusal.hook == h && !ownRule(h, refusal.field) {
						findings = append(findings, finding{hook: h, place: h.Place, path: refusal.field, message: "the API server refuses the configuration: " + refusal.message})
					}
				}
				return findings
			}),
		},
		{
			ID:     "contract.registration.match-conditions-compile",
			Change: "Write the condition in CEL over request, object, oldObject and authorizer, with a boolean result.",
			judge: hooks("no webhook has match conditions", func(h *manifests.Hook) bool { return len(h.MatchConditions) > 0 }, func(r *record, h *manifests.Hook) []finding {
				var findings []finding
				for _, refusal := range r.refusals {
					if refusal.hook == h && strings.Contains(refusal.field, "matchConditions") {
						findings = append(findings, finding{hook: h, place: h.Place, path: refusal.field, message: "the API server refuses the match condition: " + refusal.message})
					}
				}
				return findings
			}),
		},
		{
			ID:     "contract.registration.match-conditions-hold",
			Change: "Write match conditions that are true for the requests that the webhook is for; give samples of those.",
			judge: hooks("no webhook has match conditions", func(h *manifests.Hook) bool { return len(h.MatchConditions) > 0 }, func(r *record, h *manifests.Hook) []finding {
				seen := r.observed[h]
				if seen == nil || seen.matched == 0 || seen.passed > 0 {
					return nil
				}
				for _, refusal := range r.refusals {
					if refusal.hook == h {
						return nil
					}
				}
				return []finding{{hook: h, place: h.Place, path: h.Field() + ".matchConditions", message: fmt.Sprintf("the rules match %d of the requests that were tried, and the match conditions let none of them through", seen.matched)}}
			}),
		},
		{
			ID:     "contract.registration.if-needed-where-required",
			Change: "Set reinvocationPolicy: IfNeeded, so that the webhook sees what later webhooks add.",
			judge: each("no mutating webhook with reinvocationPolicy Never patches pods", func(a *attempt) bool {
				return a.variant == later && !a.hook.IfNeeded()
			}, needsReinvocation),
		},
	}
	for _, l := range lints {
		rules = append(rules, Rule{ID: l.id, Change: l.change, judge: linted(l.id)})
	}
	return rules
}

// ownRule tells that the refusal of a field of a webhook has a rule of its own.
func ownRule(h *manifests.Hook, field string) bool {
	field = strings.TrimPrefix(field, h.Field()+".")
	return slices.Contains([]string{"sideEffects", "name"}, field) || strings.HasPrefix(field, "admissionReviewVersions") ||
		strings.HasPrefix(field, "matchConditions") && len(h.MatchConditions) > 0
}

// lints are the rules of package lint, with what to change.
var lints = []struct{ id, change string }{
	{"contract.registration.current-api", "Write the configuration in admissionregistration.k8s.io/v1; sideEffects and admissionReviewVersions are required there."},
	{"contract.registration.side-effects-declared", "Declare sideEffects: None, or NoneOnDryRun for a webhook that writes something elsewhere."},
	{"contract.registration.review-versions-known", "Declare admissionReviewVersions: [v1]."},
	{"contract.registration.review-version-v1", "Declare v1 in admissionReviewVersions, before v1beta1, and answer in the version that the review has."},
	{"contract.registration.fully-qualified-name", "Name the webhook as NAME.GROUP.DOMAIN, in a domain of yours."},
	{"contract.registration.names-unique", "Give each webhook of a configuration a name of its own."},
	{"contract.registration.does-not-block-itself", "Exclude the webhook's own namespace by namespaceSelector, such as {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [NAMESPACE]}]}, or set failurePolicy: Ignore."},
	{"contract.registration.namespace-exclusion", "Exclude kube-system by namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}]}."},
	{"contract.registration.not-own-configuration", "Take the webhook configurations out of the rules; use a ValidatingAdmissionPolicy's bindings or RBAC to guard them."},
	{"contract.registration.narrow-rules", "Name the API groups and resources that the webhook is for."},
	{"contract.registration.narrow-operations", "Name the operations: CREATE, UPDATE, DELETE, CONNECT."},
	{"contract.registration.hot-resources", "Take the resource out of the rules, or exclude kube-system and kube-node-lease, with a short timeout and failurePolicy: Ignore."},
	{"contract.registration.connect-operation", "Add CONNECT to the rule's operations, in a rule of its own for the subresource."},
	{"contract.registration.object-selector-opt-in-only", "Select by namespaceSelector, or leave objects out by match conditions that users cannot choose."},
	{"contract.registration.timeout-small", "Set timeoutSeconds to 10 or less; 5 is plenty for most webhooks."},
	{"contract.registration.match-policy-equivalent", "Leave matchPolicy at Equivalent."},
	{"contract.registration.versions-there", "Name a version of the custom resource that is served; with matchPolicy Equivalent one is enough for all."},
	{"contract.registration.ca-bundle", "Fill in caBundle, or let cert-manager do so: the annotation cert-manager.io/inject-ca-from: NAMESPACE/CERTIFICATE."},
	{"contract.registration.service-exists", "Name the Service, its namespace and one of its ports (443 when absent) in clientConfig.service."},
	{"contract.registration.no-shadows", "Leave one of the two webhooks out, or give each rules of its own."},
	{"contract.registration.certificate-names", "Make the certificate for SERVICE.NAMESPACE.svc, as a subject alternative name."},
	{"contract.registration.certificate-lasting", "Renew the certificate, and let something renew it from now on."},
	{"contract.registration.certificate-strong", "Use an RSA key of 2048 bits or more, or ECDSA on P-256, and sign with SHA-256."},
}

// linted makes the judgement of package lint's findings of a rule.
func linted(id string) func(*record) judgement {
	return func(r *record) judgement {
		j := judgement{looked: len(r.set.Hooks)}
		for _, f := range r.lint {
			if f.Rule == id {
				j.findings = append(j.findings, finding{hook: f.Hook, place: f.Place, path: f.Path, message: f.Message})
			}
		}
		return j
	}
}

// sampleRules are about the samples of the webhook's author.
func sampleRules() []Rule {
	return []Rule{
		{
			ID:     "contract.samples.admitted",
			Change: "Admit the object, or take it out of samples.admitted.",
			judge: live("gatehouse.yaml has no samples to be admitted", false, func(s liveSample) string {
				if s.err == "" {
					return ""
				}
				return "the object is refused: " + s.err
			}),
		},
		{
			ID:     "contract.samples.refused",
			Change: "Refuse the object with the message that the sample expects, or take it out of samples.refused.",
			judge: live("gatehouse.yaml has no samples to be refused", true, func(s liveSample) string {
				switch matches, err := regexp.MatchString(s.want, s.err); {
				case strings.HasSuffix(s.err, "denied the request without explanation"):
					return "" // contract.response.denial-has-explanation
				case s.err == "":
					return "the object is admitted"
				case !s.denied:
					return "the object is refused, and not by the webhook: " + s.err
				case err != nil || !matches:
					return fmt.Sprintf("the message does not match %q: %s", s.want, s.err)
				}
				return ""
			}),
		},
	}
}

// registered tells that all webhooks were registered with the API server for the samples.
func (r *record) registered() bool {
	return len(r.refusals) == 0 && !slices.ContainsFunc(r.set.Hooks, r.mute)
}

// live makes the judgement over the samples. What other rules have found is not found again: that the API server could not
// use an answer, or does not take the registration.
func live(none string, refused bool, check func(liveSample) string) func(*record) judgement {
	return func(r *record) judgement {
		j := judgement{inapplicable: none}
		for _, s := range r.live {
			if s.refused != refused {
				continue
			}
			if r.broken && (s.code >= http.StatusInternalServerError || s.refused && !r.registered()) {
				j.notRun = "the API server cannot use the webhook, as other rules say"
				continue
			}
			j.looked++
			if message := check(s); message != "" {
				j.findings = append(j.findings, finding{message: message, live: &s, place: s.place})
			}
		}
		return j
	}
}
