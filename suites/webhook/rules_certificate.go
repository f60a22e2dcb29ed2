package webhook

import (
	"fmt"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/lint"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
)

// certificateRules are about the certificate that the server shows, where it is not from Gatehouse. Whether API servers can
// use it at all is contract.endpoint.tls-name-matches.
func certificateRules() []Rule {
	return []Rule{
		{
			ID:     "contract.endpoint.certificate-names",
			Change: "Try the webhook with the certificate that it is deployed with, made for SERVICE.NAMESPACE.svc, or the host of clientConfig.url.",
			judge: certificates(func(_ *record, h *manifests.Hook, s shown) string {
				name := h.ServerName()
				if name == "" || s.certificate.VerifyHostname(name) == nil || s.certificate.VerifyHostname(s.name) != nil {
					return ""
				}
				return fmt.Sprintf("the certificate that the server shows is for %s, and not for %s, by which API servers call it", s.name, name)
			}),
		},
		{
			ID:     "contract.endpoint.certificate-lasting",
			Change: "Renew the certificate, and let something renew it from now on, such as cert-manager.",
			judge: certificates(func(r *record, _ *manifests.Hook, s shown) string {
				problem := lint.Ending(s.certificate, r.began)
				if problem == "" || r.began.Before(s.certificate.NotBefore) || r.began.After(s.certificate.NotAfter) {
					return "" // contract.endpoint.tls-name-matches
				}
				return "the certificate that the server shows " + problem
			}),
		},
		{
			ID:     "contract.endpoint.certificate-strong",
			Change: "Use an RSA key of 2048 bits or more, or ECDSA on P-256, and sign with SHA-256.",
			judge: certificates(func(_ *record, _ *manifests.Hook, s shown) string {
				problem := lint.Weak(s.certificate)
				if problem == "" {
					return ""
				}
				return "the certificate that the server shows " + problem
			}),
		},
	}
}

// certificates makes the judgement over the certificates that the server shows to those who call its webhooks: check
// returns what is wrong with one, which is said once for each name that webhooks have in common.
func certificates(check func(*record, *manifests.Hook, shown) string) func(*record) judgement {
	return func(r *record) judgement {
		j := judgement{inapplicable: "the server shows no certificate"}
		said := map[string]bool{}
		for _, h := range r.set.Hooks {
			s := r.shown[h]
			switch {
			case s.certificate == nil:
				continue
			case s.ours:
				j.inapplicable = "the server shows the certificate that Gatehouse has made for it"
				continue
			}
			j.looked++
			if message := check(r, h, s); message != "" && !said[message] {
				said[message] = true
				j.findings = append(j.findings, finding{hook: h, message: message})
			}
		}
		return j
	}
}
