package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const fakeapi = "../../../fakeapi/"

func TestPageIsUpToDate(t *testing.T) {
	want, err := page(fakeapi + "testdata")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(fakeapi + "DEVIATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run `make generate` (-want +got):\n%s", diff)
	}
}

// TestSources shows that each source has a part in the page.
func TestSources(t *testing.T) {
	content, err := page(fakeapi + "testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"There are no controllers",        // testdata/deviations.yaml
		"`services/address-out-of-range`", // testdata/corpus/differences.yaml
		"`creates: ",                      // testdata/exchanges
		"apiservices v1.apps`",            // testdata/kubectl
	} {
		if !strings.Contains(string(content), part) {
			t.Errorf("the page says nothing of %s", part)
		}
	}
	if _, err := page(t.TempDir()); err == nil {
		t.Error("a directory without the files is no error")
	}
}
