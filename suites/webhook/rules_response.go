package webhook

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/exchange"
)

// responseRules are about what an AdmissionResponse says.
func responseRules() []Rule {
	return []Rule{
		{
			ID:     "contract.response.same-version-as-request",
			Change: "Set apiVersion of the answer to that of the review, and kind to AdmissionReview.",
			judge: func(r *record) judgement {
				j := judgement{inapplicable: "no review was answered"}
				for _, a := range r.attempts {
					if a.Fault != exchange.None || a.variant == reviewVersion {
						continue
					}
					j.looked++
					if wrong := wrongVersion(a); wrong != "" {
						j.add(a, wrong)
					}
				}
				return j
			},
		},
		{
			ID:     "contract.response.response-present",
			Change: "Put a response into every AdmissionReview that is sent back, with uid and allowed.",
			judge: func(r *record) judgement {
				j := judgement{inapplicable: "no review was answered"}
				for _, a := range r.attempts {
					if a.Fault != exchange.None || a.variant == reviewVersion {
						continue
					}
					j.looked++
					if !a.Responded() {
						j.add(a, "the AdmissionReview that came back has no response")
					}
				}
				return j
			},
		},
		{
			ID:     "contract.response.uid-echoed",
			Change: "Copy request.uid into response.uid.",
			judge:  each("no review was answered", anyReview, wrongUID),
		},
		{
			ID:     "contract.response.each-declared-version-supported",
			Change: "Answer in each version of admissionReviewVersions as in the first one, or take the version out of the list.",
			judge: both(answers("one version of AdmissionReview is declared", true, reviewVersion), func(r *record) judgement {
				j := judgement{}
				for _, a := range r.attempts {
					if a.variant != reviewVersion || a.Fault != exchange.None || !a.base.Responded() || wrongVersion(a.base) != "" || wrongUID(a.base) != "" {
						continue
					}
					switch wrong := wrongVersion(a); {
					case wrong != "":
						j.add(a, wrong)
					case !a.Responded():
						j.add(a, "the AdmissionReview that came back has no response")
					case wrongUID(a) != "":
						j.add(a, wrongUID(a))
					}
				}
				return j
			}),
		},
		{
			ID:     "contract.response.denial-has-explanation",
			Change: "Say in response.status.message why the request is refused and what would be right.",
			judge: each("no request was refused", denials, func(a *attempt) string {
				// API servers show the reason where there is no message.
				if result := a.Answer.Response.Result; strings.TrimSpace(a.Message()) != "" || result != nil && result.Reason != "" {
					return ""
				}
				return `the request is refused without response.status.message: users read "denied the request without explanation"`
			}),
		},
		{
			ID:     "contract.response.denial-code-sensible",
			Change: "Leave response.status.code of a denial out, or set it to a code from 400 to 499.",
			judge: each("no request was refused", denials, func(a *attempt) string {
				result := a.Answer.Response.Result
				if result == nil || result.Code == 0 || result.Code >= 400 && result.Code < 500 {
					return ""
				}
				return fmt.Sprintf("the request is refused with code %d, which clients do not take for a refusal", result.Code)
			}),
		},
		{
			ID:     "contract.response.within-timeout",
			Change: "Answer faster, or register a longer timeoutSeconds. The query parameter timeout of the URL tells how long the API server waits.",
			judge: func(r *record) judgement {
				j := judgement{inapplicable: "no review was posted"}
				for _, a := range r.attempts {
					j.looked++
					if a.Fault == exchange.Late {
						j.add(a, a.title+": "+a.Problem)
					}
				}
				return j
			},
		},
		{
			ID:     "contract.response.no-secrets-in-messages",
			Change: "Leave the values of secrets out of messages, warnings and audit annotations: they end up in logs and on terminals.",
			judge:  each("the rules match no secrets", aboutSecrets, disclosed),
		},
		{
			ID:     "contract.warnings.length",
			Change: "Keep a warning under 256 characters (120 is better), in one line, and all of an answer under 4096.",
			judge:  each("no answer has warnings", hasWarnings, badWarnings),
		},
		{
			ID:     "contract.warnings.no-prefix",
			Change: `Leave "Warning:" out: clients print it themselves.`,
			judge: each("no answer has warnings", hasWarnings, func(a *attempt) string {
				for _, w := range a.Answer.Response.Warnings {
					if strings.HasPrefix(strings.ToLower(strings.TrimSpace(w)), "warning:") {
						return fmt.Sprintf("the warning %q says itself that it is one", w)
					}
				}
				return ""
			}),
		},
		{
			ID:     "contract.audit.key-format",
			Change: "Name audit annotations with letters, digits, -, _ and . alone, up to 63 of them and without a slash: the API server puts the webhook's name before the key.",
			judge: each("no answer has audit annotations", hasAnnotations, func(a *attempt) string {
				for key := range a.Answer.Response.AuditAnnotations {
					if problems := validation.IsQualifiedName(key); len(problems) > 0 || strings.Contains(key, "/") {
						return fmt.Sprintf("the audit annotation %q is dropped: %s", key, strings.Join(append(problems, "want a name without a slash"), "; "))
					}
				}
				return ""
			}),
		},
		{
			ID:     "contract.audit.value-size",
			Change: "Put a short statement into an audit annotation, not an object.",
			judge: each("no answer has audit annotations", hasAnnotations, func(a *attempt) string {
				for key, value := range a.Answer.Response.AuditAnnotations {
					if len(value) > maxAnnotation {
						return fmt.Sprintf("the audit annotation %q has %d bytes, which every audit event carries", key, len(value))
					}
				}
				return ""
			}),
		},
	}
}

