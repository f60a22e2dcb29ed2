package main

import (
	"archive/zip"
	"bytes"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddition(t *testing.T) {
	base := `{"paths":{"/apis/g/v1/":{}},"definitions":{"g.v1.A":{},"Status":{}}}`
	more := `{"paths":{"/apis/g/v1/":{},"/apis/g/v1beta1/a":{"get":{}},"/apis/g/v1alpha1/a":{}},
		"definitions":{"g.v1.A":{},"Status":{"x":1},"g.v1beta1.A":{"type":"object"},"g.v1alpha1.A":{}}}`
	got, err := addition([]byte(base), []byte(more), "apis/g/v1beta1", "g/v1beta1")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"paths":{"/apis/g/v1beta1/a":{"get":{}}},"definitions":{"g.v1beta1.A":{"type":"object"}}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("addition (-want +got):\n%s", diff)
	}
}

// The same files make the same archive, in which each is what it was.
func TestArchive(t *testing.T) {
	files := map[string][]byte{"b": []byte("two"), "a": []byte("one"), "c/d": bytes.Repeat([]byte("x"), 1000)}
	first, err := archive(files)
	if err != nil {
		t.Fatal(err)
	}
	second, err := archive(files)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("two archives of the same files differ")
	}
	reader, err := zip.NewReader(bytes.NewReader(first), int64(len(first)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]byte{}
	for _, file := range reader.File {
		content, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		if got[file.Name], err = io.ReadAll(content); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(files, got); diff != "" {
		t.Errorf("unpacked (-want +got):\n%s", diff)
	}
}
