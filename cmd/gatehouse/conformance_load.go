package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
)

// loadFixtures returns the built-in cases, of a directory instead of the binary where one is given, and those of the
// directories.
func loadFixtures(builtin string, dirs []string) (*fixtures.Set, error) {
	if builtin == "" {
		return fixtures.LoadAll(dirs...)
	}
	set, err := fixtures.Load(os.DirFS(builtin), fixtures.Options{Name: filepath.ToSlash(filepath.Clean(builtin))})
	if err != nil {
		return nil, err
	}
	sets := []*fixtures.Set{set}
	for _, dir := range dirs {
		more, err := fixtures.LoadDir(dir)
		if err != nil {
			return nil, err
		}
		sets = append(sets, more)
	}
	return fixtures.Merge(sets...)
}

// readKnown reads the file of --known; none when it is not given.
func readKnown(name string) ([]reports.KnownFailure, error) {
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, exitError{exitUsage, err}
	}
	known, err := reports.ReadKnown(name, data)
	if err != nil {
		return nil, exitError{exitUsage, err}
	}
	return known, nil
}

// checkWritable makes sure that reports can be written before there is anything to report.
func checkWritable(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	probe, err := os.CreateTemp(dir, ".gatehouse-*")
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// inProject is a path as GitLab knows it: relative to the project, where that is known and the path is in it.
func inProject(path string) string {
	project := os.Getenv("CI_PROJECT_DIR")
	if project == "" || !filepath.IsAbs(path) {
		return path
	}
	inside, err := filepath.Rel(project, path)
	if err != nil || inside == ".." || strings.HasPrefix(inside, "../") {
		return path
	}
	return inside
}
