package hook

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// forward passes reviews on to a webhook elsewhere.
type forward struct {
	url       *url.URL
	client    *http.Client
	transport *http.Transport
}

func newForward(target string, trust *tls.Config) (*forward, error) {
	parsed, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("forward to %q: %w", target, err)
	}
	if parsed.Scheme != "https" || parsed.Host == "" {
		return nil, fmt.Errorf("forward to %q: want a URL such as https://127.0.0.1:9443/validate", target)
	}
	transport := &http.Transport{TLSClientConfig: trust}
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // for the caller to follow
	}
	return &forward{url: parsed, client: client, transport: transport}, nil
}

func (f *forward) close() { f.transport.CloseIdleConnections() }

// respond passes the call on, with the query that tells its timeout.
func (f *forward) respond(ctx context.Context, call *Call, _ int64) (*response, error) {
	to := *f.url
	if called, err := url.Parse(call.URL); err == nil && called.RawQuery != "" {
		query := to.Query()
		for name, values := range called.Query() {
			query[name] = values
		}
		to.RawQuery = query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(call.Raw))
	if err != nil {
		return nil, fmt.Errorf("forward to %s: %w", f.url, err)
	}
	for _, name := range []string{"Accept", "Content-Type", "User-Agent"} {
		if value := call.Headers.Get(name); value != "" {
			request.Header.Set(name, value)
		}
	}
	answered, err := f.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("forward to %s: %w", f.url, err)
	}
	defer answered.Body.Close()
	body, err := io.ReadAll(answered.Body)
	if err != nil {
		return nil, fmt.Errorf("forward to %s: read its answer: %w", f.url, err)
	}
	r := &response{code: answered.StatusCode, body: body, headers: map[string]string{}}
	for name := range answered.Header {
		if name != "Content-Length" {
			r.headers[name] = answered.Header.Get(name)
		}
	}
	return r, nil
}
