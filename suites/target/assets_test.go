package target

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/gatehouse-dev/gatehouse/suites/target/assets"
)

func TestFindAssets(t *testing.T) {
	directory := func(t *testing.T, binaries ...string) string {
		dir := t.TempDir()
		for _, name := range binaries {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	all := []string{"kube-apiserver", "etcd", "kube-controller-manager"}
	for _, test := range []struct {
		name string
		// made are the binaries in the directory of the options, in KUBEBUILDER_ASSETS, and in the cache; nil for no directory.
		option, environment, cache []string
		want                       string // which of them is taken
		withoutControllerManager   bool
		err                        string
	}{
		{name: "the options come first", option: all, environment: all, cache: all, want: "option"},
		{name: "then the environment", environment: all, cache: all, want: "environment"},
		{name: "then the cache", cache: all, want: "cache"},
		{name: "setup-envtest has no controller manager", environment: []string{"kube-apiserver", "etcd", "kubectl"}, want: "environment", withoutControllerManager: true},
		{name: "nothing at all", err: "holds no executable kube-apiserver: run `make envtest-assets`"},
		{name: "half a directory", environment: []string{"kube-apiserver"}, cache: all, err: "holds no executable etcd"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cacheHome := t.TempDir()
			t.Setenv("XDG_CACHE_HOME", cacheHome)
			t.Setenv("KUBEBUILDER_ASSETS", "")
			dirs := map[string]string{}
			if test.option != nil {
				dirs["option"] = directory(t, test.option...)
			}
			if test.environment != nil {
				dirs["environment"] = directory(t, test.environment...)
				t.Setenv("KUBEBUILDER_ASSETS", dirs["environment"])
			}
			if test.cache != nil {
				dirs["cache"] = filepath.Join(cacheHome, "gatehouse", "envtest", strings.TrimPrefix(assets.Version, "v")+"-"+runtime.GOOS+"-"+runtime.GOARCH)
				if err := os.MkdirAll(filepath.Dir(dirs["cache"]), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(directory(t, test.cache...), dirs["cache"]); err != nil {
					t.Fatal(err)
				}
			}
			found, err := findAssets(dirs["option"])
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("error %v, want one with %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := filepath.Join(dirs[test.want], "kube-apiserver"); found.apiServer != want {
				t.Errorf("found %s, want %s", found.apiServer, want)
			}
			if (found.controllerManager == "") != test.withoutControllerManager {
				t.Errorf("controller manager %q", found.controllerManager)
			}
		})
	}
}

// TestAssetsVersion holds the version here and that of the module from which the binaries are built together.
func TestAssetsVersion(t *testing.T) {
	module, err := os.ReadFile("../../hack/envtest-assets/kubernetes/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	required := regexp.MustCompile(`k8s\.io/kubernetes v(\S+)`).FindSubmatch(module)
	if required == nil || string(required[1]) != strings.TrimPrefix(assets.Version, "v") {
		t.Errorf("hack/envtest-assets/kubernetes/go.mod requires %s, assets.Version is %s", required, assets.Version)
	}
}
