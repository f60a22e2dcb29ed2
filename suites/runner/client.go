package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// requestTimeout ends a request that the server does not answer. An API server gives up its own after a minute.
const requestTimeout = 90 * time.Second

// client sends plain HTTP requests, so that the exact status, headers and body of every answer can be seen.
type client struct {
	base      *url.URL
	admin     *http.Client
	anonymous *http.Client
}

func newClient(config *rest.Config) (*client, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("the target's address: %w", err)
	}
	admin, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making an HTTP client: %w", err)
	}
	anonymous, err := rest.HTTPClientFor(rest.AnonymousClientConfig(config))
	if err != nil {
		return nil, fmt.Errorf("making an anonymous HTTP client: %w", err)
	}
	return &client{base: base, admin: admin, anonymous: anonymous}, nil
}

// request is one HTTP request to the API server.
type request struct {
	method      string
	path        string
	query       url.Values
	contentType string
	headers     map[string]string
	body        []byte
	user        *fixtures.User
	anonymous   bool
	// watch ends with the first event, which becomes the answer's object.
	watch bool
}

// line is the request line as transcripts show it.
func (r *request) line() string {
	if len(r.query) == 0 {
		return r.method + " " + r.path
	}
	return r.method + " " + r.path + "?" + r.query.Encode()
}

// do sends a request and reads the answer, whatever its status. An error means that no whole answer came.
func (c *client) do(ctx context.Context, r *request) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	target := strings.TrimSuffix(c.base.String(), "/") + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(r.body))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.line(), err)
	}
	req.Header.Set("Accept", "application/json")
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	for name, value := range r.headers {
		req.Header.Set(name, value)
	}
	start := time.Now()
	response, err := c.as(r).Do(req)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	a := &answer{code: response.StatusCode, auditID: response.Header.Get(auditv1.HeaderAuditID), headers: lowerCase(response.Header)}
	warnings, _ := utilnet.ParseWarningHeaders(response.Header.Values("Warning"))
	for _, w := range warnings {
		a.warnings = append(a.warnings, w.Text)
	}
	if err := a.read(response.Body, r.watch); err != nil {
		return nil, fmt.Errorf("%s: reading the answer: %w", r.line(), err)
	}
	a.duration = time.Since(start)
	return a, nil
}

// as is the HTTP client with the credentials that the request is to be sent with.
func (c *client) as(r *request) *http.Client {
	if r.anonymous {
		return c.anonymous
	}
	if r.user == nil {
		return c.admin
	}
	transported := c.admin.Transport
	if transported == nil {
		transported = http.DefaultTransport
	}
	impersonating := *c.admin
	impersonating.Transport = transport.NewImpersonatingRoundTripper(transport.ImpersonationConfig{
		UserName: r.user.Name, UID: r.user.UID, Groups: r.user.Groups, Extra: r.user.Extra,
	}, transported)
	return &impersonating
}

// read takes the body of a response. A connection that was upgraded has none.
func (a *answer) read(body io.Reader, watch bool) error {
	if a.code == http.StatusSwitchingProtocols {
		return nil
	}
	var err error
	if watch && a.succeeded() {
		a.body, err = firstEvent(body)
	} else {
		a.body, err = io.ReadAll(body)
	}
	if err != nil {
		return err
	}
	if object, err := decodeJSON(a.body); err == nil {
		a.object = object
	}
	return nil
}

// firstEvent reads one JSON value; nothing when the stream ends before.
func firstEvent(body io.Reader) ([]byte, error) {
	var event json.RawMessage
	if err := json.NewDecoder(body).Decode(&event); err != nil && err != io.EOF {
		return nil, err
	}
	return event, nil
}

func lowerCase(header http.Header) map[string]any {
	headers := map[string]any{}
	for name, values := range header {
		list := make([]any, len(values))
		for i, v := range values {
			list[i] = v
		}
		headers[strings.ToLower(name)] = list
	}
	return headers
}
