package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// serviceTransport sends what goes to a service to where the service leads at that moment. The Host header and the name
// in the certificate stay those of the service.
type serviceTransport struct {
	clients *Clients
	service serviceReference
	// host is the service's name and port in a URL.
	host     string
	delegate http.RoundTripper
}

func (t *serviceTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host != t.host {
		return t.delegate.RoundTrip(request) // redirected elsewhere
	}
	address, err := t.clients.resolve(request.Context(), t.service)
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

// resolve returns host and port to connect to for a service: what the server's user said, else the service's cluster IP,
// or its external name.
func (c *Clients) resolve(ctx context.Context, reference serviceReference) (string, error) {
	key := reference.namespace + "/" + reference.name
	port := strconv.Itoa(int(reference.port))
	for _, key := range []string{key + ":" + port, key} {
		if address, ok := c.endpoints[key]; ok {
			return address, nil
		}
	}
	notFound := apierrors.NewNotFound(corev1.Resource("service"), reference.name)
	if c.services == nil {
		return "", notFound
	}
	service, err := c.services.Service(ctx, reference.namespace, reference.name)
	if apierrors.IsNotFound(err) {
		return "", notFound
	}
	if err != nil {
		return "", err
	}
	switch service.Spec.Type {
	case corev1.ServiceTypeExternalName:
		return net.JoinHostPort(service.Spec.ExternalName, port), nil
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
	default:
		return "", fmt.Errorf("unsupported service type %q", service.Spec.Type)
	}
	if service.Spec.Type == corev1.ServiceTypeClusterIP && service.Spec.ClusterIP == corev1.ClusterIPNone {
		return "", errors.New(`cannot route to service with ClusterIP "None"`)
	}
	for _, served := range service.Spec.Ports {
		if served.Port == reference.port {
			return net.JoinHostPort(service.Spec.ClusterIP, port), nil
		}
	}
	return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", reference.port, service.Name))
}