// maxAnnotation is up to how many bytes the value of an audit annotation is called short.
const maxAnnotation = 1024

func hasWarnings(a *attempt) bool { return len(a.Answer.Response.Warnings) > 0 }

func hasAnnotations(a *attempt) bool { return len(a.Answer.Response.AuditAnnotations) > 0 }

func wrongVersion(a *attempt) string {
	if want := a.review["apiVersion"]; a.Answer.APIVersion != want || a.Answer.Kind != "AdmissionReview" {
		return fmt.Sprintf("the answer is apiVersion %q, kind %q; want %q, %q", a.Answer.APIVersion, a.Answer.Kind, want, "AdmissionReview")
	}
	return ""
}

func wrongUID(a *attempt) string {
	if want := requestOf(a.review)["uid"]; string(a.Answer.Response.UID) != want {
		return fmt.Sprintf("response.uid is %q; request.uid is %q", a.Answer.Response.UID, want)
	}
	return ""
}

// The limits of warnings: longer ones may be cut off.
const (
	maxWarning  = 256
	maxWarnings = 4096
)

func badWarnings(a *attempt) string {
	total := 0
	for _, w := range a.Answer.Response.Warnings {
		total += len(w)
		switch {
		case utf8.RuneCountInString(w) > maxWarning:
			return fmt.Sprintf("a warning has %d characters; more than %d may be cut off", utf8.RuneCountInString(w), maxWarning)
		case strings.ContainsFunc(w, unicode.IsControl):
			return fmt.Sprintf("the warning %q has control characters, with which it is not delivered", w)
		}
	}
	if total > maxWarnings {
		return fmt.Sprintf("the warnings have %d bytes; API servers deliver %d of a response", total, maxWarnings)
	}
	return ""
}

func aboutSecrets(a *attempt) bool {
	resource := resourceOf(a.review)
	return resource.Group == "" && resource.Resource == "secrets" && objectOf(a.review) != nil
}

// disclosed says where an answer holds a value of the Secret that it is about.
func disclosed(a *attempt) string {
	data, _ := objectOf(a.review)["data"].(map[string]any)
	response := a.Answer.Response
	texts := append([]string{a.Message()}, response.Warnings...)
	for _, value := range response.AuditAnnotations {
		texts = append(texts, value)
	}
	for key, encoded := range data {
		text, _ := encoded.(string)
		value, err := base64.StdEncoding.DecodeString(text)
		const shortest = 6 // what is shorter stands in texts by chance
		if err != nil || len(bytes.TrimSpace(value)) < shortest {
			continue
		}
		for _, t := range texts {
			if strings.Contains(t, string(value)) || strings.Contains(t, text) {
				return fmt.Sprintf("the answer tells the value of data[%s]: %q", key, t)
			}
		}
	}
	return ""
}
