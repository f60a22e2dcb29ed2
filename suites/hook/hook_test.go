package hook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

const configMapReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1","operation":"CREATE",
	"object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"probe","labels":{"a":"b"}},"data":{"n":"1"}},"oldObject":null,"options":null}}`

func openPool(t *testing.T, address string) *Pool {
	t.Helper()
	pool, err := NewPool(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return pool
}

// open opens and scripts the servers of a case.
func open(t *testing.T, pool *Pool, webhooks map[string]fixtures.Webhook) *Servers {
	t.Helper()
	servers, err := pool.Open("area/case.yaml:row", webhooks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(servers.Close)
	if err := servers.Script(webhooks); err != nil {
		t.Fatal(err)
	}
	return servers
}

// clientFor is a client that trusts what the config says, as an API server does. It calls the server under another name
// where serverName is given.
func clientFor(t *testing.T, config ClientConfig, serverName string) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(config.CABundle) {
		t.Fatalf("the CA bundle %q holds no certificate", config.CABundle)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: serverName}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// post calls a webhook and returns the code and the body.
func post(t *testing.T, client *http.Client, url, body string) (int, string, http.Header, error) {
	t.Helper()
	response, err := client.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), response.Header, err
}

func drain(t *testing.T, servers *Servers) []Call {
	t.Helper()
	calls, err := servers.Drain(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

func pointer[T any](v T) *T { return &v }

func TestAnswers(t *testing.T) {
	pool := openPool(t, "127.0.0.1")
	for _, test := range []struct {
		name    string
		answers []fixtures.Answer
		review  string
		want    string // the response, as JSON
		code    int    // 200 when 0
		err     string // of the recorded call
	}{
		{
			name: "no answers allow",
			want: `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u1","allowed":true}}`,
		},
		{
			name:    "status denies",
			answers: []fixtures.Answer{{Status: fixtures.Object{"code": 403, "message": "no"}}},
			want:    `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u1","allowed":false,"status":{"code":403,"message":"no"}}}`,
		},
		{
			name:    "allowed beside status",
			answers: []fixtures.Answer{{Status: fixtures.Object{"message": "well"}, Allowed: pointer(true)}},
			want:    `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u1","allowed":true,"status":{"message":"well"}}}`,
		},
		{
			name: "everything",
			answers: []fixtures.Answer{{
				Patch:    []fixtures.Object{{"op": "remove", "path": "/data"}},
				Warnings: []string{"w"}, AuditAnnotations: map[string]string{"k": "v"},
			}},
			want: `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u1","allowed":true,
				"patchType":"JSONPatch","patch":"W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL2RhdGEifV0=","warnings":["w"],"auditAnnotations":{"k":"v"}}}`,
		},
		{
			name:    "an empty patch is sent",
			answers: []fixtures.Answer{{Patch: []fixtures.Object{}}},
			want: `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u1","allowed":true,
				"patchType":"JSONPatch","patch":"W10="}}`,
		},
		{
			name:    "the review's version is kept",
			review:  `{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"u2"}}`,
			want:    `{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","response":{"uid":"u2","allowed":true}}`,
			answers: nil,
		},
		{
			name:    "review is merged",
			answers: []fixtures.Answer{{Review: fixtures.Object{"kind": nil, "apiVersion": "v1", "response": map[string]any{"uid": "wrong", "allowed": nil, "more": []any{1}}}}},
			want:    `{"apiVersion":"v1","response":{"uid":"wrong","more":[1]}}`,
		},
		{
			name: "the first whose condition holds",
			answers: []fixtures.Answer{
				{When: "request.operation == 'DELETE'", Status: fixtures.Object{"message": "1"}},
				{When: "object.metadata.labels.a == 'b' && oldObject == null && options == null", Status: fixtures.Object{"message": "2"}},
				{Status: fixtures.Object{"message": "3"}},
			},
			want: `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u1","allowed":false,"status":{"message":"2"}}}`,
		},
		{
			name:    "none whose condition holds",
			answers: []fixtures.Answer{{When: "call == 2", Status: fixtures.Object{"message": "1"}}},
			want:    `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u1","allowed":true}}`,
		},
		{
			name:    "a condition that fails is the fixture's failure",
			answers: []fixtures.Answer{{When: "object.spec.x == 1"}},
			code:    http.StatusInternalServerError,
			err:     "answer[0].when",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			servers := open(t, pool, map[string]fixtures.Webhook{"first": {Answer: test.answers}})
			config := servers.ClientConfigs()["first"]
			review := test.review
			if review == "" {
				review = configMapReview
			}
			code, body, headers, err := post(t, clientFor(t, config, ""), config.URL+"?timeout=5s", review)
			if err != nil {
				t.Fatal(err)
			}
			if want := max(test.code, 200); test.code == 0 && code != 200 || test.code != 0 && code != want {
				t.Errorf("code %d, want %d", code, want)
			}
			calls := drain(t, servers)
			if len(calls) != 1 {
				t.Fatalf("%d calls recorded, want 1", len(calls))
			}
			call := calls[0]
			if test.err != "" {
				if call.Err == nil || !strings.Contains(call.Err.Error(), test.err) {
					t.Errorf("the call's error is %v, want one about %s", call.Err, test.err)
				}
				return
			}
			if diff := cmp.Diff(decode(t, test.want), decode(t, body)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if got := headers.Get("Content-Type"); got != "application/json" {
				t.Errorf("Content-Type %q", got)
			}
			if string(call.Answer) != body || call.Code != code || call.Err != nil || call.Abandoned {
				t.Errorf("recorded answer %d %q, error %v, abandoned %v; sent was %d %q", call.Code, call.Answer, call.Err, call.Abandoned, code, body)
			}
			if string(call.Raw) != review || call.Hook != "first" || call.URL != config.URL+"?timeout=5s" {
				t.Errorf("recorded hook %q, URL %q, body %q", call.Hook, call.URL, call.Raw)
			}
			if diff := cmp.Diff(decode(t, review)["request"].(map[string]any)["uid"], call.Review["request"].(map[string]any)["uid"]); diff != "" {
				t.Errorf("recorded review (-want +got):\n%s", diff)
			}
			if call.Answered.Before(call.Received) || call.Headers.Get("Content-Type") != "application/json" || call.Headers.Get("Host") == "" {
				t.Errorf("received %v, answered %v, headers %v", call.Received, call.Answered, call.Headers)
			}
		})
	}
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var decoded map[string]any
	if err := json.Unmarshal([]byte(text), &decoded); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return decoded
}

func TestFaults(t *testing.T) {
	pool := openPool(t, "127.0.0.1")
	answered := func(http *fixtures.HTTPAnswer) fixtures.Webhook {
		return fixtures.Webhook{Answer: []fixtures.Answer{{HTTP: http}}}
	}
	for _, test := range []struct {
		name    string
		webhook fixtures.Webhook
		// what a client sees
		err        func(error) bool
		code       int
		body       func(string) bool
		header     string // X-Test
		serverName string
		// what is recorded
		calls        int
		recordedCode int
	}{
		{name: "sound", webhook: fixtures.Webhook{}, code: 200, calls: 1, recordedCode: 200},
		{name: "the name of a Service", webhook: fixtures.Webhook{}, serverName: "hook.ns.svc", code: 200, calls: 1, recordedCode: 200},
		{name: "unknown authority", webhook: fixtures.Webhook{TLS: fixtures.TLSUnknownCA}, err: isError[x509.UnknownAuthorityError]},
		{name: "wrong name", webhook: fixtures.Webhook{TLS: fixtures.TLSWrongName}, err: isError[x509.HostnameError]},
		{
			name: "expired", webhook: fixtures.Webhook{TLS: fixtures.TLSExpired},
			err: func(err error) bool {
				invalid := x509.CertificateInvalidError{}
				return errors.As(err, &invalid) && invalid.Reason == x509.Expired
			},
		},
		{name: "refused", webhook: fixtures.Webhook{Refuse: true}, err: func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }},
		{
			name: "code and headers", webhook: answered(&fixtures.HTTPAnswer{Code: 503, Headers: map[string]string{"X-Test": "yes"}}),
			code: 503, header: "yes", calls: 1, recordedCode: 503,
		},
		{
			name: "body", webhook: answered(&fixtures.HTTPAnswer{Body: pointer("no JSON")}),
			code: 200, body: func(s string) bool { return s == "no JSON" }, calls: 1, recordedCode: 200,
		},
		{
			name: "empty body", webhook: answered(&fixtures.HTTPAnswer{Body: pointer("")}),
			code: 200, body: func(s string) bool { return s == "" }, calls: 1, recordedCode: 200,
		},
		{
			name: "body size", webhook: answered(&fixtures.HTTPAnswer{BodySize: 1 << 20}),
			code: 200, body: func(s string) bool {
				return strings.HasPrefix(s[1<<20-1:], ` {"apiVersion"`) && strings.TrimSpace(s[:1<<20]) == ""
			}, calls: 1, recordedCode: 200,
		},
		{
			name: "truncated", webhook: answered(&fixtures.HTTPAnswer{Truncate: 10}),
			err:  func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) },
			body: func(s string) bool { return len(s) == 10 }, code: 200, calls: 1, recordedCode: 200,
		},
		{name: "closed", webhook: answered(&fixtures.HTTPAnswer{Close: true}), err: func(err error) bool { return errors.Is(err, io.EOF) }, calls: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			servers := open(t, pool, map[string]fixtures.Webhook{"h": test.webhook})
			config := servers.ClientConfigs()["h"]
			code, body, headers, err := post(t, clientFor(t, config, test.serverName), config.URL, configMapReview)
			if test.err == nil && err != nil || test.err != nil && (err == nil || !test.err(err)) {
				t.Errorf("error %v", err)
			}
			if code != test.code || headers.Get("X-Test") != test.header || test.body != nil && !test.body(body) {
				t.Errorf("code %d, headers %v, body %q", code, headers, body)
			}
			calls := drain(t, servers)
			if len(calls) != test.calls {
				t.Fatalf("%d calls recorded, want %d", len(calls), test.calls)
			}
			for _, call := range calls {
				if call.Code != test.recordedCode || string(call.Answer) != body {
					t.Errorf("recorded code %d, answer %q", call.Code, call.Answer)
				}
			}
		})
	}
}

