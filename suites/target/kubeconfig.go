package target

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/version"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// oldestServer is the first version with all that settling needs: match conditions and validating policies.
var oldestServer = version.MustParseGeneric("1.30.0")

// clusterTarget is a cluster that the suite did not start.
type clusterTarget struct {
	*settler
	config      *rest.Config
	info        Info
	can         sets.Set[fixtures.Need]
	hookAddress string
}

// LoadKubeconfig reads the kubeconfig of the options and returns how to reach the cluster of their context.
func LoadKubeconfig(options Options) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = options.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: options.Context}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
}

func openKubeconfig(ctx context.Context, options Options) (_ Target, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("target %s: %w", Kubeconfig, err)
		}
	}()
	config, err := LoadKubeconfig(options)
	if err != nil {
		return nil, err
	}
	config = unthrottled(config)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	served, err := client.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("ask %s for its version: %w", config.Host, err)
	}
	parsed, err := version.ParseGeneric(served.GitVersion)
	if err != nil {
		return nil, fmt.Errorf("version of %s: %w", config.Host, err)
	}
	if parsed.LessThan(oldestServer) {
		return nil, fmt.Errorf("%s is of version %s; the suite needs %d.%d or later",
			config.Host, served.GitVersion, oldestServer.Major(), oldestServer.Minor())
	}
	can, err := abilities(ctx, client, options)
	if err != nil {
		return nil, fmt.Errorf("find out what %s can do: %w", config.Host, err)
	}
	settler, err := newSettler(config, settlerOptions{cleanUp: true})
	if err != nil {
		return nil, err
	}
	return &clusterTarget{
		settler:     settler,
		config:      config,
		info:        Info{Name: Kubeconfig, Version: served.GitVersion, Server: config.Host},
		can:         can,
		hookAddress: options.HookAddress,
	}, nil
}

// abilities finds out what a cluster can do, by what is there: what controllers put into namespaces, what admission plugins
// do to a pod, nodes, and discovery.
func abilities(ctx context.Context, client kubernetes.Interface, options Options) (sets.Set[fixtures.Need], error) {
	can := sets.New[fixtures.Need]()
	if options.HookAddress != "" {
		can.Insert(fixtures.NeedHooks)
	}
	for _, probe := range []struct {
		need fixtures.Need
		has  func(context.Context, kubernetes.Interface) (bool, error)
	}{
		{fixtures.NeedControllers, hasControllers},
		{fixtures.NeedInTreePlugins, hasPlugins},
		{fixtures.NeedNodes, hasNodes},
		{fixtures.NeedLegacyWorkloads, hasLegacyWorkloads},
		{fixtures.NeedV1beta1Configurations, hasV1beta1Configurations},
	} {
		has, err := probe.has(ctx, client)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", probe.need, err)
		}
		if has {
			can.Insert(probe.need)
		}
	}
	return can, nil
}

func hasControllers(ctx context.Context, client kubernetes.Interface) (bool, error) {
	_, err := client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

func hasPlugins(ctx context.Context, client kubernetes.Interface) (bool, error) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "gatehouse-"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "none", Image: "none"}}},
	}
	pod, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) { // other plugins refuse it, so nothing can be said
		return false, nil
	}
	return err == nil && pod.Spec.Priority != nil, err
}

func hasNodes(ctx context.Context, client kubernetes.Interface) (bool, error) {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for _, node := range nodes.Items {
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				return true, nil
			}
		}
	}
	return false, nil
}

func hasLegacyWorkloads(_ context.Context, client kubernetes.Interface) (bool, error) {
	for _, groupVersion := range []string{"apps/v1beta1", "apps/v1beta2", "extensions/v1beta1"} {
		_, err := client.Discovery().ServerResourcesForGroupVersion(groupVersion)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

func hasV1beta1Configurations(_ context.Context, client kubernetes.Interface) (bool, error) {
	list, err := client.Discovery().ServerResourcesForGroupVersion("admissionregistration.k8s.io/v1beta1")
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// Later servers had policies alone in this version.
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == "validatingwebhookconfigurations" }), nil
}

func (t *clusterTarget) Info() Info { return t.info }

func (t *clusterTarget) RESTConfig() *rest.Config { return rest.CopyConfig(t.config) }

func (t *clusterTarget) Can() sets.Set[fixtures.Need] { return t.can.Clone() }

func (t *clusterTarget) HookAddress() string { return t.hookAddress }

func (t *clusterTarget) AuditEvents(context.Context, string) ([]auditv1.Event, error) {
	return nil, errNotOurs
}

func (t *clusterTarget) StoreRaw(context.Context, []byte) error { return errNotOurs }

func (t *clusterTarget) Restart(context.Context) error { return errNotOurs }

var errNotOurs = errors.New("target kubeconfig: only possible with a server that the suite starts")

func (t *clusterTarget) Explain(string) string { return "" }

func (t *clusterTarget) Logs() string { return "" }

func (t *clusterTarget) Stop() error { return t.settler.close() }
