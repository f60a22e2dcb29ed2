package hook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

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

// trusting is what a client needs to know that trusts the authorities of a bundle.
func trusting(bundle []byte) *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	return &tls.Config{RootCAs: roots}
}

func TestForward(t *testing.T) {
	pool := openPool(t, "127.0.0.1")
	theirs := open(t, pool, map[string]fixtures.Webhook{"webhook": {Answer: []fixtures.Answer{{
		Warnings: []string{"theirs"}, HTTP: &fixtures.HTTPAnswer{Code: 203, Headers: map[string]string{"X-Test": "yes"}},
	}}}})
	ours := open(t, pool, map[string]fixtures.Webhook{"front": {}})
	webhook, front := theirs.ClientConfigs()["webhook"], ours.ClientConfigs()["front"]
	if err := ours.Forward("front", webhook.URL+"?own=1", trusting(webhook.CABundle)); err != nil {
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
	if err := ours.Forward("front", webhook.URL, trusting(pool.other.bundle)); err != nil {
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

// TestConnection shows that a call carries what is told of its connection.
func TestConnection(t *testing.T) {
	for _, test := range []struct {
		name       string
		http2      bool // offered
		wantsHTTP2 bool
		serverName string
		protocol   string
	}{
		{name: "both want HTTP/2", http2: true, wantsHTTP2: true, serverName: "hook.ns.svc", protocol: "HTTP/2.0"},
		{name: "it is not offered", wantsHTTP2: true, serverName: "hook.ns.svc", protocol: "HTTP/1.1"},
		{name: "it is not wanted", http2: true, protocol: "HTTP/1.1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			servers := open(t, openPool(t, "127.0.0.1"), map[string]fixtures.Webhook{"h": {HTTP2: test.http2}})
			config := servers.ClientConfigs()["h"]
			client := clientFor(t, config, test.serverName)
			client.Transport.(*http.Transport).ForceAttemptHTTP2 = test.wantsHTTP2
			if _, _, _, err := post(t, client, config.URL, configMapReview); err != nil {
				t.Fatal(err)
			}
			calls := drain(t, servers)
			if len(calls) != 1 || calls[0].Protocol != test.protocol || calls[0].ServerName != test.serverName {
				t.Errorf("calls %+v, want one by %s for %q", calls, test.protocol, test.serverName)
			}
		})
	}
}
