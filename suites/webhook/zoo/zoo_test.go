package zoo_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/webhook"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/config"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/zoo"
)

// The variables by which this test binary becomes an animal.
const (
	animalVariable  = "GATEHOUSE_ZOO_ANIMAL"
	portVariable    = "GATEHOUSE_ZOO_PORT"
	certDirVariable = "GATEHOUSE_ZOO_CERTS"
)

func TestMain(m *testing.M) {
	name := os.Getenv(animalVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	all := append(zoo.Animals(), zoo.Good())
	i := slices.IndexFunc(all, func(a zoo.Animal) bool { return a.Name == name })
	if err := all[i].Main(zoo.Process{Address: "127.0.0.1:" + os.Getenv(portVariable), CertDir: os.Getenv(certDirVariable)}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// timed are the rules that go by the clock: how fast this machine is just now is not an animal's fault.
var timed = []string{"contract.time.half-timeout", "contract.response.within-timeout"}

// TestRulesHaveAnimals: each demand of the ledger has a rule, and each rule an animal that breaks it, or a note that says why
// there is none. That is what makes the area a finished one.
func TestRulesHaveAnimals(t *testing.T) {
	set, err := fixtures.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	rules := webhook.RuleIDs()
	if unique := slices.Compact(slices.Sorted(slices.Values(rules))); len(unique) != len(rules) {
		t.Error("a rule stands in the table twice")
	}
	animals := map[string]int{}
	for _, a := range zoo.Animals() {
		animals[a.Rule]++
	}
	if area, _ := set.Ledger.Area(webhook.Area); !area.Finished || area.Witness != fixtures.Zoo {
		t.Errorf("the area %s is not a finished one of the zoo", webhook.Area)
	}
	entries, err := set.Ledger.OfArea(webhook.Area)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range entries {
		switch {
		case !slices.Contains(rules, b.ID):
			t.Errorf("%s: %s has no rule", b.Position, b.ID)
		case unseen(b) && (animals[b.ID] > 0 || b.Level == fixtures.Must):
			t.Errorf("%s: %s cannot be seen, its notes say: it has %d animals and level %s", b.Position, b.ID, animals[b.ID], b.Level)
		case !unseen(b) && animals[b.ID] == 0:
			t.Errorf("%s: %s has no animal, and its notes do not begin with %q", b.Position, b.ID, zoo.Unseen)
		}
		delete(animals, b.ID)
	}
	for _, id := range rules {
		if _, ok := set.Ledger.Behavior(id); !ok {
			t.Errorf("the rule %s is not in the ledger", id)
		}
	}
	for id := range animals {
		t.Errorf("an animal breaks %s, which is not in the ledger", id)
	}
}

func unseen(b fixtures.Behavior) bool { return strings.HasPrefix(b.Notes, zoo.Unseen) }

// idle are rules about what the good webhook has no occasion to do, such as warnings.
var idle = []string{
	"contract.mutating.idempotent-anyway", "contract.mutating.no-patch-when-denying", "contract.dry-run.no-side-effects",
	"contract.registration.if-needed-where-required", "contract.warnings.length", "contract.warnings.no-prefix",
	"contract.audit.key-format", "contract.audit.value-size",
}

// atURL are rules about servers that run already, asProcess those about servers that Gatehouse starts.
var (
	atURL     = []string{"contract.endpoint.certificate-names", "contract.endpoint.certificate-lasting", "contract.endpoint.certificate-strong"}
	asProcess = []string{
		"contract.access.allowed", "contract.validating.read-only", "contract.dry-run.none-has-no-effects",
		"contract.side-effects.no-files", "contract.availability.graceful-shutdown", "contract.availability.cert-rotation",
		"contract.time.memory",
	}
)

// TestGood: the good webhook keeps all rules, and all but a few look at something.
func TestGood(t *testing.T) {
	ledger, err := fixtures.BuiltinLedger()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		animal zoo.Animal
		idle   []string
	}{{zoo.Good(), slices.Concat(idle, atURL)}, {zoo.GoodAtURL(), slices.Concat(idle, asProcess)}} {
		t.Run(test.animal.Name, func(t *testing.T) {
			for _, r := range judge(t, test.animal, test.animal.Shown == nil).Results {
				rule, want := r.Behaviors[0], reports.Pass
				if b, _ := ledger.Behavior(rule); unseen(b) || slices.Contains(test.idle, rule) {
					want = reports.NotRun
				}
				if r.Outcome != want && !slices.Contains(timed, rule) {
					t.Errorf("%s: %s, want %s (%s)\n%s", rule, r.Outcome, want, r.Reason, reports.Describe(r))
				}
			}
		})
	}
}

// TestAnimals: each animal is found by its rule, and by no other.
func TestAnimals(t *testing.T) {
	for _, animal := range zoo.Animals() {
		t.Run(strings.TrimPrefix(animal.Rule, "contract."), func(t *testing.T) {
			t.Parallel()
			report := judge(t, animal, animal.Process)
			var found []string
			for _, r := range report.Results {
				if r.Outcome == reports.Fail || r.Outcome == reports.Warn || r.Outcome == reports.Error {
					found = append(found, r.Behaviors[0])
					if slices.Contains(timed, r.Behaviors[0]) && r.Behaviors[0] != animal.Rule {
						t.Logf("slow now: %s", r.Failures[0].Message)
					} else if r.Behaviors[0] != animal.Rule {
						t.Errorf("%s is found too:\n%s", r.Behaviors[0], reports.Describe(r))
					}
					if len(r.Failures) == 0 || r.Failures[0].Advice == "" {
						t.Errorf("%s says not what to change", r.Behaviors[0])
					}
				}
			}
			if !slices.Contains(found, animal.Rule) {
				t.Errorf("%s: not found", animal.Name)
			}
		})
	}
}

// TestTables: an author's tables run with the webhook in place, each case a result of its own.
func TestTables(t *testing.T) {
	const table = `title: Pods are labelled
steps:
- create: {apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: web, image: "registry.example/web:v1"}]}}
  expect: {code: 201, object: {metadata: {labels: {zoo.example.com/labelled: "${value}"}}}}
cases:
- {name: right, set: {value: "yes"}}
- {name: wrong, set: {value: "no"}}
`
	report := judge(t, zoo.Good(), true, table)
	outcomes := map[string]reports.Outcome{}
	for _, r := range report.Results {
		outcomes[r.ID] = r.Outcome
	}
	for id, want := range map[string]reports.Outcome{"tables/table/right": reports.Pass, "tables/table/wrong": reports.Fail} {
		var found []reports.Outcome
		for got, outcome := range outcomes {
			if strings.HasSuffix(got, id) {
				found = append(found, outcome)
			}
		}
		if len(found) != 1 || found[0] != want {
			t.Errorf("%s: %v, want %s", id, found, want)
		}
	}
	if report.ExitStatus != 1 {
		t.Errorf("exit status %d, want 1", report.ExitStatus)
	}
}

// judge puts an animal on trial, in this process or in one of its own, with tables of its author's.
func judge(t *testing.T, animal zoo.Animal, process bool, tables ...string) reports.Report {
	t.Helper()
	dir := t.TempDir()
	files, err := animal.Files()
	if err != nil {
		t.Fatal(err)
	}
	dirs := "[]"
	for _, table := range tables {
		dirs = "[tables]"
		files["tables/table.yaml"] = table
		if err := os.Mkdir(filepath.Join(dir, "tables"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const refused = "not for this zoo"
	o := webhook.Options{Limits: webhook.Limits{Load: 10 * time.Millisecond, MemoryReviews: 1500, Memory: time.Minute, Rotation: time.Second}}
	switch {
	case animal.Shown != nil:
		text := fmt.Sprintf("manifests: [manifests.yaml]\nurl: %s\nca: ca.crt\nsamples:\n  admitted: [admitted.yaml]\n  refused: [{file: refused.yaml, message: %s}]\n", listen(t, animal, filepath.Join(dir, "ca.crt")), refused)
		o.ConfigFile = filepath.Join(dir, "gatehouse.yaml")
		if err := os.WriteFile(o.ConfigFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	case process:
		text := fmt.Sprintf("manifests: [manifests.yaml]\nfixtures: %s\nrun:\n  command: [%q]\n  env: {GOGC: \"10\", %s: %q, %s: \"${port}\", %s: \"${certDir}\"}\nsamples:\n  admitted: [admitted.yaml]\n  refused: [{file: refused.yaml, message: %s}]\n",
			dirs, os.Args[0], animalVariable, animal.Name, portVariable, certDirVariable, refused)
		o.ConfigFile = filepath.Join(dir, "gatehouse.yaml")
		if err := os.WriteFile(o.ConfigFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		o.Manifests, o.Handler = []string{filepath.Join(dir, "manifests.yaml")}, animal.NewHandler
		o.Samples = config.Samples{
			Admitted: []string{filepath.Join(dir, "admitted.yaml")},
			Refused:  []config.Refused{{File: filepath.Join(dir, "refused.yaml"), Message: refused}},
		}
	}
	report, err := webhook.Judge(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// listen serves an animal as one that runs already, writes the certificate that vouches for it to a file, and returns its
// URL.
func listen(t *testing.T, animal zoo.Animal, ca string) string {
	t.Helper()
	certificate, key := animal.Shown.Make()
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ca, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	handler, err := animal.NewHandler(webhook.Environment{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}