func isError[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

func TestScriptErrors(t *testing.T) {
	pool := openPool(t, "127.0.0.1")
	for _, test := range []struct {
		name   string
		answer fixtures.Answer
		want   string
	}{
		{"condition", fixtures.Answer{When: "nothing == 1"}, `webhook h: answer[1].when: "nothing == 1": undeclared reference to 'nothing' (in container '')`},
		{"delay", fixtures.Answer{Delay: "2 seconds"}, `webhook h: answer[1].delay: "2 seconds" is no duration such as 2s or 300ms`},
		{"code", fixtures.Answer{HTTP: &fixtures.HTTPAnswer{Code: 42}}, `webhook h: answer[1].http.code: 42 is no status code of a response; want 200 to 999`},
	} {
		t.Run(test.name, func(t *testing.T) {
			webhooks := map[string]fixtures.Webhook{"h": {Answer: []fixtures.Answer{{}, test.answer}}}
			servers, err := pool.Open("c", webhooks)
			if err != nil {
				t.Fatal(err)
			}
			defer servers.Close()
			if err := servers.Script(webhooks); err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
	if _, err := pool.Open("c", map[string]fixtures.Webhook{"h": {TLS: "odd"}}); err == nil || !strings.Contains(err.Error(), `tls is "odd"`) {
		t.Errorf("an unknown TLS fault is accepted: %v", err)
	}
	if _, err := pool.Open("c", map[string]fixtures.Webhook{"a-b": {}, "a_b": {}}); err == nil {
		t.Error("two webhooks of one URL are accepted")
	}
}

func TestUnscripted(t *testing.T) {
	pool := openPool(t, "127.0.0.1")
	servers, err := pool.Open("c", map[string]fixtures.Webhook{"h": {}})
	if err != nil {
		t.Fatal(err)
	}
	defer servers.Close()
	config := servers.ClientConfigs()["h"]
	code, _, _, err := post(t, clientFor(t, config, ""), config.URL, configMapReview)
	if err != nil || code != http.StatusInternalServerError {
		t.Errorf("code %d, error %v", code, err)
	}
	if calls := drain(t, servers); len(calls) != 1 || calls[0].Err == nil {
		t.Errorf("recorded %+v, want one call with an error", calls)
	}
	if err := servers.Script(map[string]fixtures.Webhook{"other": {}}); err == nil {
		t.Error("a webhook that has not been opened is scripted")
	}
}

// TestDelay shows that a caller who goes away ends the wait for a slow answer, and that Drain waits for calls in progress.
func TestDelay(t *testing.T) {
	pool := openPool(t, "127.0.0.1")
	servers := open(t, pool, map[string]fixtures.Webhook{"slow": {Answer: []fixtures.Answer{{Delay: "1h"}}}})
	config := servers.ClientConfigs()["slow"]
	client := clientFor(t, config, "")

	ctx, giveUp := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, config.URL, strings.NewReader(configMapReview))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := client.Do(request)
		ended <- err
	}()
	waitUntil(t, func() bool {
		servers.mu.Lock()
		defer servers.mu.Unlock()
		return servers.active == 1
	})
	expired, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := servers.Drain(expired); !errors.Is(err, context.Canceled) {
		t.Errorf("Drain returned %v while a call was in progress", err)
	}
	giveUp()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if calls := drain(t, servers); len(calls) != 1 || !calls[0].Abandoned || calls[0].Code != 0 {
		t.Errorf("recorded %+v, want one call that was abandoned", calls)
	}
}

func waitUntil(t *testing.T, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it never was so")
		}
	}
}

