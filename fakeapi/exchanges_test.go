package fakeapi_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
	"github.com/gatehouse-dev/gatehouse/hack/recorded/exchange"
)

//go:generate go run ../hack/generate/exchanges

// The answers to the requests in testdata/exchanges are those of a real kube-apiserver.
func TestExchanges(t *testing.T) {
	files, err := filepath.Glob("testdata/exchanges/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no files: ", err)
	}
	// Resource versions are not to be mistaken for other numbers in messages.
	server := start(t, fakeapi.Options{FirstResourceVersion: 1_000_000})
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := exchange.Parse(data)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			for _, c := range file.Cases {
				t.Run(c.Name, func(t *testing.T) {
					t.Parallel()
					answers, err := c.Play(t.Context(), server.RESTConfig())
					if err != nil {
						t.Fatalf("%s: %v", path, err)
					}
					for i, step := range c.Steps {
						got, want := answers[i], step.Answer
						if step.Deviation != "" {
							if slices.Equal(got, want) {
								t.Errorf("%s:%d: fakeapi answers like the real server, without the deviation %q", path, step.Line, step.Deviation)
							}
							got, want = got[:1], want[:1]
						}
						if diff := cmp.Diff(want, got); diff != "" {
							t.Errorf("%s:%d (-real +fakeapi):\n%s", path, step.Line, diff)
						}
					}
				})
			}
		})
	}
}
