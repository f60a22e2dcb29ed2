package fakeapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/audit"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/authz"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/serve"
)

var errStopped = errors.New("the server is stopped")

// instance is what runs between a start and a stop.
type instance struct {
	catalogue *resource.Catalogue
	chain     *admission.Chain
	server    *serve.Server
	// cancel ends the catalogue's own work, which background waits for.
	cancel     context.CancelFunc
	background sync.WaitGroup
}

func (i *instance) stop() {
	i.server.Stop()
	i.cancel()
	i.background.Wait()
	i.chain.Close()
}

// run builds an instance over the server's store and serves it. A new store is filled with what every API server starts
// with. The caller holds s.mu.
func (s *Server) run(ctx context.Context, newStore bool) error {
	i, handler, err := s.build(ctx, newStore)
	if err != nil {
		return err
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	i.cancel = cancel
	i.background.Go(func() { i.catalogue.Run(background) })
	i.server = serve.Run(s.listener, s.identity, s.options.Logger, handler)
	s.running = i
	return nil
}

// build wires the parts of the server together.
func (s *Server) build(ctx context.Context, newStore bool) (*instance, func(context.Context) http.Handler, error) {
	policy, err := audit.NewPolicy(s.options.AuditPolicy)
	if err != nil {
		return nil, nil, fmt.Errorf("options: AuditPolicy: %w", err)
	}
	catalogueOptions := resource.Options{
		Store: s.store, UID: s.options.UIDs, EnabledVersions: s.options.EnabledVersions,
		V1beta1Configurations: s.options.V1beta1Configurations, LegacyWorkloads: s.options.LegacyWorkloads,
		ServiceAddresses: s.options.ServiceAddresses,
	}
	if s.options.Clock != nil {
		catalogueOptions.Clock = s.options.Clock
	}
	catalogue, err := resource.New(catalogueOptions)
	if err != nil {
		return nil, nil, fmt.Errorf("making the catalogue of resources: %w", err)
	}
	authorizer := s.authorizer(catalogue)
	sources := catalogue.Sources()
	chainOptions := admission.Options{
		Namespaces:       sources,
		Configurations:   sources,
		Params:           sources,
		ServiceAddresses: s.options.ServiceAddresses,
		InTreePlugins:    s.options.AdmissionPlugins,
		Intercept:        s.interceptWebhooks(),
		Authorizer:       authorizer,
		TypeConverter:    sources.TypeConverter,
		ReviewUIDs:       s.options.UIDs,
		TraceExpressions: s.options.TraceExpressions || s.options.Explain != nil,
	}
	if s.options.Clock != nil {
		chainOptions.Clock = s.options.Clock
	}
	chain := admission.New(chainOptions)
	catalogue.Bind(resource.Hooks{
		Admission:  chain,
		Authorizer: authorizer,
		MayGrant:   authz.NewGrants(roles{catalogue}, authorizer).Check,
		Review:     s.reviewer(authorizer),
		IssueToken: s.issueToken,
	})
	if newStore {
		if err := bootstrap(ctx, catalogue); err != nil {
			return nil, nil, err
		}
	}
	config := serve.Config{
		Catalogue:     catalogue,
		Admission:     chain,
		Authenticator: serve.NewAuthenticator(s.identity, s.tokens),
		Authorizer:    authorizer,
		AuditPolicy:   policy,
		AuditSink:     s.recorder,
		Decisions:     s.decisions,
		Intercept:     s.interceptRequests(),
		Address:       s.listener.Address(),
		Logger:        s.options.Logger,
	}
	handler := func(stopping context.Context) http.Handler { return serve.NewHandler(stopping, config) }
	return &instance{catalogue: catalogue, chain: chain}, handler, nil
}

// rulesAuthorizer decides, and lists the rules that it decides by.
type rulesAuthorizer interface {
	authorizer.Authorizer
	authorizer.RuleResolver
}

// authorizer is that of the options, or goes by the stored roles.
func (s *Server) authorizer(catalogue *resource.Catalogue) rulesAuthorizer {
	switch given := s.options.Authorizer.(type) {
	case nil:
		return authz.New(roles{catalogue})
	case rulesAuthorizer:
		return given
	default:
		return unlisted{given}
	}
}

// unlisted is an authorizer that cannot list rules.
type unlisted struct{ authorizer.Authorizer }

// RulesFor implements authorizer.RuleResolver: there are rules that it does not list.
func (unlisted) RulesFor(context.Context, user.Info, string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	return nil, nil, true, errors.New("the authorizer cannot list rules")
}

// StoreRaw writes a JSON object to the store under its kind and name, past defaulting, validation and admission, as if it
// had been there since an older version of the server. It needs Options.RawStore.
func (s *Server) StoreRaw(ctx context.Context, object []byte) error {
	if !s.options.RawStore {
		return errors.New("writing past the API: Options.RawStore is not set")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		return fmt.Errorf("writing past the API: %w", errStopped)
	}
	return s.running.catalogue.StoreRaw(ctx, object)
}
