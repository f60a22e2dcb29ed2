// Package assets says where the binaries of a real control plane are, which hack/envtest-assets/build makes or envtest has.
package assets

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Variable is the environment variable that says where the binaries are, as it does to envtest.
const Variable = "KUBEBUILDER_ASSETS"

// Version is the version of the binaries that hack/envtest-assets/build makes.
const Version = "v1.37.2"

// Directory returns the directory of the binaries, which need not exist: KUBEBUILDER_ASSETS or, when that is not set, where
// hack/envtest-assets/build puts them.
func Directory() (string, error) {
	if directory := os.Getenv(Variable); directory != "" {
		return directory, nil
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the cache directory of the envtest assets: %w", err)
		}
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "gatehouse", "envtest", fmt.Sprintf("%s-%s-%s", Version[len("v"):], runtime.GOOS, runtime.GOARCH)), nil
}
