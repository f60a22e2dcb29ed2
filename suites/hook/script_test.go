package hook

import (
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

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
