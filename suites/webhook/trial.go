package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/hook"
	"github.com/gatehouse-dev/gatehouse/suites/target"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/apiproxy"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/exchange"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/lint"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/subject"
)

// trial gathers. Its methods are called one after the other.
type trial struct {
	plan
	set        *manifests.Set
	samples    []*given
	target     target.Target
	api        *api
	pool       *hook.Pool
	proxy      *apiproxy.Proxy
	authority  *subject.Authority
	subject    *subject.Subject
	tables     *fixtures.Set    // the author's own
	results    []reports.Result // of the tables
	clients    map[*manifests.Hook]*exchange.Client
	record     record
	seeds      []seed
	configured []string // paths of configurations that the trial made
	info       reports.TargetInfo
	closers    []func() error
}

// gather does the whole of the first half. What it returns besides an error is good to look at, though not to judge.
func (t *trial) gather(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, t.close()) }()
	t.record.set, t.record.began = t.set, time.Now()
	t.record.lint = lint.Check(t.set, t.record.began)
	for _, stage := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"starting " + t.plan.target.Name, t.openTarget},
		{"starting the webhook", t.openSubject},
		{"asking the API server for every request that the rules match", t.capture},
		{"posting the reviews", t.post},
		{"trying the samples on the API server", t.live},
		{"measuring", t.measure},
		{"posting what is no review", t.provoke},
		{"ending the webhook", t.end},
	} {
		t.say(stage.name)
		err := stage.do(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", stage.name, context.Cause(ctx))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", stage.name, err)
		}
	}
	return nil
}

func (t *trial) later(f func() error) { t.closers = append(t.closers, f) }

// close ends what was started, the last first.
func (t *trial) close() error {
	var errs []error
	for i := len(t.closers) - 1; i >= 0; i-- {
		errs = append(errs, t.closers[i]())
	}
	t.closers = nil
	return errors.Join(errs...)
}

// openTarget starts the API server and gives it what the webhook's server needs.
func (t *trial) openTarget(ctx context.Context) error {
	opened, err := target.Open(ctx, t.plan.target)
	if err != nil {
		return err
	}
	t.target, t.info = opened, targetInfo(opened)
	t.later(opened.Stop)
	address := opened.HookAddress()
	if address == "" {
		return errors.New("the API server cannot reach webhook servers on this machine")
	}
	if t.pool, err = hook.NewPool(address); err != nil {
		return err
	}
	t.later(t.pool.Close)
	if t.api, err = newAPI(opened); err != nil {
		return err
	}
	t.later(func() error { return t.api.clear(context.WithoutCancel(ctx)) })
	for _, object := range t.set.Installed {
		if err := t.api.install(ctx, object); err != nil {
			return usage(fmt.Errorf("the API server refuses a manifest: %s %s: %w", object.GetKind(), object.GetName(), err))
		}
	}
	return t.api.settle(ctx)
}

// openSubject starts the webhook's server as the service account that its manifests name.
func (t *trial) openSubject(ctx context.Context) (err error) {
	if t.authority, err = subject.NewAuthority(); err != nil {
		return err
	}
	token, err := t.identity(ctx)
	if err != nil {
		return err
	}
	certificate, err := t.authority.Certificate("127.0.0.1")
	if err != nil {
		return err
	}
	if t.proxy, err = apiproxy.Start(t.target.RESTConfig(), token, certificate, t.authority.Bundle()); err != nil {
		return err
	}
	t.later(t.proxy.Stop)
	if t.subject, err = t.start(ctx); err != nil {
		return err
	}
	t.later(t.subject.Stop)
	t.connect(ctx)
	return t.convert(ctx)
}

