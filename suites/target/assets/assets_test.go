package assets_test

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/gatehouse-dev/gatehouse/suites/target/assets"
)

func TestDirectory(t *testing.T) {
	platform := "1.37.2-" + runtime.GOOS + "-" + runtime.GOARCH
	for name, test := range map[string]struct{ variable, cache, want string }{
		"given":             {"/assets", "/cache", "/assets"},
		"the cache":         {"", "/cache", filepath.Join("/cache", "gatehouse", "envtest", platform)},
		"the cache of HOME": {"", "", filepath.Join("/home", ".cache", "gatehouse", "envtest", platform)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBEBUILDER_ASSETS", test.variable)
			t.Setenv("XDG_CACHE_HOME", test.cache)
			t.Setenv("HOME", "/home")
			if got, err := assets.Directory(); err != nil || got != test.want {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
		})
	}
}
