package subject

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// lifetime is how long certificates are good, before now and after it.
const lifetime = 24 * time.Hour

// Authority signs the certificates of a webhook's server. It lives in memory.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	bundle      []byte
}

// NewAuthority makes an authority.
func NewAuthority() (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of an authority: %w", err)
	}
	template := newTemplate("gatehouse webhook trial")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make the certificate of an authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read the certificate of an authority: %w", err)
	}
	return &Authority{certificate: certificate, key: key, bundle: encode("CERTIFICATE", der)}, nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func newTemplate(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // crypto/rand does not fail
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name, Organization: []string{"gatehouse"}},
		NotBefore:    now.Add(-lifetime),
		NotAfter:     now.Add(lifetime),
	}
}

// Bundle is the authority's certificate, PEM.
func (a *Authority) Bundle() []byte { return a.bundle }

// Pool is the authority as what a client trusts.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// Signed tells that the authority has signed a certificate.
func (a *Authority) Signed(certificate *x509.Certificate) bool {
	return certificate.CheckSignatureFrom(a.certificate) == nil
}

// Sign makes a certificate for a server of these names, and its key, both PEM. Loopback's addresses are among the names
// always.
func (a *Authority) Sign(names ...string) (certificate, key []byte, err error) {
	template := newTemplate("gatehouse webhook")
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = []string{"localhost"}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key)
	if err != nil {
		return nil, nil, fmt.Errorf("make a certificate: %w", err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("encode a key: %w", err)
	}
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", encoded), nil
}

// Certificate is Sign for a server in this process.
func (a *Authority) Certificate(names ...string) (tls.Certificate, error) {
	certificate, key, err := a.Sign(names...)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certificate, key)
}

// WriteDir signs a certificate for the names and writes tls.crt, tls.key and ca.crt to the directory, each in one step.
func (a *Authority) WriteDir(dir string, names ...string) error {
	certificate, key, err := a.Sign(names...)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("the certificate directory: %w", err)
	}
	var errs []error
	for _, file := range []struct {
		name string
		data []byte
	}{{"ca.crt", a.bundle}, {"tls.key", key}, {"tls.crt", certificate}} {
		path := filepath.Join(dir, file.name)
		err := os.WriteFile(path+".new", file.data, 0o600)
		errs = append(errs, err)
		if err == nil {
			errs = append(errs, os.Rename(path+".new", path))
		}
	}
	return errors.Join(errs...)
}
