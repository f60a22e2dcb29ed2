package fakeapi_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

// manifestFile writes a manifest and returns its path.
func manifestFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoad(t *testing.T) {
	server := start(t, fakeapi.Options{Load: []string{manifestFile(t, `
apiVersion: v1
kind: Namespace
metadata: {name: default, labels: {loaded: "yes"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: team}, spec: {containers: [{name: c, image: i}]}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}
- {apiVersion: v1, kind: ConfigMap, metadata: {generateName: made-}}
`)}})
	client := clientFor(t, server.RESTConfig())
	if namespace, err := client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil || namespace.Labels["loaded"] != "yes" {
		t.Errorf("the namespace that was there before: %+v, %v", namespace, err)
	}
	if pod, err := client.CoreV1().Pods("team").Get(t.Context(), "a", metav1.GetOptions{}); err != nil || pod.Spec.RestartPolicy != "Always" {
		t.Errorf("pod: %+v, %v", pod, err)
	}
	if _, err := client.AppsV1().Deployments("default").Get(t.Context(), "d", metav1.GetOptions{}); err != nil {
		t.Errorf("without a namespace: %v", err)
	}
	if made, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); err != nil || len(made.Items) != 1 || !strings.HasPrefix(made.Items[0].Name, "made-") {
		t.Errorf("with generateName: %+v, %v", made, err)
	}
}

// What is wrong with a manifest is told with its place.
func TestLoadErrors(t *testing.T) {
	const first = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n"
	tests := map[string]struct{ manifest, want string }{
		"syntax":        {first + "kind: [", ":5: document 2: "},
		"unknown kind":  {first + "apiVersion: v1\nkind: Nope\nmetadata: {name: b}\n", ":5: document 2: v1 Nope: the server has no such kind"},
		"unknown field": {first + "# note\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndatta: {}\n", `:6: document 2: ConfigMap default/b: `},
		"no namespace":  {first + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: gone}\n", `:5: document 2: ConfigMap gone/b: namespaces "gone" not found`},
		"twice":         {first + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n", `:5: document 2: ConfigMap default/a: configmaps "a" already exists`},
		"invalid": {"apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: w}\nwebhooks:\n- {name: short}\n",
			`:1: document 1: ValidatingWebhookConfiguration w: `},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := manifestFile(t, test.manifest)
			server, err := fakeapi.Start(t.Context(), fakeapi.Options{Load: []string{path}})
			if err == nil {
				server.Stop()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), path+test.want) {
				t.Errorf("error %q\ndoes not say %q", err, path+test.want)
			}
		})
	}
}
