package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

const (
	// startTimeout is how long etcd, and then kube-apiserver, may take to start; on a busy machine it is slow.
	startTimeout = 90 * time.Second
	stopTimeout  = 30 * time.Second
)

// envtestTarget is a kube-apiserver over an etcd of its own, started by controller-runtime's envtest.
type envtestTarget struct {
	*settler
	guard    *guard
	plane    *envtest.ControlPlane
	managers *controllerManager // nil unless the cases need controllers
	admin    *rest.Config
	info     Info
	store    rawStore
	audit    *auditLog
	log      *tail

	mu      sync.Mutex // held while the API server starts and stops
	stopped bool
}

func openEnvtest(ctx context.Context, options Options) (_ Target, err error) {
	found, err := findAssets(options.Assets)
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", Envtest, err)
	}
	withControllers := options.Needs.Has(fixtures.NeedControllers) && found.controllerManager != ""
	plugins, err := defaultPlugins(ctx, found.apiServer)
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", Envtest, err)
	}

	t := &envtestTarget{audit: newAuditLog(), log: &tail{}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("target %s: %w", Envtest, err), t.Stop())
		}
	}()
	if t.guard, err = newGuard(); err != nil {
		return nil, err
	}
	auditPolicyFile := filepath.Join(t.guard.dir, "audit-policy.yaml")
	policy, err := yaml.Marshal(auditPolicy())
	if err != nil {
		return nil, err
	}
	if err = os.WriteFile(auditPolicyFile, policy, 0o600); err != nil {
		return nil, err
	}
	flags := apiServerFlags(plugins, auditPolicyFile)
	if err = t.start(found, flags); err != nil {
		return nil, err
	}
	if err = t.ready(ctx); err != nil {
		return nil, err
	}

	version, err := discovery.NewDiscoveryClientForConfigOrDie(t.admin).ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("ask for the server's version: %w", err)
	}
	t.info = Info{Name: Envtest, Version: version.GitVersion}
	for name, values := range flags {
		t.info.Flags = append(t.info.Flags, fmt.Sprintf("--%s=%s", name, values[0]))
	}
	slices.Sort(t.info.Flags)
	return t, t.connect(found, withControllers)
}

// start starts etcd and kube-apiserver.
func (t *envtestTarget) start(found binaries, flags map[string][]string) error {
	apiServer, err := t.guard.wrap(found.apiServer)
	if err != nil {
		return err
	}
	etcd, err := t.guard.wrap(found.etcd)
	if err != nil {
		return err
	}
	certs, data := filepath.Join(t.guard.dir, "kube-apiserver-certs"), filepath.Join(t.guard.dir, "etcd-data")
	for _, dir := range []string{certs, data} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	plane := &envtest.ControlPlane{
		APIServer: &envtest.APIServer{
			Path: apiServer, CertDir: certs, StartTimeout: startTimeout, StopTimeout: stopTimeout,
			Out: t.audit, Err: t.log,
		},
		Etcd: &envtest.Etcd{
			Path: etcd, DataDir: data, StartTimeout: startTimeout, StopTimeout: stopTimeout,
			Out: t.log, Err: t.log,
		},
	}
	for name, values := range flags {
		plane.APIServer.Configure().Set(name, values...)
	}
	t.plane = plane
	if err := plane.Start(); err != nil {
		return fmt.Errorf("start the control plane: %w; the end of its log:\n%s", err, t.log)
	}
	admin, err := plane.AddUser(envtest.User{Name: "gatehouse-admin", Groups: []string{"system:masters"}}, unthrottled(&rest.Config{}))
	if err != nil {
		return fmt.Errorf("make a user of the control plane: %w", err)
	}
	t.admin = admin.Config()
	return nil
}

// connect makes what observes the running server, and starts the controller manager.
func (t *envtestTarget) connect(found binaries, withControllers bool) error {
	user, err := t.plane.AddUser(envtest.User{Name: settleUser, Groups: []string{"system:masters"}}, unthrottled(&rest.Config{}))
	if err != nil {
		return fmt.Errorf("make a user of the control plane: %w", err)
	}
	if t.settler, err = newSettler(user.Config(), settlerOptions{}); err != nil {
		return err
	}
	client, err := discovery.NewDiscoveryClientForConfig(t.admin)
	if err != nil {
		return fmt.Errorf("make a client of the control plane: %w", err)
	}
	t.store = rawStore{
		etcdURL: t.plane.Etcd.URL.String(),
		mapper:  restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client)),
	}
	if withControllers {
		t.managers, err = startControllerManager(t.guard, found.controllerManager, t.plane)
	}
	return err
}

// ready waits until the API server has what it makes for itself: roles, system priority classes, namespaces.
func (t *envtestTarget) ready(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(t.admin)
	if err != nil {
		return fmt.Errorf("make a client of the control plane: %w", err)
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, startTimeout, true, func(ctx context.Context) (bool, error) {
		if last = client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); last != nil {
			return false, nil
		}
		_, last = client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		if last != nil && !apierrors.IsNotFound(last) {
			return false, last
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the API server to be ready: %w (last answer: %w); the end of its log:\n%s", err, last, t.log)
	}
	return nil
}

func (t *envtestTarget) Info() Info { return t.info }

func (t *envtestTarget) RESTConfig() *rest.Config { return rest.CopyConfig(t.admin) }

func (t *envtestTarget) Can() sets.Set[fixtures.Need] {
	can := sets.New(fixtures.NeedHooks, fixtures.NeedAudit, fixtures.NeedRawStore, fixtures.NeedRestart, fixtures.NeedInTreePlugins)
	if t.managers != nil {
		can.Insert(fixtures.NeedControllers)
	}
	return can
}

func (t *envtestTarget) HookAddress() string { return "127.0.0.1" }

func (t *envtestTarget) AuditEvents(ctx context.Context, auditID string) ([]auditv1.Event, error) {
	return t.audit.eventsOf(ctx, auditID)
}

func (t *envtestTarget) StoreRaw(ctx context.Context, object []byte) error {
	return t.store.put(ctx, object)
}

func (t *envtestTarget) Restart(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return errors.New("restart the API server: the target has been stopped")
	}
	if err := t.plane.APIServer.Stop(); err != nil {
		return fmt.Errorf("stop the API server: %w", err)
	}
	if err := t.plane.APIServer.Start(); err != nil {
		return fmt.Errorf("start the API server again: %w; the end of its log:\n%s", err, t.log)
	}
	return t.ready(ctx)
}

func (t *envtestTarget) Explain(string) string { return "" }

func (t *envtestTarget) Logs() string { return t.log.String() }

func (t *envtestTarget) Stop() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return nil
	}
	t.stopped = true
	var errs []error
	if t.settler != nil {
		errs = append(errs, t.settler.close())
	}
	if t.managers != nil {
		errs = append(errs, t.managers.stop())
	}
	if t.plane != nil {
		errs = append(errs, t.plane.Stop())
	}
	if t.guard != nil {
		errs = append(errs, t.guard.close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop target %s: %w", Envtest, err)
	}
	return nil
}

// unthrottled switches client-go's own rate limit off: the suite waits for the server alone.
func unthrottled(config *rest.Config) *rest.Config {
	config.QPS = -1
	return config
}

var _ Target = (*envtestTarget)(nil)
