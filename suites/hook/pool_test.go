package hook

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

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
