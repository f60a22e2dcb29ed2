package target

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// The names of the targets.
const (
	FakeAPI    = "fakeapi"
	Envtest    = "envtest"
	Kubeconfig = "kubeconfig"
)

// Options say which API server to test and how.
type Options struct {
	// Name is FakeAPI, Envtest or Kubeconfig.
	Name string
	// Needs are what the cases to run need. A target starts what is costly, such as kube-controller-manager, only
	// when it is among them, and FakeAPI serves retired versions only then; see Together.
	Needs sets.Set[fixtures.Need]

	// Kubeconfig is the kubeconfig file of the cluster to test; empty means the file that kubectl would take.
	Kubeconfig string
	// Context is the kubeconfig's context; empty means its current one.
	Context string
	// HookAddress is where the cluster's API server reaches webhook servers on this machine: HOST, HOST:PORT or
	// HOST:FIRST-LAST. Empty for a Kubeconfig target means that there is no way.
	HookAddress string

	// Assets is the directory of kube-apiserver, etcd and kube-controller-manager for Envtest; empty means
	// KUBEBUILDER_ASSETS, else the directory that `make envtest-assets` fills.
	Assets string
}

// Open starts the target, or connects to it, and returns once it serves. The caller stops it.
func Open(ctx context.Context, options Options) (Target, error) {
	switch options.Name {
	case FakeAPI:
		return openFakeAPI(ctx, options)
	case Envtest:
		return openEnvtest(ctx, options)
	case Kubeconfig:
		return openKubeconfig(ctx, options)
	}
	return nil, fmt.Errorf("unknown target %q: want %s, %s or %s", options.Name, FakeAPI, Envtest, Kubeconfig)
}
