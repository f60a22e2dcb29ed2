package lint

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
)

// renewal is how long before its end a certificate counts as expiring soon.
const renewal = 30 * 24 * time.Hour

// leastRSA is the length in bits from which an RSA key counts as strong.
const leastRSA = 2048

// certificates looks at the certificates that the manifests hold: those of Secrets of type kubernetes.io/tls, which the
// webhook's server shows, and those of caBundle.
func (c *checker) certificates() {
	for _, secret := range c.set.Secrets {
		if secret.Type != corev1.SecretTypeTLS {
			continue
		}
		data := secret.Data[corev1.TLSCertKey]
		if text, ok := secret.StringData[corev1.TLSCertKey]; ok {
			data = []byte(text)
		}
		c.served(secret, data)
	}
	for _, h := range c.set.Hooks {
		if len(h.ClientConfig.CABundle) == 0 || h.InjectsCA() != "" { // what is injected replaces what is there
			continue
		}
		c.hook = h
		if certificate, err := first(h.ClientConfig.CABundle); err != nil {
			c.find("ca-bundle", "clientConfig.caBundle", "caBundle holds no certificate: %v", err)
		} else if problem := Ending(certificate, c.now); problem != "" {
			c.find("certificate-lasting", "clientConfig.caBundle", "the certificate of caBundle %s", problem)
		}
	}
}

// served looks at a certificate that the webhook's server shows.
func (c *checker) served(secret manifests.Secret, data []byte) {
	find := func(rule, format string, args ...any) {
		c.findings = append(c.findings, Finding{
			Rule: "contract.registration." + rule, Place: secret.Place, Path: "data[tls.crt]",
			Message: fmt.Sprintf("Secret %s/%s: ", secret.Namespace, secret.Name) + fmt.Sprintf(format, args...),
		})
	}
	certificate, err := first(data)
	if err != nil {
		find("certificate-names", "tls.crt holds no certificate: %v", err)
		return
	}
	for _, h := range c.set.Hooks {
		ref := h.ClientConfig.Service
		if ref == nil || ref.Namespace != secret.Namespace {
			continue
		}
		if err := certificate.VerifyHostname(h.ServerName()); err != nil {
			find("certificate-names", "the certificate is not for %s, by which API servers call the webhook: %v", h.ServerName(), err)
			break
		}
	}
	if problem := Ending(certificate, c.now); problem != "" {
		find("certificate-lasting", "the certificate %s", problem)
	}
	if problem := Weak(certificate); problem != "" {
		find("certificate-strong", "the certificate %s", problem)
	}
}

func first(data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, fmt.Errorf("want a certificate in PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}

// Ending says that a certificate is not good at a time, or will soon no longer be; "" when it is and stays so for a month.
func Ending(certificate *x509.Certificate, now time.Time) string {
	switch left := certificate.NotAfter.Sub(now); {
	case now.Before(certificate.NotBefore):
		return "is not good before " + certificate.NotBefore.Format(time.DateOnly)
	case left <= 0:
		return "expired on " + certificate.NotAfter.Format(time.DateOnly)
	case left < renewal:
		return fmt.Sprintf("expires on %s, in %d days", certificate.NotAfter.Format(time.DateOnly), int(left.Hours()/24))
	default:
		return ""
	}
}

// Weak says why a certificate is weak; "" when it is not.
func Weak(certificate *x509.Certificate) string {
	switch key := certificate.PublicKey.(type) {
	case *rsa.PublicKey:
		if key.N.BitLen() < leastRSA {
			return fmt.Sprintf("has an RSA key of %d bits: want %d or more", key.N.BitLen(), leastRSA)
		}
	case *ecdsa.PublicKey:
		if key.Curve.Params().BitSize < 256 {
			return fmt.Sprintf("has a key of %d bits on %s: want 256 or more", key.Curve.Params().BitSize, key.Curve.Params().Name)
		}
	}
	switch certificate.SignatureAlgorithm {
	case x509.SHA1WithRSA, x509.ECDSAWithSHA1, x509.MD5WithRSA, x509.DSAWithSHA1:
		return fmt.Sprintf("is signed with %s: want SHA-256 or better", certificate.SignatureAlgorithm)
	}
	return ""
}
