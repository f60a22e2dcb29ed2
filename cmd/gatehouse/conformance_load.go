package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
)

// loadFixtures returns the built-in cases, of a directory instead of the binary where one is given, and those of the
// directories; of the files of only, if there are any, as AREA/FILE.yaml.
func loadFixtures(builtin string, dirs, only []string) (*fixtures.Set, error) {
	var set *fixtures.Set
	var err error
	switch {
	case builtin != "":
		set, err = fixtures.Load(os.DirFS(builtin), fixtures.Options{Name: filepath.ToSlash(filepath.Clean(builtin)), Only: only})
	case len(only) > 0:
		set, err = fixtures.BuiltinOnly(only...)
	default:
		set, err = fixtures.Builtin()
	}
	if err != nil || len(dirs) == 0 {
		return set, err
	}
	all, errs := []*fixtures.Set{set}, []error(nil)
	for _, dir := range dirs {
		more, err := fixtures.LoadDir(dir, only...)
		all, errs = append(all, more), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return fixtures.Merge(all...)
}

// filesOf are the files of cases by their ids, as AREA/FILE.yaml.
func filesOf(ids []string) []string {
	files := sets.New[string]()
	for _, id := range ids {
		files.Insert(path.Dir(id) + ".yaml")
	}
	return sets.List(files)
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

// inProject is the name of a file as GitLab knows it: relative to the project, where that is known and the file is in it.
func inProject(name string) string {
	project := os.Getenv("CI_PROJECT_DIR")
	if project == "" || !filepath.IsAbs(name) {
		return name
	}
	inside, err := filepath.Rel(project, name)
	if err != nil || inside == ".." || strings.HasPrefix(inside, "../") {
		return name
	}
	return inside
}
