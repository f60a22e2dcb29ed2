package webhook

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/utils/lru"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/services"
)

const (
	// clientsKept is how many clients keep their connections; the ones used longest ago give way.
	clientsKept = 200
	// callTimeout bounds a call for which neither the webhook nor the API request has a timeout.
	callTimeout = 30 * time.Second
	// idleConnections is how many connections a client keeps for the next calls.
	idleConnections = 25
	// userAgent is how the API server names itself to webhooks.
	userAgent = "kube-apiserver-admission"
)

// clientConfig is a webhook's clientConfig. Equal ones share a client and its connections.
type clientConfig struct {
	url      string
	caBundle string
	service  serviceReference
}

// serviceReference is clientConfig.service; the zero value stands for none.
type serviceReference struct {
	namespace, name, path string
	port                  int32
}

func newClientConfig(source *admissionregistrationv1.WebhookClientConfig) clientConfig {
	config := clientConfig{caBundle: string(source.CABundle)}
	if source.URL != nil {
		config.url = *source.URL
	}
	if service := source.Service; service != nil {
		config.service = serviceReference{namespace: service.Namespace, name: service.Name, port: 443}
		if service.Path != nil {
			config.service.path = *service.Path
		}
		if service.Port != nil && *service.Port != 0 {
			config.service.port = *service.Port
		}
	}
	return config
}

// Clients make the calls of webhooks and keep the connections. They may be used by many requests at once.
type Clients struct {
	services   services.Resolver
	serializer runtime.NegotiatedSerializer

	mu   sync.Mutex
	kept *lru.Cache
}

// NewClients returns the clients of one server. The resolver finds the services that clientConfig.service names.
func NewClients(resolver services.Resolver) *Clients {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{admissionv1beta1.AddToScheme, admissionv1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // two constant lists of types; cannot fail
		}
	}
	codec := serializer.NewCodecFactory(scheme).LegacyCodec(admissionv1beta1.SchemeGroupVersion, admissionv1.SchemeGroupVersion)
	return &Clients{
		services:   resolver,
		serializer: serializer.NegotiatedSerializerWrapper(runtime.SerializerInfo{Serializer: codec}),
		kept: lru.NewWithEvictionFunc(clientsKept, func(_ lru.Key, client any) {
			client.(*rest.RESTClient).Client.CloseIdleConnections()
		}),
	}
}

// Close closes the connections that no call is using.
func (c *Clients) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.Clear()
}

// client returns the client for the config.
func (c *Clients) client(config clientConfig) (*rest.RESTClient, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if client, ok := c.kept.Get(config); ok {
		return client.(*rest.RESTClient), nil
	}
	client, err := c.newClient(config)
	if err != nil {
		return nil, err
	}
	c.kept.Add(config, client)
	return client, nil
}

func (c *Clients) newClient(config clientConfig) (*rest.RESTClient, error) {
	server, err := config.server()
	if err != nil {
		return nil, err
	}
	tlsConfig, err := transport.TLSConfigFor(&transport.Config{TLS: transport.TLSConfig{
		CAData:     []byte(config.caBundle),
		ServerName: server.name,
		NextProtos: server.protocols,
	}})
	if err != nil {
		return nil, err
	}
	if tlsConfig == nil {
		tlsConfig = &tls.Config{MinVersion: tls.VersionTLS12} // the system's roots
	}
	var roundTripper http.RoundTripper = utilnet.SetTransportDefaults(&http.Transport{
		// No proxy: whoever tests a webhook wants the call to arrive.
		Proxy:               func(*http.Request) (*url.URL, error) { return nil, nil },
		TLSHandshakeTimeout: 10 * time.Second,
		TLSClientConfig:     tlsConfig,
		MaxIdleConnsPerHost: idleConnections,
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
	})
	if config.service.name != "" {
		roundTripper = &serviceTransport{services: c.services, service: config.service, host: server.host, delegate: roundTripper}
	}
	return rest.UnversionedRESTClientForConfigAndClient(&rest.Config{
		Host:    "https://" + server.host,
		APIPath: server.path,
		QPS:     -1,
		ContentConfig: rest.ContentConfig{
			ContentType:          runtime.ContentTypeJSON,
			NegotiatedSerializer: c.serializer,
		},
		WarningHandler: rest.NoWarnings{},
	}, &http.Client{Transport: roundTripper, Timeout: callTimeout})
}

// server is what a clientConfig says about the server to call.
type server struct {
	// host is host or host:port.
	host, path string
	// name is the name that the certificate must be valid for; the host when empty.
	name string
	// protocols are offered in the TLS handshake; HTTP/2 and HTTP/1.1 when nil.
	protocols []string
}

// server tells where the config points to. Only a server on the loopback is spoken to in HTTP/2: a connection of that
// kind would stay with one of many backends.
func (c clientConfig) server() (server, error) {
	http1 := []string{"http/1.1"}
	if c.service.name != "" {
		name := c.service.name + "." + c.service.namespace + ".svc"
		return server{host: net.JoinHostPort(name, strconv.Itoa(int(c.service.port))), path: c.service.path, name: name, protocols: http1}, nil
	}
	if c.url == "" {
		return server{}, errors.New("webhook configuration must have either service or URL")
	}
	u, err := url.Parse(c.url)
	if err != nil {
		return server{}, fmt.Errorf("unparsable URL: %w", err)
	}
	s := server{host: u.Host, path: u.Path}
	if !isLoopback(u.Hostname()) {
		s.protocols = http1
	}
	return s, nil
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