// TestWaitFor shows that an answer is held back until the servers that it waits for have been called since the last
// Drain.
func TestWaitFor(t *testing.T) {
	pool := openPool(t, "127.0.0.1")
	servers := open(t, pool, map[string]fixtures.Webhook{
		"first":  {Answer: []fixtures.Answer{{WaitFor: []string{"second"}}}},
		"second": {},
	})
	post := func(ctx context.Context, name string) error {
		config := servers.ClientConfigs()[name]
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, config.URL, strings.NewReader(configMapReview))
		if err != nil {
			return err
		}
		_, err = clientFor(t, config, "").Do(request)
		return err
	}
	for range 2 { // the calls of the first round do not count in the second
		ended := make(chan error, 1)
		go func() { ended <- post(t.Context(), "first") }()
		waitUntil(t, func() bool {
			servers.mu.Lock()
			defer servers.mu.Unlock()
			return servers.active == 1
		})
		select {
		case err := <-ended:
			t.Fatalf("first answered before second was called: %v", err)
		default:
		}
		if err := post(t.Context(), "second"); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if calls := drain(t, servers); len(calls) != 2 || calls[0].Hook != "first" || calls[1].Hook != "second" {
			t.Fatalf("recorded %+v, want first and second", calls)
		}
	}

	ctx, giveUp := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- post(ctx, "first") }()
	waitUntil(t, func() bool {
		servers.mu.Lock()
		defer servers.mu.Unlock()
		return servers.active == 1
	})
	giveUp()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if calls := drain(t, servers); len(calls) != 1 || !calls[0].Abandoned {
		t.Errorf("recorded %+v, want one call that was abandoned", calls)
	}
}

