package target

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gatehouse-dev/gatehouse/suites/target/assets"
)

// binaries are those of a control plane.
type binaries struct {
	apiServer, etcd string
	// controllerManager is empty where the directory has none, as those that setup-envtest downloads.
	controllerManager string
}

// findAssets looks for the binaries in dir; in KUBEBUILDER_ASSETS when dir is empty; else where hack/envtest-assets/build
// puts them.
func findAssets(dir string) (binaries, error) {
	from := "the assets directory"
	if dir == "" {
		from = "the cache directory"
		if os.Getenv(assets.Variable) != "" {
			from = assets.Variable
		}
		var err error
		if dir, err = assets.Directory(); err != nil {
			return binaries{}, err
		}
	}
	found := binaries{}
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
			return binaries{}, fmt.Errorf("%s %s holds no executable %s: run `make envtest-assets`, or set KUBEBUILDER_ASSETS "+
				"to a directory that `setup-envtest use -p path` prints", from, dir, binary.name)
		}
	}
	return found, nil
}
