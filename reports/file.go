package reports

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Files are the files that a report is written to; an empty name is not written.
type Files struct {
	// JUnit is the JUnit XML file.
	JUnit string
	// JUnitOptions say for which reader it is.
	JUnitOptions JUnitOptions
	// JSON is report.json.
	JSON string
	// HTML is the page for people.
	HTML string
	// Markdown is the summary for pull requests.
	Markdown string
	// StepSummary is the file of $GITHUB_STEP_SUMMARY, to whose end the Markdown is added.
	StepSummary string
}

// Write writes the report, or several side by side, to the files, each whole or not at all. It goes on after an error
// and returns all of them. JUnit and report.json are of one report: they are an error where there are several.
//
// A run that is killed cannot write. Written before the first case, with a report whose Run.Interrupted says that the
// run has not ended, the files are honest from the start, and no older ones can be mistaken for this run's.
func (f Files) Write(all ...Report) error {
	one := func(write func(io.Writer, Report) error) func(io.Writer, ...Report) error {
		return func(w io.Writer, all ...Report) error {
			if len(all) != 1 {
				return fmt.Errorf("it holds one run, and these are %d", len(all))
			}
			return write(w, all[0])
		}
	}
	junit := func(w io.Writer, r Report) error { return WriteJUnit(w, r, f.JUnitOptions) }
	var errs []error
	for _, file := range []struct {
		path  string
		write func(io.Writer, ...Report) error
	}{{f.JSON, one(WriteJSON)}, {f.JUnit, one(junit)}, {f.HTML, WriteHTML}, {f.Markdown, WriteMarkdown}} {
		if file.path != "" {
			errs = append(errs, WriteFile(file.path, func(w io.Writer) error { return file.write(w, all...) }))
		}
	}
	if f.StepSummary != "" {
		errs = append(errs, appendFile(f.StepSummary, func(w io.Writer) error { return WriteMarkdown(w, all...) }))
	}
	return errors.Join(errs...)
}

// appendFile adds what write writes to the end of a file.
func appendFile(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// WriteFile replaces the file at path, or makes it, by what write writes, in one step: readers see the old file or the
// whole new one, and after an error the old one. Missing directories are made. Where path names something else than a
// file, such as /dev/stdout or a pipe, it is written to directly.
func WriteFile(path string, write func(io.Writer) error) error {
	var content bytes.Buffer
	if err := write(&content); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return writeThrough(path, content.Bytes())
	}
	if _, err := os.Lstat(path); err == nil {
		target, err := filepath.EvalSymlinks(path)
		if err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
		path = target
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return replace(path, content.Bytes(), createTemp)
}

func writeThrough(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// tempFile is the part of os.File that replace uses.
type tempFile interface {
	io.WriteCloser
	Name() string
	Chmod(fs.FileMode) error
	Sync() error
}

func createTemp(dir, pattern string) (tempFile, error) { return os.CreateTemp(dir, pattern) }

// replace writes content to a file beside path and renames it to path when it is safe on disk.
func replace(path string, content []byte, create func(dir, pattern string) (tempFile, error)) (err error) {
	dir := filepath.Dir(path)
	f, err := create(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("writing %s: %w", path, err), os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	syncDir(dir)
	return nil
}

// syncDir makes a rename in the directory last. Not all file systems can; the file is whole then too.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
