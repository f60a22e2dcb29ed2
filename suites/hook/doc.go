// Package hook runs the webhook servers of the suites: scripted ones, which answer as a fixture says, and forwarding
// ones, which pass each review on to somebody's webhook. Both record what came in and what was answered.
//
// A [Pool] holds the listeners and certificates of one process; each case opens its [Servers] in it, whose URLs differ
// by their path:
//
//	pool, err := hook.NewPool("127.0.0.1")
//	defer pool.Close()
//	servers, err := pool.Open(caseID, file.Webhooks) // URLs are known from here on
//	defer servers.Close()
//	err = servers.Script(resolved.Webhooks)          // answers, with the references in them replaced
//	...                                              // one step's request
//	calls, err := servers.Drain(ctx)                 // its calls, in order of arrival
package hook

import (
	"net/http"
	"time"
)

// ClientConfig is how an API server reaches one webhook server: the webhookClientConfig of
// admissionregistration.k8s.io, and its parts.
type ClientConfig struct {
	// URL is clientConfig.url, https://HOST:PORT/PATH.
	URL string
	// CABundle is clientConfig.caBundle, PEM. For fixtures.TLSUnknownCA it holds another authority.
	CABundle []byte
	// Host is the URL's host, a name or an IP address.
	Host string
	// Port is the URL's port.
	Port int
	// Path is the URL's path, with its leading slash. A server answers below its path too.
	Path string
}

// Call is one call of a webhook server, as it was received and answered.
type Call struct {
	// Hook is the server's name.
	Hook string
	// Conversion tells that the server is a conversion webhook.
	Conversion bool
	// Review is the AdmissionReview or ConversionReview received; nil when the body was no JSON object.
	Review map[string]any
	// Raw is the body received.
	Raw []byte
	// Headers are the request's headers, Host among them.
	Headers http.Header
	// URL is the URL called, with its query.
	URL string
	// Protocol is HTTP/1.1 or HTTP/2.0.
	Protocol string
	// ServerName is the name that the caller wanted to see in the certificate; empty when it called an IP address.
	ServerName string
	// Answer is the body sent; of a truncated answer the part that was sent.
	Answer []byte
	// Code is the HTTP status sent; 0 when the connection was closed without an answer.
	Code int
	// Received is when the call arrived.
	Received time.Time
	// Answered is when the answer was sent or given up.
	Answered time.Time
	// Abandoned tells that the caller went away before the answer.
	Abandoned bool
	// Err says why the server could not answer as it was told: a condition that failed to evaluate, a webhook that
	// could not be forwarded to. It is the suite's or the fixture's failure, never the API server's.
	Err error
}
