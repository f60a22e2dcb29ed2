package exchange

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
)

// Client sends reviews to the server of a webhook. Its methods may be called from several goroutines.
type Client struct {
	address   string
	transport *http.Transport
	http      *http.Client
}

// NewClient makes a client of the server at address (HOST:PORT), whose certificate must bear serverName and be vouched for
// by roots; nil means the system's authorities.
func NewClient(address, serverName string, roots *x509.CertPool) *Client {
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSClientConfig:     &tls.Config{RootCAs: roots, ServerName: serverName},
		MaxIdleConnsPerHost: 128,
	}
	return &Client{address: address, transport: transport, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes the client's idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// TLS is how the client connects, for others who do the same. It is the caller's.
func (c *Client) TLS() *tls.Config { return c.transport.TLSClientConfig.Clone() }

// URL is where reviews for a path are posted, with the query that tells the timeout.
func (c *Client) URL(path string, timeout time.Duration) string {
	u := url.URL{Scheme: "https", Host: c.address}
	u.Path = path
	if timeout > 0 {
		u.RawQuery = "timeout=" + timeout.String()
	}
	return u.String()
}

// Post posts a review and reads the answer.
func (c *Client) Post(ctx context.Context, path string, timeout time.Duration, review []byte) *Exchange {
	x := c.Do(ctx, http.MethodPost, path, timeout, review)
	if x.Fault != None {
		return x
	}
	if x.Code != http.StatusOK {
		x.Fault, x.Problem = Status, fmt.Sprintf("the status is %d, not 200%s", x.Code, excerpt(x.Body))
		return x
	}
	x.read()
	return x
}

// excerpt is the beginning of a body, for messages.
func excerpt(body []byte) string {
	const limit = 120
	text := bytes.TrimSpace(body)
	if len(text) == 0 {
		return ""
	}
	if len(text) > limit {
		text = append(append([]byte{}, text[:limit]...), "..."...)
	}
	return ": " + string(text)
}

// Do sends any request and reads the whole answer, whatever it is. The body is of JSON.
func (c *Client) Do(ctx context.Context, method, path string, timeout time.Duration, body []byte) *Exchange {
	x := &Exchange{URL: c.URL(path, timeout), Method: method, Sent: body, At: time.Now()}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	var sent io.Reader
	if body != nil {
		sent = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, x.URL, sent)
	if err != nil {
		x.Fault, x.Problem = Unreachable, err.Error()
		return x
	}
	request.Header.Set("Accept", "application/json, */*")
	request.Header.Set("User-Agent", "kube-apiserver-admission")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.http.Do(request)
	if err == nil {
		x.Code, x.Header = answer.StatusCode, answer.Header
		x.Body, err = io.ReadAll(answer.Body)
		err = errors.Join(err, answer.Body.Close())
	}
	x.Took = time.Since(x.At)
	if err != nil {
		x.Fault, x.Problem = faultOf(ctx, err, timeout)
	}
	return x
}

func faultOf(ctx context.Context, err error, timeout time.Duration) (Fault, string) {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	var operation *net.OpError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Late, fmt.Sprintf("no answer within %s", timeout)
	case errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &invalid), errors.As(err, &verification):
		return Certificate, err.Error()
	case errors.As(err, &operation) && operation.Op == "dial":
		return Unreachable, err.Error()
	default:
		return Closed, "the connection ended without an answer: " + err.Error()
	}
}

// NewUID makes the uid of a review.
func NewUID() string { return string(uuid.NewUUID()) }
