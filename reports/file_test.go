package reports

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// entries are the names in a directory: no test of this file may leave another behind.
func entries(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func write(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new", "out", "report.json")
	for _, text := range []string{"first, which is longer", "second"} {
		if err := WriteFile(path, write(text)); err != nil {
			t.Fatal(err)
		}
		if got := content(t, path); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
	if got := entries(t, filepath.Dir(path)); got != "report.json" {
		t.Errorf("the directory holds %s", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v: others must be able to read a report", info.Mode(), err)
	}
}

func TestWriteFileThroughLink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(target, nil, 0o644), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(link, write("new")); err != nil {
		t.Fatal(err)
	}
	if got := content(t, target); got != "new" {
		t.Errorf("the link's target holds %q", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
}

// failingFile fails at one operation, as a file on a full or broken disk does.
type failingFile struct {
	*os.File
	at string
}

func (f failingFile) Write(p []byte) (int, error) {
	if f.at == "write" {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, syscall.ENOSPC
	}
	return f.File.Write(p)
}

func (f failingFile) Chmod(mode fs.FileMode) error {
	if f.at == "chmod" {
		return syscall.EPERM
	}
	return f.File.Chmod(mode)
}

func (f failingFile) Sync() error {
	if f.at == "sync" {
		return syscall.EIO
	}
	return f.File.Sync()
}

func (f failingFile) Close() error {
	err := f.File.Close()
	if f.at == "close" {
		return syscall.ENOSPC
	}
	return err
}

// TestReplaceFails: whatever fails, the old file stays whole and nothing else is left.
func TestReplaceFails(t *testing.T) {
	for at, want := range map[string]error{"create": syscall.ENOSPC, "write": syscall.ENOSPC, "chmod": syscall.EPERM, "sync": syscall.EIO, "close": syscall.ENOSPC} {
		t.Run(at, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "junit.xml")
			if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
			err := replace(path, []byte("new and long"), func(dir, pattern string) (tempFile, error) {
				if at == "create" {
					return nil, syscall.ENOSPC
				}
				f, err := os.CreateTemp(dir, pattern)
				return failingFile{f, at}, err
			})
			if !errors.Is(err, want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want %v with the file's name", err, want)
			}
			if got := content(t, path); got != "old" {
				t.Errorf("the file holds %q", got)
			}
			if got := entries(t, dir); got != "junit.xml" {
				t.Errorf("the directory holds %s", got)
			}
		})
	}
}

func TestWriteFileRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("cannot encode")
	for name, tc := range map[string]struct {
		path  string
		write func(io.Writer) error
		want  string
	}{
		"the content cannot be made": {file, func(io.Writer) error { return broken }, "cannot encode"},
		"the path is a directory":    {dir, write("x"), "writing " + dir},
		"a directory is a file":      {filepath.Join(file, "report.json"), write("x"), "not a directory"},
		"a link to nothing":          {link(t, dir, filepath.Join(dir, "gone"), "link"), write("x"), "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			err := WriteFile(tc.path, tc.write)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
			if got := content(t, file); got != "old" {
				t.Errorf("the file holds %q", got)
			}
			if got := entries(t, dir); got != "file link" {
				t.Errorf("the directory holds %s", got)
			}
		})
	}
}

func link(t *testing.T, dir, target, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFilesWrite: one file that cannot be written does not keep the other from being written.
func TestFilesWrite(t *testing.T) {
	dir := t.TempDir()
	r := New(badRun())
	files := Files{
		JSON: filepath.Join(dir, "report.json"), JUnit: filepath.Join(dir, "junit.xml"),
		HTML: filepath.Join(dir, "report.html"), Markdown: filepath.Join(dir, "report.md"), StepSummary: filepath.Join(dir, "summary.md"),
	}
	if err := os.WriteFile(files.StepSummary, []byte("an earlier step\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := files.Write(r); err != nil {
		t.Fatal(err)
	}
	var json, junit, page, summary bytes.Buffer
	if err := errors.Join(WriteJSON(&json, r), WriteJUnit(&junit, r, JUnitOptions{}), WriteHTML(&page, r), WriteMarkdown(&summary, r)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		files.JSON: json.String(), files.JUnit: junit.String(), files.HTML: page.String(), files.Markdown: summary.String(),
		files.StepSummary: "an earlier step\n" + summary.String(),
	} {
		if content(t, path) != want {
			t.Errorf("%s holds something else than its writer writes", path)
		}
	}
	if err := files.Write(r, r); err == nil || content(t, files.JSON) != json.String() {
		t.Errorf("two runs in files of one: %v", err)
	}

	other := filepath.Join(t.TempDir(), "junit.xml")
	err := Files{JSON: dir, JUnit: other}.Write(r)
	if err == nil || content(t, other) != junit.String() {
		t.Errorf("got %v", err)
	}
	if err := (Files{}).Write(r); err != nil {
		t.Errorf("no files: %v", err)
	}
}
