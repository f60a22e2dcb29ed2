package main

import (
	"bytes"
	"os"
	"testing"
)

func TestSchemaIsUpToDate(t *testing.T) {
	t.Chdir("../../../fixtures")
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("fixtures/schema.json is not what the Go types say; run make generate")
	}
}