// TestClose shows that closed servers cut calls off and are gone.
func TestClose(t *testing.T) {
	pool := openPool(t, "127.0.0.1")
	servers := open(t, pool, map[string]fixtures.Webhook{"slow": {Answer: []fixtures.Answer{{Delay: "1h"}}}})
	config := servers.ClientConfigs()["slow"]
	client := clientFor(t, config, "")
	ended := make(chan error)
	go func() {
		_, _, _, err := post(t, client, config.URL, configMapReview)
		ended <- err
	}()
	waitUntil(t, func() bool {
		servers.mu.Lock()
		defer servers.mu.Unlock()
		return servers.active == 1
	})
	servers.Close()
	if err := <-ended; err == nil {
		t.Error("a call in progress was answered")
	}
	if code, _, _, err := post(t, client, config.URL, configMapReview); err != nil || code != http.StatusNotFound {
		t.Errorf("after Close: code %d, error %v", code, err)
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	client.CloseIdleConnections()
	if _, _, _, err := post(t, client, config.URL, configMapReview); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after the pool's Close: %v", err)
	}
	if _, err := pool.Open("c", nil); err == nil {
		t.Error("a closed pool opens servers")
	}
}

// TestSequence shows that the calls of all servers of a case are one sequence, which Drain begins anew, while the
// number of a call at its server goes on.
func TestSequence(t *testing.T) {
	pool := openPool(t, "127.0.0.1")
	numbered := fixtures.Webhook{Answer: []fixtures.Answer{{When: "call == 3", Warnings: []string{"third"}}}}
	servers := open(t, pool, map[string]fixtures.Webhook{"a": numbered, "b": numbered})
	configs := servers.ClientConfigs()
	client := clientFor(t, configs["a"], "")
	sequence := func(hooks ...string) (answers []string) {
		for _, hook := range hooks {
			_, body, _, err := post(t, client, configs[hook].URL+"/deeper", configMapReview)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(body, "third") {
				answers = append(answers, hook)
			}
		}
		var recorded []string
		for _, call := range drain(t, servers) {
			recorded = append(recorded, call.Hook)
		}
		if diff := cmp.Diff(hooks, recorded); diff != "" {
			t.Errorf("recorded calls (-want +got):\n%s", diff)
		}
		return answers
	}
	if third := sequence("a", "b", "b", "a"); third != nil {
		t.Errorf("third calls at %v, want none", third)
	}
	if third := sequence("b", "a"); !cmp.Equal(third, []string{"b", "a"}) {
		t.Errorf("third calls at %v, want b and a", third)
	}
}

