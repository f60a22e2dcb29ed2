package readers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/vmware-tanzu/sonobuoy/pkg/client/results"
	"github.com/vmware-tanzu/sonobuoy/pkg/plugin"
	"github.com/vmware-tanzu/sonobuoy/pkg/plugin/loader"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// sonobuoyPlugin is the plugin as Sonobuoy loads it.
func sonobuoyPlugin(t *testing.T) plugin.Interface {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join(conformance, "sonobuoy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "plugin.yaml"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	plugins, err := loader.LoadAllPlugins("sonobuoy", "sonobuoy", "IfNotPresent", "", nil, []string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(plugins) != 1 || plugins[0].GetName() != "gatehouse" {
		t.Fatalf("plugins %v, want gatehouse", plugins)
	}
	return plugins[0]
}

// TestSonobuoyPod: Sonobuoy makes a pod of the plugin that has the volumes which its containers mount, and that writes
// where Sonobuoy looks.
func TestSonobuoyPod(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	client := fake.NewSimpleClientset()
	cert := &tls.Certificate{Certificate: [][]byte{{0}}, PrivateKey: key}
	if err := sonobuoyPlugin(t).Run(client, "aggregator", cert, &corev1.Pod{}, "8099", plugin.ResultsDir); err != nil {
		t.Fatal(err)
	}
	pods, err := client.CoreV1().Pods("sonobuoy").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("%d pods: %v", len(pods.Items), err)
	}
	spec := pods.Items[0].Spec
	for _, c := range spec.Containers {
		for _, mount := range c.VolumeMounts {
			if !slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name }) {
				t.Errorf("container %s mounts %s, which the pod has not", c.Name, mount.Name)
			}
			if mount.MountPath != plugin.ResultsDir {
				t.Errorf("container %s mounts %s at %s, want %s", c.Name, mount.Name, mount.MountPath, plugin.ResultsDir)
			}
		}
	}
}

// TestSonobuoyResults: Sonobuoy sees each case of a plugin's results.
func TestSonobuoyResults(t *testing.T) {
	p := sonobuoyPlugin(t)
	data, err := os.ReadFile(junitFile(t, "portable"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	where := filepath.Join(dir, results.PluginsDir, p.GetName(), results.ResultsDir, plugin.GlobalResult)
	if err := os.MkdirAll(where, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(where, "junit.xml"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	root, errs := results.PostProcessPlugin(p, dir)
	if len(errs) > 0 || root.Status != results.StatusFailed {
		t.Fatalf("status %s, errors %v", root.Status, errs)
	}
	got := map[string]string{}
	var walk func(results.Item)
	walk = func(i results.Item) {
		if len(i.Items) == 0 {
			got[i.Name] = i.Status
		}
		for _, below := range i.Items {
			walk(below)
		}
	}
	walk(root)
	if !maps.Equal(got, cases) {
		t.Errorf("cases %v, want %v", got, cases)
	}
}
