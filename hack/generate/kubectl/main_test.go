package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSessionsAreOfTheRealServer plays the sessions that fakeapi is held against with the real server.
func TestSessionsAreOfTheRealServer(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set, so that there is no real server to ask")
	}
	files, err := filepath.Glob(filepath.Join("../../../fakeapi", sessions))
	if err != nil || len(files) == 0 {
		t.Fatal("no sessions: ", err)
	}
	played, err := record(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(data), string(played[file])); diff != "" {
			t.Errorf("%s (-recorded +real):\n%s", file, diff)
		}
	}
}