func TestForward(t *testing.T) {
	pool := openPool(t, "127.0.0.1")
	theirs := open(t, pool, map[string]fixtures.Webhook{"webhook": {Answer: []fixtures.Answer{{
		Warnings: []string{"theirs"}, HTTP: &fixtures.HTTPAnswer{Code: 203, Headers: map[string]string{"X-Test": "yes"}},
	}}}})
	ours := open(t, pool, map[string]fixtures.Webhook{"front": {}})
	webhook, front := theirs.ClientConfigs()["webhook"], ours.ClientConfigs()["front"]
	if err := ours.Forward("front", webhook.URL+"?own=1", webhook.CABundle); err != nil {
		t.Fatal(err)
	}
	client := clientFor(t, front, "")
	code, body, headers, err := post(t, client, front.URL+"?timeout=5s", configMapReview)
	if err != nil || code != 203 || !strings.Contains(body, "theirs") || headers.Get("X-Test") != "yes" {
		t.Errorf("code %d, headers %v, body %q, error %v", code, headers, body, err)
	}
	sent, passed := drain(t, ours), drain(t, theirs)
	if len(sent) != 1 || len(passed) != 1 {
		t.Fatalf("%d calls in front, %d behind; want 1 and 1", len(sent), len(passed))
	}
	if !bytes.Equal(sent[0].Raw, passed[0].Raw) || !bytes.Equal(sent[0].Answer, passed[0].Answer) || sent[0].Code != 203 {
		t.Errorf("in front %+v\nbehind %+v", sent[0], passed[0])
	}
	if want := webhook.URL + "?own=1&timeout=5s"; passed[0].URL != want {
		t.Errorf("forwarded to %s, want %s", passed[0].URL, want)
	}

	// What cannot be forwarded is the suite's failure.
	if err := ours.Forward("front", webhook.URL, pool.other.bundle); err != nil {
		t.Fatal(err)
	}
	if code, _, _, err := post(t, client, front.URL, configMapReview); err != nil || code != http.StatusInternalServerError {
		t.Errorf("code %d, error %v", code, err)
	}
	if calls := drain(t, ours); len(calls) != 1 || !isError[x509.UnknownAuthorityError](calls[0].Err) {
		t.Errorf("recorded %+v, want one call with an error", calls)
	}
	for _, wrong := range []string{"http://127.0.0.1/", "webhook", ":"} {
		if err := ours.Forward("front", wrong, nil); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", wrong)) {
			t.Errorf("forward to %q: %v", wrong, err)
		}
	}
}

