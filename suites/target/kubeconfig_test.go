package target

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// testKubeconfig shows what the suite finds out about a server that it knows by a kubeconfig alone, and that it
// leaves nothing there.
func testKubeconfig(t *testing.T, server *envtestTarget) {
	user, err := server.plane.AddUser(envtest.User{Name: "somebody-else", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file) // as kubectl takes it
	cluster, err := Open(t.Context(), Options{Name: Kubeconfig, HookAddress: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	if info := cluster.Info(); info.Name != Kubeconfig || info.Version != server.Info().Version || info.Server != strings.TrimSuffix(server.RESTConfig().Host, "/") {
		t.Errorf("info %+v", info)
	}
	if diff := cmp.Diff(sets.New(fixtures.NeedHooks, fixtures.NeedInTreePlugins), cluster.Can()); diff != "" {
		t.Errorf("what it can (-want +got):\n%s", diff)
	}
	if err := cluster.Settle(t.Context(), namespaces.GroupResource(), validatingWebhooks.GroupResource(), mutatingWebhooks.GroupResource(),
		validatingPolicies.GroupResource(), mutatingBindings.GroupResource(), roles.GroupResource(), clusterRoles.GroupResource(), priorityClasses.GroupResource()); err != nil {
		t.Error(err)
	}
	if err := cluster.StoreRaw(t.Context(), nil); err == nil {
		t.Error("StoreRaw of a cluster that the suite did not start does nothing")
	}
	if err := server.settler.close(); err != nil { // what it has made is kept
		t.Fatal(err)
	}
	if err := cluster.Stop(); err != nil {
		t.Error(err)
	}
	expectNoSentinels(t, dynamic.NewForConfigOrDie(server.RESTConfig()), cluster.(*clusterTarget).settler.name)
}

func TestOpenErrors(t *testing.T) {
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"major":"1","minor":"29","gitVersion":"v1.29.4-gke.100"}`)
	}))
	defer old.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf(`{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: %q}}], users: [{name: u, user: {}}],
contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}`, old.URL)
	if err := os.WriteFile(kubeconfig, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		options Options
		want    []string
	}{
		{"an unknown target", Options{Name: "minikube"}, []string{`unknown target "minikube": want fakeapi, envtest or kubeconfig`}},
		{"no assets", Options{Name: Envtest, Assets: t.TempDir()}, []string{"target envtest", "make envtest-assets"}},
		{"no kubeconfig", Options{Name: Kubeconfig, Kubeconfig: "nowhere"}, []string{"target kubeconfig", "nowhere"}},
		{"an unknown context", Options{Name: Kubeconfig, Kubeconfig: kubeconfig, Context: "y"}, []string{"target kubeconfig", `context "y" does not exist`}},
		{"an old server", Options{Name: Kubeconfig, Kubeconfig: kubeconfig}, []string{old.URL, "v1.29.4-gke.100; the suite needs 1.30 or later"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			opened, err := Open(t.Context(), test.options)
			if err == nil {
				_ = opened.Stop()
				t.Fatal("it opens")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
		})
	}
}
