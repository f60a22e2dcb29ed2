package zoo

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strings"
	"time"
)

// Certificate says what a certificate is like. It vouches for itself.
type Certificate struct {
	// Names are the names and addresses that it is for.
	Names []string
	// Begins is from how many days from now on it is good; from an hour ago on when 0.
	Begins int
	// Days is for how many days from now on it is good; 365 when 0.
	Days int
	// Weak gives it an RSA key of 1024 bits.
	Weak bool
}

// Make makes the certificate and its key, PEM. It panics when the system has no randomness.
func (c Certificate) Make() (certificate, key []byte) {
	var private crypto.Signer
	var err error
	if c.Weak {
		private, err = rsa.GenerateKey(rand.Reader, 1024)
	} else {
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err != nil {
		panic(err)
	}
	days := c.Days
	if days == 0 {
		days = 365
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour).AddDate(0, 0, c.Begins), NotAfter: time.Now().AddDate(0, 0, days),
	}
	for _, name := range c.Names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		panic(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

// Names by which the zoo's webhook is called: by API servers, and at a URL.
const (
	service  = "webhook.zoo.svc"
	loopback = "127.0.0.1"
)

// GoodAtURL is the good webhook as it is tried at a URL.
func GoodAtURL() Animal {
	return Animal{Name: "good at a URL", Shown: &Certificate{Names: []string{service}}}
}

// certificateAnimals show certificates that something is wrong with.
func certificateAnimals() []Animal {
	animal := func(rule, name string, shown Certificate) Animal {
		return Animal{Rule: "contract.endpoint." + rule, Name: name, Shown: &shown}
	}
	return []Animal{
		animal("tls-name-matches", "shows a certificate that has ended", Certificate{Names: []string{service}, Begins: -30, Days: -1}),
		animal("tls-name-matches", "shows a certificate that is not good yet", Certificate{Names: []string{service}, Begins: 2}),
		animal("tls-name-matches", "shows a certificate without its name", Certificate{Names: []string{"webhook.elsewhere.svc"}}),
		animal("certificate-names", "shows a certificate for loopback alone", Certificate{Names: []string{loopback}}),
		animal("certificate-lasting", "shows a certificate that ends next week", Certificate{Names: []string{service, loopback}, Days: 7}),
		animal("certificate-strong", "shows a certificate with a weak key", Certificate{Names: []string{service, loopback}, Weak: true}),
	}
}

// secret adds a Secret with a certificate to the manifests; nil adds none.
func secret(of *Certificate) []Edit {
	if of == nil {
		return nil
	}
	const before = "apiVersion: v1\nkind: Service\n"
	certificate, key := of.Make()
	text := func(data []byte) string { return strings.ReplaceAll(strings.TrimSpace(string(data)), "\n", "\n    ") }
	return []Edit{{before, fmt.Sprintf("apiVersion: v1\nkind: Secret\ntype: kubernetes.io/tls\nmetadata: {name: webhook-tls, namespace: zoo}\nstringData:\n  tls.crt: |\n    %s\n  tls.key: |\n    %s\n---\n%s", text(certificate), text(key), before)}}
}

// strangersCertificate is a certificate that nobody vouches for.
func strangersCertificate() (tls.Certificate, error) {
	certificate, key := Certificate{Names: []string{"stranger.example.com"}}.Make()
	return tls.X509KeyPair(certificate, key)
}
