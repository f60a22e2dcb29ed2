package webhook

import (
	"net/http"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/services"
)

// serviceTransport sends what goes to a service to where the service leads at that moment. The Host header and the name
// in the certificate stay those of the service.
type serviceTransport struct {
	services services.Resolver
	service  serviceReference
	// host is the service's name and port in a URL.
	host     string
	delegate http.RoundTripper
}

func (t *serviceTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host != t.host {
		return t.delegate.RoundTrip(request) // redirected elsewhere
	}
	address, err := t.services.Resolve(request.Context(), t.service.namespace, t.service.name, t.service.port)
	if err != nil {
		return nil, err
	}
	routed := request.Clone(request.Context())
	if routed.Host == "" {
		routed.Host = request.URL.Host
	}
	routed.URL.Host = address
	return t.delegate.RoundTrip(routed)
}

// CloseIdleConnections is what http.Client.CloseIdleConnections calls.
func (t *serviceTransport) CloseIdleConnections() {
	(&http.Client{Transport: t.delegate}).CloseIdleConnections()
}