func (t *trial) start(ctx context.Context) (*subject.Subject, error) {
	switch {
	case t.handler != nil:
		dir, err := os.MkdirTemp("", "gatehouse-webhook-*")
		if err != nil {
			return nil, err
		}
		t.later(func() error { return os.RemoveAll(dir) })
		handler, err := t.handler(Environment{RESTConfig: t.proxy.RESTConfig(), Dir: dir})
		if err != nil {
			return nil, fmt.Errorf("make the handler: %w", err)
		}
		return subject.Handle(handler, t.authority, t.set.Names(), dir)
	case t.config.Run != nil:
		kubeconfig, err := t.proxy.Kubeconfig()
		if err != nil {
			return nil, err
		}
		started, err := subject.Launch(ctx, subject.Start{
			Run: *t.config.Run, ConfigDir: t.config.Dir, Kubeconfig: kubeconfig, Authority: t.authority, Names: t.set.Names(),
		})
		if err != nil {
			return nil, usage(fmt.Errorf("%s: run: %w", t.config.Path, err))
		}
		return started, nil
	default:
		var ca []byte
		if t.config.CA != "" {
			var err error
			if ca, err = os.ReadFile(t.config.Resolve(t.config.CA)); err != nil {
				return nil, usage(err)
			}
		}
		running, err := subject.Connect(ctx, t.config.URL, ca)
		switch {
		case errors.As(err, new(*net.OpError)):
			return nil, fmt.Errorf("%s: %w", t.config.Path, err)
		case err != nil:
			return nil, usage(fmt.Errorf("%s: %w", t.config.Path, err))
		}
		return running, nil
	}
}

// identity makes sure of the webhook's service account and returns a token of it.
func (t *trial) identity(ctx context.Context) (string, error) {
	account := t.set.Account()
	client, err := kubernetes.NewForConfig(t.target.RESTConfig())
	if err != nil {
		return "", err
	}
	if err := t.api.ensureNamespace(ctx, account.Namespace, nil); err != nil {
		return "", err
	}
	object := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account.Name}}
	switch _, err := client.CoreV1().ServiceAccounts(account.Namespace).Create(ctx, object, metav1.CreateOptions{}); {
	case err == nil:
		t.api.made(fmt.Sprintf("/api/v1/namespaces/%s/serviceaccounts/%s", account.Namespace, account.Name))
	case !apierrors.IsAlreadyExists(err):
		return "", fmt.Errorf("service account %s/%s: %w", account.Namespace, account.Name, err)
	}
	answer, err := client.CoreV1().ServiceAccounts(account.Namespace).CreateToken(ctx, account.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("token of service account %s/%s: %w", account.Namespace, account.Name, err)
	}
	return answer.Status.Token, nil
}

// mute tells that no review of the webhook has been answered, so that nothing can be compared.
func (t *trial) mute(h *manifests.Hook) bool { return t.record.mute(h) }

// postTo posts a review to a webhook and notes it.
func (t *trial) postTo(ctx context.Context, a *attempt) *attempt {
	a.Exchange = t.clients[a.hook].Post(ctx, a.hook.Path(), a.hook.Timeout(), encode(a.review))
	t.record.attempts = append(t.record.attempts, a)
	return a
}

// quiet waits until the webhook makes no more writes to the API server, for what it does after its answer.
func (t *trial) quiet(ctx context.Context) {
	const pause, limit = 20 * time.Millisecond, 500 * time.Millisecond
	count := -1
	for start := time.Now(); time.Since(start) < limit; {
		now := len(t.proxy.Requests())
		if now == count {
			return
		}
		count = now
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// attribute tells each attempt which writes came between it and the next one.
func (t *trial) attribute() {
	attempts := t.record.attempts
	for _, request := range t.proxy.Requests() {
		if !request.Writes() {
			continue
		}
		for i := len(attempts) - 1; i >= 0; i-- {
			if !request.At.Before(attempts[i].At) {
				attempts[i].writes = append(attempts[i].writes, request)
				break
			}
		}
	}
	t.record.calls, t.record.callsKnown = t.proxy.Requests(), t.handler != nil || t.config.Run != nil
}

// statusOK is the status of a success of the API.
func statusOK(code int) bool { return code >= http.StatusOK && code < http.StatusMultipleChoices }
