package target

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// assetsVersion is the Kubernetes version that hack/envtest-assets provides.
const assetsVersion = "1.37.2"

// assets are the binaries of a control plane.
type assets struct {
	apiServer, etcd string
	// controllerManager is empty where the directory has none, as those that setup-envtest downloads.
	controllerManager string
}

// findAssets looks for the binaries in dir; in KUBEBUILDER_ASSETS when dir is empty; else where hack/envtest-assets/build
// puts them.
func findAssets(dir string) (assets, error) {
	from := "the assets directory"
	if dir == "" {
		if dir = os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
			from = "KUBEBUILDER_ASSETS"
		} else {
			var err error
			if dir, err = assetsCache(); err != nil {
				return assets{}, err
			}
			from = "the cache directory"
		}
	}
	found := assets{}
	for _, binary := range []struct {
		path     *string
		name     string
		optional bool
	}{
		{&found.apiServer, "kube-apiserver", false},
		{&found.etcd, "etcd", false},
		{&found.controllerManager, "kube-controller-manager", true},
	} {
		path := filepath.Join(dir, binary.name)
		info, err := os.Stat(path)
		switch {
		case err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0:
			*binary.path = path
		case binary.optional && errors.Is(err, os.ErrNotExist):
		default:
			return assets{}, fmt.Errorf("%s %s holds no executable %s: run `make envtest-assets`, or set KUBEBUILDER_ASSETS "+
				"to a directory that `setup-envtest use -p path` prints", from, dir, binary.name)
		}
	}
	return found, nil
}

// assetsCache is the directory that hack/envtest-assets/build fills.
func assetsCache() (string, error) {
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the cache directory of the envtest assets: %w", err)
		}
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "gatehouse", "envtest", fmt.Sprintf("%s-%s-%s", assetsVersion, runtime.GOOS, runtime.GOARCH)), nil
}
