package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/gatehouse-dev/gatehouse/reports"
)

const colorsManifest = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: colors}
webhooks:
- name: colors.test.example.com
  clientConfig: {url: "https://example.com/"}
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]
  namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}]}
  sideEffects: None
  timeoutSeconds: 5
  admissionReviewVersions: [v1]
`

// TestWebhook puts a webhook that is built with controller-runtime and runs already on trial.
func TestWebhook(t *testing.T) {
	denyRed := admission.HandlerFunc(func(_ context.Context, request admission.Request) admission.Response {
		if strings.Contains(string(request.Object.Raw), "red") {
			return admission.Denied("red is not for us")
		}
		return admission.Allowed("")
	})
	server := httptest.NewTLSServer(&ctrlwebhook.Admission{Handler: denyRed})
	t.Cleanup(server.Close)
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	write("webhook.yaml", colorsManifest)
	write("blue.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: blue}\ndata: {color: blue}\n")
	write("red.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: scarlet}\ndata: {color: red}\n")
	write("gatehouse.yaml", "manifests: [webhook.yaml]\nurl: "+server.URL+"\nca: ca.crt\nsamples: {admitted: [blue.yaml], refused: [{file: red.yaml, message: not for us}]}\n")
	write("wrong.yaml", "manifests: [webhook.yaml]\nurl: "+server.URL+"\nca: ca.crt\nsamples: {refused: [{file: blue.yaml}]}\n")

	for _, test := range []struct {
		file string
		code int
		want []string
	}{
		{"gatehouse.yaml", 0, []string{"on trial: colors.test.example.com (validating)", "verdict: partial"}},
		{"wrong.yaml", 1, []string{"FAIL contract.samples.refused", "CREATE configmaps blue: the object is admitted", "change: Refuse the object", "verdict: not conformant"}},
		{"none.yaml", 2, nil},
	} {
		t.Run(test.file, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), []string{"webhook", "--config", filepath.Join(dir, test.file), "--out", out}, &stdout, &stderr)
			if code != test.code {
				t.Fatalf("exit status %d, want %d\n%s%s", code, test.code, &stdout, &stderr)
			}
			for _, want := range test.want {
				if !strings.Contains(stdout.String(), want) {
					t.Errorf("output lacks %q:\n%s", want, &stdout)
				}
			}
			if test.code == 2 {
				return
			}
			data, err := os.ReadFile(filepath.Join(out, "report.json"))
			if err != nil {
				t.Fatal(err)
			}
			report, err := reports.ReadJSON("report.json", data)
			if err != nil {
				t.Fatal(err)
			}
			if report.ExitStatus != test.code || report.Webhook == nil {
				t.Errorf("report.json has exit status %d, webhook %v", report.ExitStatus, report.Webhook)
			}
		})
	}
}