// TestParallel has many cases at once, and calls of each at once; every case sees its own alone.
func TestParallel(t *testing.T) {
	pool := openPool(t, "127.0.0.1")
	const cases, hooks, calls = 6, 3, 4
	var group sync.WaitGroup
	for n := range cases {
		group.Go(func() {
			webhooks := map[string]fixtures.Webhook{}
			for h := range hooks {
				webhooks[fmt.Sprintf("h%d", h)] = fixtures.Webhook{Answer: []fixtures.Answer{{Warnings: []string{fmt.Sprintf("case %d hook %d", n, h)}}}}
			}
			servers, err := pool.Open("same/id", webhooks)
			if err != nil {
				t.Error(err)
				return
			}
			defer servers.Close()
			if err := servers.Script(webhooks); err != nil {
				t.Error(err)
				return
			}
			configs := servers.ClientConfigs()
			client := clientFor(t, configs["h0"], "")
			var callers sync.WaitGroup
			for range calls {
				for h := range hooks {
					callers.Go(func() {
						_, body, _, err := post(t, client, configs[fmt.Sprintf("h%d", h)].URL, configMapReview)
						if err != nil || !strings.Contains(body, fmt.Sprintf("case %d hook %d", n, h)) {
							t.Errorf("case %d hook %d: body %q, error %v", n, h, body, err)
						}
					})
				}
			}
			callers.Wait()
			recorded, err := servers.Drain(t.Context())
			if err != nil || len(recorded) != hooks*calls {
				t.Errorf("case %d: %d calls, error %v", n, len(recorded), err)
			}
		})
	}
	group.Wait()
}

func TestParseAddress(t *testing.T) {
	for _, test := range []struct {
		text string
		want address
		err  string
	}{
		{text: "127.0.0.1", want: address{host: "127.0.0.1", listen: "127.0.0.1"}},
		{text: "localhost", want: address{host: "localhost", listen: "127.0.0.1"}},
		{text: "::1", want: address{host: "::1", listen: "::1"}},
		{text: "[::1]", want: address{host: "::1", listen: "::1"}},
		{text: "[::1]:8443", want: address{host: "::1", listen: "::1", first: 8443, last: 8443}},
		{text: "host.docker.internal", want: address{host: "host.docker.internal"}},
		{text: "10.0.0.7:8443", want: address{host: "10.0.0.7", first: 8443, last: 8443}},
		{text: "10.0.0.7:8443-8450", want: address{host: "10.0.0.7", first: 8443, last: 8450}},
		{text: "", err: "the host is missing"},
		{text: ":8443", err: "the host is missing"},
		{text: "host:http", err: `"http" is no port`},
		{text: "host:70000", err: `"70000" is no port`},
		{text: "host:8443-", err: `"" is no port from 8443 up`},
		{text: "host:8443-8442", err: `"8442" is no port from 8443 up`},
		{text: "a:1:2", err: "too many colons"},
	} {
		got, err := parseAddress(test.text)
		if test.err == "" && (err != nil || got != test.want) {
			t.Errorf("%q: %+v, %v; want %+v", test.text, got, err, test.want)
		}
		if test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), fmt.Sprintf("%q", test.text))) {
			t.Errorf("%q: error %v, want one with %s", test.text, err, test.err)
		}
	}
}

// TestPorts shows that a pool keeps to its ports, takes the next where one is in use, and says so when none is left.
func TestPorts(t *testing.T) {
	taken := openPool(t, "127.0.0.1")
	first := open(t, taken, map[string]fixtures.Webhook{"h": {}}).ClientConfigs()["h"].Port
	pool := openPool(t, fmt.Sprintf("127.0.0.1:%d-%d", first, first+20))
	configs := open(t, pool, map[string]fixtures.Webhook{"h": {}, "expired": {TLS: fixtures.TLSExpired}, "unknown": {TLS: fixtures.TLSUnknownCA}, "refused": {Refuse: true}}).ClientConfigs()
	ports := map[int][]string{}
	for name, config := range configs {
		if config.Port <= first || config.Port > first+20 {
			t.Errorf("webhook %s: port %d, want one from %d to %d", name, config.Port, first+1, first+20)
		}
		ports[config.Port] = append(ports[config.Port], name)
	}
	if len(ports) != 3 {
		t.Errorf("ports %v, want one for the sound servers, one for the expired, one that refuses", ports)
	}
	full := openPool(t, fmt.Sprintf("127.0.0.1:%d", first))
	if _, err := full.Open("c", map[string]fixtures.Webhook{"h": {}}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a port in use is taken: %v", err)
	}
}
