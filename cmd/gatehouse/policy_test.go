package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-dev/gatehouse/reports"
)

func TestPolicyTest(t *testing.T) {
	const examples = "../../suites/policy/examples/"
	const decided = "../../suites/policy/testdata/decided"
	for name, tt := range map[string]struct {
		args   []string
		status int
		stdout string
		stderr string
	}{
		"passed":              {[]string{examples + "required-labels"}, 0, "verdict: passed", ""},
		"what decided":        {[]string{examples + "required-labels"}, 0, "no-labels                           denied by required-labels validations[0] (policy.yaml:22)", ""},
		"coverage":            {[]string{examples + "required-labels", "--coverage-min", "100"}, 0, "required-labels        9 of 9  100%", ""},
		"explained":           {[]string{examples + "required-labels", "--explain"}, 0, "        CREATE deployments.apps all-there-", ""},
		"a failure":           {[]string{decided, "--focus", "not-as-expected"}, 1, "FAIL  not-as-expected", ""},
		"too little coverage": {[]string{decided, "--coverage-min", "100"}, 1, "and at least 100% was wanted", ""},
		"a selection":         {[]string{decided, "--focus", "/denied"}, 0, "verdict: partial", ""},
		"no binding":          {[]string{"../../suites/policy/testdata/misspelt"}, 1, "misspelt/policy.yaml:2:1: misspelt: no binding among the manifests names this policy", ""},
		"no arguments":        {nil, exitUsage, "", "name a directory or a file of policies and tables"},
		"no table":            {[]string{examples + "required-labels/policy.yaml"}, exitUsage, "", "there is no table: no YAML file with cases"},
		"no case":             {[]string{decided, "--focus", "nothing"}, exitUsage, "", "no case is selected by --focus nothing, of 10"},
		"no expression":       {[]string{decided, "--focus", "("}, exitUsage, "", "--focus: error parsing regexp"},
		"no percentage":       {[]string{decided, "--coverage-min", "101"}, exitUsage, "", "--coverage-min is 101: want 0 to 100"},
		"no such target":      {[]string{decided, "--target", "x"}, exitUsage, "", `--target is "x": want fakeapi, envtest or kubeconfig`},
		"coverage elsewhere":  {[]string{decided, "--target", "envtest", "--coverage-min", "1"}, exitUsage, "", "--coverage-min is for --target fakeapi"},
		"no assets":           {[]string{decided, "--target", "envtest", "--assets", "/nonexistent"}, exitEnvironment, "", "/nonexistent"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if status := run(t.Context(), append([]string{"policy", "test"}, tt.args...), &stdout, &stderr); status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
			if !strings.Contains(stdout.String(), tt.stdout) || !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("it says %s and %s; want %q and %q", stdout.String(), stderr.String(), tt.stdout, tt.stderr)
			}
		})
	}
}

func TestPolicyTestWithoutPolicies(t *testing.T) {
	dir := t.TempDir()
	table := "title: No policy\nsteps: [{create: {apiVersion: v1, kind: ConfigMap, metadata: {name: probe}}}]\ncases: [{name: only}]\n"
	if err := os.WriteFile(filepath.Join(dir, "test.yaml"), []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	for coverageMin, tt := range map[string]struct {
		status int
		says   string
	}{
		"0":  {0, "there is no policy among the manifests\n"},
		"50": {1, "there is no policy among the manifests, and an expression coverage of at least 50% was wanted"},
	} {
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), []string{"policy", "test", dir, "--coverage-min", coverageMin}, &stdout, &stderr); status != tt.status {
			t.Errorf("--coverage-min %s: status %d, want %d: %s", coverageMin, status, tt.status, stderr.String())
		}
		if !strings.Contains(stdout.String(), tt.says) {
			t.Errorf("--coverage-min %s: it says %s; want %q", coverageMin, stdout.String(), tt.says)
		}
	}
}

func TestPolicyTestReports(t *testing.T) {
	out := t.TempDir()
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"policy", "test", "../../suites/policy/testdata/decided", "--out", out}, &stdout, &stderr); status != 1 {
		t.Fatalf("status %d: %s", status, stderr.String())
	}
	name := filepath.Join(out, "report.json")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := reports.ReadJSON(name, data)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != reports.TestsFailed || r.Total.CaseCounts.Fail != 2 || len(r.PolicyTests.Policies) != 3 {
		t.Errorf("verdict %s, %+v, %d policies", r.Verdict, r.Total.CaseCounts, len(r.PolicyTests.Policies))
	}
	if junit, err := os.ReadFile(filepath.Join(out, "junit.xml")); err != nil || !bytes.Contains(junit, []byte(`<property name="expression-coverage"`)) {
		t.Errorf("junit.xml: %v\n%s", err, junit)
	}
}
