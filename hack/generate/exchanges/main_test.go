package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/suites/target"
)

// What is recorded is what a kube-apiserver answers.
func TestRecordsAreUpToDate(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a kube-apiserver")
	}
	oracle, err := target.Open(t.Context(), target.Options{Name: target.Envtest})
	if err != nil {
		t.Skip("no kube-apiserver here: ", err)
	}
	defer func() {
		if err := oracle.Stop(); err != nil {
			t.Error(err)
		}
	}()
	t.Chdir("../../../fakeapi")
	files, err := filepath.Glob(filepath.Join(directory, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal("no files: ", err)
	}
	for _, file := range files {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := record(t.Context(), oracle.RESTConfig(), want)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the server answers; run make generate (-recorded +answered):\n%s", file, cmp.Diff(string(want), string(got)))
		}
	}
}
