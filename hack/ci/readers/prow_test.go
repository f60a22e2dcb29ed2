package readers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/prow/pkg/config"
)

// central is what a Prow that stores artifacts has in its own configuration.
const central = `
plank:
  default_decoration_config_entries:
  - config:
      utility_images: {clonerefs: clonerefs, initupload: initupload, entrypoint: entrypoint, sidecar: sidecar}
      gcs_configuration: {bucket: artifacts, path_strategy: explicit}
      gcs_credentials_secret: service-account
`

func loadProw(t *testing.T, jobs string) (*config.Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(central), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.LoadStrict(file, jobs, nil, "")
}

// TestProwJobs: Prow loads the jobs strictly, sets their defaults, and finds them valid.
func TestProwJobs(t *testing.T) {
	loaded, err := loadProw(t, filepath.Join(conformance, "prow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded.Periodics) != 1 {
		t.Fatalf("%d periodic jobs, want 1", len(loaded.Periodics))
	}
	job := loaded.Periodics[0]
	if job.GetInterval().Hours() != 6 || job.DecorationConfig.Timeout.Hours() != 1 || job.DecorationConfig.GracePeriod.Minutes() != 2 {
		t.Errorf("it runs every %v, for %+v", job.GetInterval(), job.DecorationConfig)
	}
}

func TestProwJobRefused(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(conformance, "prow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]*strings.Replacer{
		`unknown field "decorated"`: strings.NewReplacer("decorate: true", "decorated: true"),
		"not_a_duration":            strings.NewReplacer("interval: 6h", "interval: not_a_duration"),
		"must match regex":          strings.NewReplacer("name: periodic-", "name: periodic/"),
	} {
		jobs := filepath.Join(t.TempDir(), "jobs.yaml")
		if err := os.WriteFile(jobs, []byte(change.Replace(string(data))), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := loadProw(t, jobs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it says %v, want %q", err, want)
		}
	}
}
