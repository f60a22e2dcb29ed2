package webhook

import (
	"crypto/x509"
	"testing"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/subject"
)

// TestTrusted: who vouches for a server is who is given and who stands in caBundle, and the system's authorities only where
// nobody does.
func TestTrusted(t *testing.T) {
	ours, theirs := authority(t), authority(t)
	for _, test := range []struct {
		name                   string
		given                  *x509.CertPool
		caBundle               []byte
		system                 bool
		trustOurs, trustTheirs bool
	}{
		{"nobody", nil, nil, true, false, false},
		{"nobody, and a caBundle that is to be filled in", nil, []byte("\n"), true, false, false},
		{"one that is given", ours.Pool(), nil, false, true, false},
		{"caBundle", nil, theirs.Bundle(), false, false, true},
		{"both", ours.Pool(), theirs.Bundle(), false, true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			pool := trusted(test.given, test.caBundle)
			if (pool == nil) != test.system {
				t.Fatalf("the system's authorities: %t, want %t", pool == nil, test.system)
			}
			if test.system {
				return
			}
			if got := vouched(t, ours, pool); got != test.trustOurs {
				t.Errorf("the authority that is given: %t, want %t", got, test.trustOurs)
			}
			if got := vouched(t, theirs, pool); got != test.trustTheirs {
				t.Errorf("that of caBundle: %t, want %t", got, test.trustTheirs)
			}
		})
	}
}

func authority(t *testing.T) *subject.Authority {
	t.Helper()
	a, err := subject.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// vouched tells that a pool vouches for a certificate of an authority.
func vouched(t *testing.T, a *subject.Authority, pool *x509.CertPool) bool {
	t.Helper()
	pair, err := a.Certificate("webhook.test.svc")
	if err != nil {
		t.Fatal(err)
	}
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "webhook.test.svc"})
	return err == nil
}
