package serve

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
	"time"
)

// Identity is the certificate authority of one server and the certificate it serves with. Both are made in memory and
// never written to disk.
type Identity struct {
	authority    *x509.Certificate
	authorityKey *ecdsa.PrivateKey
	serving      tls.Certificate
}

// certificateLifetime is how long the certificates of a server are good for.
const certificateLifetime = 365 * 24 * time.Hour

// NewIdentity makes an authority and a serving certificate that is good for the given host (a name or an IP address)
// and for the names of loopback.
func NewIdentity(host string) (*Identity, error) {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of the certificate authority: %w", err)
	}
	template := certificateTemplate(pkix.Name{CommonName: "gatehouse-ca"})
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, authorityKey.Public(), authorityKey)
	if err != nil {
		return nil, fmt.Errorf("making the certificate authority: %w", err)
	}
	authority, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authority: %w", err)
	}

	identity := &Identity{authority: authority, authorityKey: authorityKey}
	serving := certificateTemplate(pkix.Name{CommonName: "gatehouse-apiserver"})
	serving.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	serving.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	serving.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	if ip := net.ParseIP(host); ip != nil {
		serving.IPAddresses = append(serving.IPAddresses, ip)
	} else if host != "" {
		serving.DNSNames = append(serving.DNSNames, host)
	}
	der, key, err := identity.sign(serving)
	if err != nil {
		return nil, fmt.Errorf("making the serving certificate: %w", err)
	}
	identity.serving = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return identity, nil
}

// CertificateAuthority returns the authority's certificate as PEM.
func (i *Identity) CertificateAuthority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.authority.Raw})
}

// ClientCertificate issues a client certificate for a user (the common name) in groups (the organizations), as PEM.
func (i *Identity) ClientCertificate(user string, groups []string) (certificate, key []byte, err error) {
	template := certificateTemplate(pkix.Name{CommonName: user, Organization: groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	der, private, err := i.sign(template)
	if err != nil {
		return nil, nil, fmt.Errorf("making a client certificate for %q: %w", user, err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding the key of %q: %w", user, err)
	}
	certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	key = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
	return certificate, key, nil
}

// clientAuthorities is the pool that client certificates are verified against.
func (i *Identity) clientAuthorities() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(i.authority)
	return pool
}

// tlsConfig asks for a client certificate without demanding one. A certificate that does not verify is not an error of
// the connection: it authenticates nobody, which the client learns by a 401.
func (i *Identity) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{i.serving},
		ClientAuth:   tls.RequestClientCert,
		ClientCAs:    i.clientAuthorities(),
		NextProtos:   []string{"h2", "http/1.1"},
	}
}

func (i *Identity) sign(template *x509.Certificate) ([]byte, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, i.authority, key.Public(), i.authorityKey)
	if err != nil {
		return nil, nil, err
	}
	return der, key, nil
}

// certificateTemplate is good from an hour ago, so that a client whose clock is a little behind accepts it. It goes by
// the wall clock, whatever clock the server stamps objects with: clients check certificates by theirs.
func certificateTemplate(subject pkix.Name) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		panic(err) // crypto/rand does not fail
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(certificateLifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}
