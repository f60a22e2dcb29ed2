package manifest_test

import (
	"cmp"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gatehouse-dev/gatehouse/fakeapi/manifest"
)

func TestParse(t *testing.T) {
	const text = `# a comment
---
# about the first
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
  text: |
    ---not a separator
---
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: b}}
- {apiVersion: v1, kind: Secret, metadata: {name: c}}
--- # the last
apiVersion: v1
kind: Namespace
metadata: {name: d}
`
	objects, err := manifest.Parse("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, object := range objects {
		got = append(got, object.Position()+" "+object.GetKind()+" "+object.GetName())
	}
	want := []string{
		"f.yaml:4: document 1 ConfigMap a",
		"f.yaml:12: document 2 Secret b",
		"f.yaml:12: document 2 Secret c",
		"f.yaml:18: document 3 Namespace d",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Integers stay integers, however large, as clients of the API have them.
func TestParseKeepsIntegers(t *testing.T) {
	objects, err := manifest.Parse("f.yaml", []byte("apiVersion: v1\nkind: A\nspec: {large: 9007199254740993, fraction: 0.5}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"large": int64(9007199254740993), "fraction": 0.5}
	if got := objects[0].Object["spec"]; !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, want %#v", got, want)
	}
}

func TestParseErrors(t *testing.T) {
	const first = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n"
	tests := map[string]struct {
		file string // f.yaml when empty
		text string
		want []string // parts of the error
	}{
		"syntax":          {"", first + "apiVersion: v1\nkind: [\n", []string{"f.yaml:5: document 2: ", "line 7"}},
		"duplicate key":   {"", first + "apiVersion: v1\nkind: A\nkind: B\n", []string{"f.yaml:5: document 2: ", "line 7", `key "kind" already set`}},
		"no kind":         {"", "\n\napiVersion: v1\n", []string{"f.yaml:3: document 1: not a Kubernetes object: it has no kind"}},
		"no apiVersion":   {"", "kind: Pod\n", []string{"f.yaml:1: document 1: not a Kubernetes object: it has no apiVersion"}},
		"a scalar":        {"", "hello\n", []string{"f.yaml:1: document 1: "}},
		"a kustomization": {"config/kustomization.yaml", "resources: [a.yaml]\n", []string{"config/kustomization.yaml:1: document 1: a kustomization", "kustomize build config"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := manifest.Parse(cmp.Or(test.file, "f.yaml"), []byte(test.text))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, object string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "`+object+`"}}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("all/b.yaml", "b")
	write("all/a/z.json", "a-z")
	write("all/c.yml", "c")
	write("all/README.md", "readme")
	write("named.txt", "named")
	write("none/README.md", "readme")

	objects, err := manifest.Read(filepath.Join(dir, "named.txt"), filepath.Join(dir, "all"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, object := range objects {
		names = append(names, object.GetName())
	}
	if got, want := strings.Join(names, " "), "named a-z b c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, path := range []string{"none", "missing.yaml"} {
		if _, err := manifest.Read(filepath.Join(dir, path)); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("Read(%s): %v, want an error that names it", path, err)
		}
	}
}
