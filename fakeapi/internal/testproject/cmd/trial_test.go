package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/webhook"
)

// trialFiles are what the project's author would write to put its webhooks on trial.
var trialFiles = map[string]string{
	"gatehouse.yaml": `manifests: ["-"]
run:
  command: [%q, --health-probe-bind-address=0, "--webhook-cert-path=${certDir}", "--webhook-port=${port}"]
  env: {` + managerVariable + `: "1"}
samples:
  admitted: [v1.yaml, v2.yaml]
  refused: [{file: refused.yaml, message: must lead to another host}]
`,
	"v1.yaml":      "apiVersion: net.example.com/v1\nkind: Relay\nmetadata: {name: old, namespace: relays}\nspec: {target: db}\n",
	"v2.yaml":      "apiVersion: net.example.com/v2\nkind: Relay\nmetadata: {name: new, namespace: relays}\nspec: {host: db}\n",
	"refused.yaml": "apiVersion: net.example.com/v2\nkind: Relay\nmetadata: {name: round, namespace: relays}\nspec: {host: localhost}\n",
}

// TestTrial: the webhooks of the project, run and registered as it ships them, keep the contract but for what
// controller-runtime leaves out and what something else has to inject. The conversion webhook and the controller are at work
// meanwhile and are not taken for the webhooks.
func TestTrial(t *testing.T) {
	dir := t.TempDir()
	for name, text := range trialFiles {
		if name == "gatehouse.yaml" {
			text = fmt.Sprintf(text, os.Args[0])
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	manifests, err := os.Open(filepath.Join("..", "dist", "install.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer manifests.Close()
	report := webhook.Run(t, webhook.Options{
		ConfigFile: filepath.Join(dir, "gatehouse.yaml"), Stdin: manifests,
		Limits: webhook.Limits{Load: 10 * time.Millisecond, MemoryReviews: 500},
	})
	passed := map[string]bool{}
	var found []string
	for _, r := range report.Results {
		passed[r.ID] = r.Outcome == reports.Pass
		if r.Outcome == reports.Warn && r.ID != "webhook-contract/time/half-timeout" { // this machine may be slow now
			found = append(found, r.ID)
		}
	}
	slices.Sort(found)
	want := []string{"webhook-contract/endpoint/content-type", "webhook-contract/registration/ca-bundle", "webhook-contract/robustness/wrong-method"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	for _, id := range []string{"converted-object", "samples/admitted", "samples/refused", "access/allowed", "dry-run/none-has-no-effects", "availability/graceful-shutdown"} {
		if !passed["webhook-contract/"+id] {
			t.Errorf("%s was not looked at", id)
		}
	}
}
