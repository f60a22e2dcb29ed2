package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/config"
)

var rules = []string{"contract.mutating.idempotent", "contract.response.uid-echoed"}

// inDir makes a directory with the files that the tests name.
func inDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"webhook.yaml", "good.yaml", "bad.yaml", "kustomized/kustomization.yaml"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestParse(t *testing.T) {
	dir := inDir(t)
	path := filepath.Join(dir, "gatehouse.yaml")
	got, err := config.Parse(path, []byte(`
manifests: [webhook.yaml, "-"]
run:
  command: [./manager, "--cert-dir=${certDir}", "--port=${port}"]
  env: {LOG: debug}
  ready: {path: /healthz, timeout: 5s}
samples:
  admitted: [good.yaml]
  refused: [{file: bad.yaml, message: "no"}]
skip:
- {rule: contract.mutating.idempotent, reason: known, expires: 2027-01-31}
target: envtest
`), rules)
	if err != nil {
		t.Fatal(err)
	}
	want := &config.File{
		Manifests: []string{"webhook.yaml", "-"},
		Run: &config.Run{
			Command: []string{"./manager", "--cert-dir=${certDir}", "--port=${port}"},
			Env:     map[string]string{"LOG": "debug"},
			Ready:   config.Ready{Path: "/healthz", Timeout: "5s"},
		},
		Samples: config.Samples{Admitted: []string{"good.yaml"}, Refused: []config.Refused{{File: "bad.yaml", Message: "no"}}},
		Skip:    []config.Skip{{Rule: "contract.mutating.idempotent", Reason: "known", Expires: "2027-01-31"}},
		Target:  "envtest", Path: path, Dir: dir,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d := got.Run.ReadyTimeout(); d != 5*time.Second {
		t.Errorf("ready timeout is %s", d)
	}
	if got := got.Resolve("webhook.yaml"); got != filepath.Join(dir, "webhook.yaml") {
		t.Errorf("resolved to %s", got)
	}
}

func TestParseRefuses(t *testing.T) {
	const server = "manifests: [webhook.yaml]\nurl: https://127.0.0.1:9443\n"
	for _, test := range []struct{ name, text, want string }{
		{"no server", "manifests: [webhook.yaml]\n", `1:1: "url" or "run" is missing`},
		{"two servers", server + "run: {command: [x]}\n", `3:6: run: "url" is given too`},
		{"plain http", "manifests: [webhook.yaml]\nurl: http://127.0.0.1\n", `2:6: url: got "http://127.0.0.1", want https://HOST:PORT`},
		{"a path in the url", "manifests: [webhook.yaml]\nurl: https://127.0.0.1/validate\n", "2:6: url: got"},
		{"an authority without a url", "manifests: [webhook.yaml]\nca: webhook.yaml\nrun: {command: [x]}\n", "2:5: ca: it belongs to"},
		{"an unknown field", server + "sample: {}\n", `3:1: unknown field "sample"; did you mean "samples"?`},
		{"no manifests", "url: https://127.0.0.1:9443\n", `1:1: "manifests" is missing`},
		{"an empty list of manifests", "manifests: []\nurl: https://127.0.0.1:9443\n", "1:12: manifests: an empty list"},
		{"a file that is not there", "manifests: [none.yaml]\nurl: https://127.0.0.1:9443\n", "1:13: none.yaml: no such file"},
		{"a directory of kustomize", "manifests: [kustomized]\nurl: https://127.0.0.1:9443\n", "1:13: kustomized: a directory of kustomize"},
		{"no command", "manifests: [webhook.yaml]\nrun: {command: []}\n", "2:16: command: an empty list"},
		{"an unknown placeholder", "manifests: [webhook.yaml]\nrun: {command: [x, \"${certdir}\"]}\n", `2:20: unknown placeholder ${certdir}; did you mean "certDir"?`},
		{"a port out of range", "manifests: [webhook.yaml]\nrun: {command: [x], port: 70000}\n", "2:27: port: got 70000, want a port from 1 to 65535"},
		{"a relative path", "manifests: [webhook.yaml]\nrun: {command: [x], ready: {path: healthz}}\n", `2:35: path: got "healthz", want an absolute path`},
		{"no duration", "manifests: [webhook.yaml]\nrun: {command: [x], ready: {timeout: soon}}\n", `2:38: timeout: got "soon", want a duration`},
		{"a broken expression", server + "samples: {refused: [{file: bad.yaml, message: \"(\"}]}\n", `3:47: message: got "(", want a regular expression`},
		{"an unknown rule", server + "skip: [{rule: contract.mutating.idempotence, reason: r, expires: 2027-01-31}]\n", `3:15: rule: unknown rule "contract.mutating.idempotence"; did you mean "contract.mutating.idempotent"?`},
		{"a rule skipped twice", server + "skip:\n- {rule: contract.response.uid-echoed, reason: r, expires: 2027-01-31}\n- {rule: contract.response.uid-echoed, reason: r, expires: 2027-01-31}\n", `5:10: rule: "contract.response.uid-echoed" is skipped at line 4 already`},
		{"a skip without a reason", server + "skip: [{rule: contract.response.uid-echoed, reason: \"\", expires: 2027-01-31}]\n", "3:53: reason: it is empty"},
		{"a skip for ever", server + "skip: [{rule: contract.response.uid-echoed, reason: r, expires: never}]\n", `3:65: expires: got "never", want a day such as`},
		{"an unknown target", server + "target: kind\n", `3:9: target: unknown value "kind"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := inDir(t)
			path := filepath.Join(dir, "gatehouse.yaml")
			_, err := config.Parse(path, []byte(test.text), rules)
			if err == nil || !strings.HasPrefix(err.Error(), path+":"+test.want) {
				t.Errorf("got %v, want %s", err, path+":"+test.want)
			}
		})
	}
}

func TestExpand(t *testing.T) {
	values := map[string]string{"port": "9443", "certDir": "/certs"}
	if got := config.Expand("--at=${certDir}:${port}/${other}", values); got != "--at=/certs:9443/${other}" {
		t.Errorf("got %s", got)
	}
}
