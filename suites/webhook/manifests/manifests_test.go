package manifests_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
)

const shipped = `
apiVersion: v1
kind: Service
metadata: {name: webhook, namespace: system}
spec: {selector: {app: manager}, ports: [{port: 443}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager, namespace: system}
spec: {template: {metadata: {labels: {app: manager}}, spec: {serviceAccountName: manager, containers: []}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: manager, namespace: system}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: other, namespace: system}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: webhook, namespace: system}
---
apiVersion: v1
kind: Namespace
metadata: {name: system}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: m}
webhooks:
- name: a.example.com
  clientConfig: {service: {name: webhook, namespace: system, path: /mutate}}
  sideEffects: None
  admissionReviewVersions: [v1, v2]
- name: b.example.com
  clientConfig: {url: "https://hooks.example.com:8443/b"}
  sideEffects: NoneOnDryRun
  timeoutSeconds: 3
  reinvocationPolicy: IfNeeded
  failurePolicy: Ignore
  admissionReviewVersions: [v1]
`

func read(t *testing.T, text string) (*manifests.Set, error) {
	t.Helper()
	return manifests.Read([]string{"-"}, strings.NewReader(text))
}

func TestRead(t *testing.T) {
	set, err := read(t, shipped)
	if err != nil {
		t.Fatal(err)
	}
	if want := (manifests.Account{Namespace: "system", Name: "manager"}); set.Account() != want {
		t.Errorf("service account %v, want that of the Deployment behind the Service", set.Account())
	}
	if diff := cmp.Diff([]string{"hooks.example.com", "webhook.system.svc"}, set.Names()); diff != "" {
		t.Errorf("names of the certificate (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Certificate cert-manager.io/v1 (stdin:20)"}, set.SetAside); diff != "" {
		t.Errorf("set aside (-want +got):\n%s", diff)
	}
	var installed []string
	for _, o := range set.Installed {
		installed = append(installed, o.GetKind())
	}
	if diff := cmp.Diff([]string{"Namespace", "ServiceAccount", "ServiceAccount", "Service"}, installed); diff != "" {
		t.Errorf("installed (-want +got):\n%s", diff)
	}
	type hook struct {
		Path, ServerName, Field   string
		Timeout                   time.Duration
		Closed, IfNeeded, Effects bool
		Equivalent                bool
		Versions                  []string
	}
	var got []hook
	for _, h := range set.Hooks {
		got = append(got, hook{h.Path(), h.ServerName(), h.Field(), h.Timeout(), h.FailsClosed(), h.IfNeeded(), h.HasSideEffects(), h.Equivalent(), h.ReviewVersions()})
	}
	want := []hook{
		{"/mutate", "webhook.system.svc", "webhooks[0]", 10 * time.Second, true, false, false, true, []string{"v1"}},
		{"/b", "hooks.example.com", "webhooks[1]", 3 * time.Second, false, true, true, true, []string{"v1"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("webhooks (-want +got):\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"no webhook", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n", "no webhook"},
		{"an unknown field", strings.Replace(shipped, "timeoutSeconds: 3", "timeoutSecond: 3", 1), `stdin:28: document 7: MutatingWebhookConfiguration m: webhooks[1]: `},
		{"a validating webhook that is reinvoked", strings.Replace(shipped, "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", 1), "webhooks[1].reinvocationPolicy: a validating webhook has none"},
		{"a wrong type", strings.Replace(shipped, "timeoutSeconds: 3", "timeoutSeconds: soon", 1), "webhooks[1]: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := read(t, test.text); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestReadFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "webhook.yaml"), []byte(shipped), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := manifests.Read([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Hooks) != 2 || set.Hooks[0].Place != filepath.Join(dir, "webhook.yaml")+":28" {
		t.Errorf("webhooks at %s", set.Hooks[0].Place)
	}
}
