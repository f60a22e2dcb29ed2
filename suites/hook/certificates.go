package hook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"
)

// lifetime is how long certificates are good, before now and after it: clocks differ, and runs are short.
const lifetime = 24 * time.Hour

// authority signs the certificates of webhook servers. It lives in memory.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	bundle      []byte // PEM

	mu     sync.Mutex
	byName map[string]*tls.Certificate
}

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of %s: %w", name, err)
	}
	template := template(name)
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make the certificate of %s: %w", name, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read the certificate of %s: %w", name, err)
	}
	return &authority{
		certificate: certificate,
		key:         key,
		bundle:      pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		byName:      map[string]*tls.Certificate{},
	}, nil
}

// serving returns a certificate for a server called host. It is made once for each host.
func (a *authority) serving(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if made, found := a.byName[host]; found {
		return made, nil
	}
	made, err := a.sign(template(host), host)
	if err == nil {
		a.byName[host] = made
	}
	return made, err
}

// expired returns a certificate for host that was good until yesterday.
func (a *authority) expired(host string) (*tls.Certificate, error) {
	expired := template(host)
	expired.NotBefore, expired.NotAfter = expired.NotBefore.Add(-lifetime), expired.NotBefore
	return a.sign(expired, host)
}

func (a *authority) sign(template *x509.Certificate, host string) (*tls.Certificate, error) {
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key for webhook server %s: %w", host, err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for webhook server %s: %w", host, err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

func template(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // crypto/rand does not fail
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name, Organization: []string{"gatehouse"}},
		NotBefore:    now.Add(-lifetime),
		NotAfter:     now.Add(lifetime),
	}
}
