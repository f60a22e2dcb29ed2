package console

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"

	"k8s.io/apimachinery/pkg/version"

	"github.com/gatehouse-dev/gatehouse/suites/target/assets"
)

// FindKubectl returns the path of kubectl in the version that fakeapi is held against.
func FindKubectl(ctx context.Context) (string, error) {
	directory, err := assets.Directory()
	if err != nil {
		return "", err
	}
	kubectl := filepath.Join(directory, "kubectl")
	data, err := exec.CommandContext(ctx, kubectl, "version", "--client", "--output=json").Output()
	if err != nil {
		return "", fmt.Errorf("find kubectl: %w", err)
	}
	var versions struct {
		ClientVersion version.Info `json:"clientVersion"`
	}
	if err := json.Unmarshal(data, &versions); err != nil {
		return "", fmt.Errorf("version of %s: %w", kubectl, err)
	}
	if versions.ClientVersion.GitVersion != assets.Version {
		return "", fmt.Errorf("%s is of version %s, not %s", kubectl, versions.ClientVersion.GitVersion, assets.Version)
	}
	return kubectl, nil
}
