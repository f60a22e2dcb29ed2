package serve

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"maps"
	"net/http"
	"sync"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Tokens knows whom a bearer token stands for. Tokens may be added at any time.
type Tokens struct {
	mu    sync.RWMutex
	users map[string]user.Info
}

// NewTokens returns the tokens of a server, to begin with the given ones.
func NewTokens(users map[string]user.Info) *Tokens {
	tokens := &Tokens{users: make(map[string]user.Info, len(users))}
	maps.Copy(tokens.users, users)
	return tokens
}

var _ authenticator.Token = &Tokens{}

// AuthenticateToken looks a token up.
func (t *Tokens) AuthenticateToken(_ context.Context, token string) (*authenticator.Response, bool, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	who, ok := t.users[token]
	if !ok {
		return nil, false, nil
	}
	return &authenticator.Response{User: who}, true, nil
}

// Issue makes a new token for a user.
func (t *Tokens) Issue(who user.Info) string {
	token := RandomToken()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.users[token] = who
	return token
}

// RandomToken returns a token that nobody can guess.
func RandomToken() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	return base64.RawURLEncoding.EncodeToString(secret)
}

// NewAuthenticator accepts client certificates of the authority and the tokens. Who shows neither is
// system:anonymous; who shows one that is not good is nobody.
func NewAuthenticator(identity *Identity, tokens authenticator.Token) authenticator.Request {
	certificates := x509request.New(x509.VerifyOptions{
		Roots:     identity.clientAuthorities(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, x509request.CommonNameUserConversion)
	known := group.NewAuthenticatedGroupAdder(union.New(certificates, bearertoken.New(tokens)))
	return quiet{union.NewFailOnError(known, anonymous.NewAuthenticator(nil))}
}

// quiet answers that nobody is authenticated where its delegate says why not: the filter would write that to the
// process's log, the client is told the same 401 in both cases.
type quiet struct{ authenticator.Request }

func (q quiet) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	response, ok, err := q.Request.AuthenticateRequest(req)
	if err != nil {
		return nil, false, nil
	}
	return response, ok, nil
}
