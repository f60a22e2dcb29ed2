package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/exchange"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
)

// shown is the certificate that the server shows to those who call a webhook.
type shown struct {
	// name is the name by which the server is called.
	name string
	// certificate is nil when none is shown.
	certificate *x509.Certificate
	// ours tells that Gatehouse made it.
	ours bool
}

// connect looks at the certificates that the server shows, and makes the clients of the webhooks.
func (t *trial) connect(ctx context.Context) {
	t.clients = map[*manifests.Hook]*exchange.Client{}
	t.record.shown = map[*manifests.Hook]shown{}
	for _, h := range t.set.Hooks {
		seen := t.look(ctx, h.ServerName())
		client := exchange.NewClient(t.subject.Address, seen.name, trusted(t.subject.Roots, h.ClientConfig.CABundle))
		t.clients[h], t.record.shown[h] = client, seen
		t.later(func() error { client.Close(); return nil })
	}
}

// look looks for a name by which the server shows a certificate that is good for it: the one that is given, which API
// servers use, or the host of a url.
func (t *trial) look(ctx context.Context, name string) shown {
	first := shown{name: name}
	for i, name := range []string{name, t.subject.ServerName} {
		if name == "" {
			continue
		}
		certificate, err := t.certificate(ctx, name)
		seen := shown{name: name, certificate: certificate, ours: err == nil && t.authority.Signed(certificate)}
		if err == nil && certificate.VerifyHostname(name) == nil {
			return seen
		}
		if i == 0 || first.name == "" {
			first = seen
		}
	}
	return first
}

// certificate is the certificate that the server shows to those who call it by a name.
func (t *trial) certificate(ctx context.Context, name string) (*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, ServerName: name}} // it is to be looked at, good or not
	connection, err := dialer.DialContext(ctx, "tcp", t.subject.Address)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}

// trusted are the authorities that may vouch for a server: some that are given, and those of caBundle, where it holds any.
// nil means those of the system, as it does to API servers.
func trusted(given *x509.CertPool, caBundle []byte) *x509.CertPool {
	pool := x509.NewCertPool()
	if given != nil {
		pool = given.Clone()
	}
	if !pool.AppendCertsFromPEM(caBundle) {
		return given
	}
	return pool
}

// convert lets the API server reach the conversion webhooks of the custom resources, by servers of the suite.
func (t *trial) convert(ctx context.Context) error {
	for i, definition := range t.set.Definitions {
		to, ok := manifests.Conversion(definition)
		path := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + definition.Name
		if !ok || !slices.Contains(t.api.paths, path) { // one that was there before is not ours to change
			continue
		}
		name := fmt.Sprintf("conversion-%d", i)
		servers, err := t.pool.Open(name, map[string]fixtures.Webhook{name: {}})
		if err != nil {
			return err
		}
		t.later(func() error { servers.Close(); return nil })
		seen := t.look(ctx, manifests.ServerNameOf(to))
		client := exchange.NewClient(t.subject.Address, seen.name, trusted(t.subject.Roots, to.CABundle))
		if err := servers.Forward(name, client.URL(manifests.PathOf(to), 0), client.TLS()); err != nil {
			return err
		}
		config := servers.ClientConfigs()[name]
		patch := map[string]any{"spec": map[string]any{"conversion": map[string]any{"webhook": map[string]any{
			"clientConfig": map[string]any{"service": nil, "url": config.URL, "caBundle": config.CABundle},
		}}}}
		if _, err := t.api.must(ctx, http.MethodPatch, path, patch); err != nil {
			return fmt.Errorf("let the API server reach the conversion webhook of %s: %w", definition.Name, err)
		}
	}
	return t.api.settle(ctx)
}
