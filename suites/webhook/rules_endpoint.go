package webhook

import (
	"fmt"
	"mime"
	"net/http"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/exchange"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
)

// endpointRules are about the server: that it is there, and speaks HTTPS and JSON.
func endpointRules() []Rule {
	return []Rule{
		{
			ID:     "contract.endpoint.https-post-json",
			Change: "Serve HTTPS, take an AdmissionReview in JSON by POST, and answer it with status 200 and an AdmissionReview in JSON, whether the request is allowed or not.",
			judge: hooks("no review was posted", anyHook, func(r *record, h *manifests.Hook) []finding {
				a := r.faulty(h, func(a *attempt) bool {
					return a.Fault != exchange.Certificate && a.Fault != exchange.Late && !notFound(a)
				})
				if a == nil || !r.mute(h) {
					return nil
				}
				return []finding{{hook: h, attempt: a, message: fmt.Sprintf("no review is answered: %s", a.Problem)}}
			}),
		},
		{
			ID:     "contract.endpoint.tls-name-matches",
			Change: "Serve a certificate that caBundle vouches for and whose subject alternative names hold the Service's SERVICE.NAMESPACE.svc, or the host of clientConfig.url. A server that Gatehouse starts finds one in ${certDir}; that of a url must be vouched for by ca, or by caBundle.",
			judge: hooks("no review was posted", anyHook, func(r *record, h *manifests.Hook) []finding {
				a := r.faulty(h, func(a *attempt) bool { return a.Fault == exchange.Certificate })
				if a == nil {
					return nil
				}
				return []finding{{hook: h, attempt: a, message: "the certificate is not good for " + h.ServerName() + ": " + a.Problem}}
			}),
		},
		{
			ID:     "contract.endpoint.path-served",
			Change: "Register the path that the server serves: clientConfig.service.path, or the path of clientConfig.url. API servers add the query ?timeout=.",
			judge: hooks("no review was posted", anyHook, func(r *record, h *manifests.Hook) []finding {
				a := r.faulty(h, notFound)
				if a == nil || !r.mute(h) {
					return nil
				}
				return []finding{{hook: h, attempt: a, message: fmt.Sprintf("the server does not serve the path %s: status 404", h.Path())}}
			}),
		},
		{
			ID:     "contract.endpoint.content-type",
			Change: "Set the header Content-Type: application/json before the answer is written.",
			judge: each("no review was answered", anyReview, func(a *attempt) string {
				given := a.Header.Get("Content-Type")
				if kind, _, err := mime.ParseMediaType(given); err == nil && kind == "application/json" {
					return ""
				}
				return fmt.Sprintf("the Content-Type of the answer is %q, not application/json", given)
			}),
		},
		{
			ID:     "contract.endpoint.concurrent-requests",
			Change: "Keep what belongs to one request in local variables; a handler is called for many requests at the same time.",
			judge: func(r *record) judgement {
				j := judgement{inapplicable: "no review was answered"}
				for _, l := range r.loads {
					j.looked += l.reviews
					if l.mixed != nil {
						j.add(l.mixed, fmt.Sprintf("with %d reviews at a time, an answer bears the uid of another review", l.concurrent))
					}
					if l.failed != nil && l.concurrent > 1 && l.failed.Fault != exchange.Late {
						j.add(l.failed, fmt.Sprintf("with %d reviews at a time, one was not answered: %s", l.concurrent, l.failed.Problem))
					}
				}
				return j
			},
		},
		{
			ID:     "contract.endpoint.large-objects",
			Change: "Allow request bodies of 8 MiB at least: an object and its old version may have 3 MiB each.",
			judge:  answers("no object was created", false, large),
		},
	}
}

func notFound(a *attempt) bool { return a.Fault == exchange.Status && a.Code == http.StatusNotFound }
