package reports

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// Bundle is a case that failed or ended in an error, with all that running it again takes.
type Bundle struct {
	// Report is of the case alone: the server, its version and flags, and the result with its transcript.
	Report Report
	// Fixture are the files of a directory of fixtures that holds the case alone, by their paths.
	Fixture map[string][]byte
}

// The files of a bundle's directory.
const (
	bundleReadme     = "README.md"
	bundleTranscript = "transcript.txt"
	bundleReport     = "report.json"
	bundleFixture    = "fixture"
)

// BundlePath is the path of a case's bundle in the directory of the bundles, with slashes.
func BundlePath(id string) string { return strings.TrimPrefix(path.Clean("/"+id), "/") }

// hasBundle reports whether the case failed or ended in an error; one that passed unexpectedly has nothing to show.
func hasBundle(r Result) bool {
	return r.Outcome == Error || r.Outcome == Fail && len(r.Transcript) > 0
}

// Bundles returns the bundles of the cases that failed or ended in an error, known failures aside. set holds the cases.
func Bundles(r Report, set *fixtures.Set) ([]Bundle, error) {
	var bundles []Bundle
	for _, result := range r.Results {
		if !hasBundle(result) {
			continue
		}
		files, err := set.Extract(result.ID)
		if err != nil {
			return nil, err
		}
		run := r.run()
		run.Ledger = part(run.Ledger, result)
		run.Selection, run.Known, run.Interrupted, run.Results = Selection{}, nil, "", []Result{result}
		run.Start, run.End = result.Start, result.Start.Add(result.Duration)
		bundles = append(bundles, Bundle{Report: assemble(run), Fixture: files})
	}
	return bundles, nil
}

// part is what a ledger says of a case's area and behaviours.
func part(ledger *fixtures.Ledger, r Result) *fixtures.Ledger {
	out := &fixtures.Ledger{}
	areas := map[string]bool{r.Area: true}
	for _, b := range ledger.Behaviors {
		if slices.Contains(r.Behaviors, b.ID) {
			out.Behaviors = append(out.Behaviors, b)
			areas[b.Area] = true
		}
	}
	for _, a := range ledger.Areas {
		if areas[a.ID] {
			out.Areas = append(out.Areas, a)
		}
	}
	return out
}

// ID is the id of the bundle's case.
func (b Bundle) ID() string { return b.Report.Results[0].ID }

// Write writes the bundle to its directory in dir, each file whole or not at all. It goes on after an error and returns
// all of them.
func (b Bundle) Write(dir string) error {
	dir = filepath.Join(dir, filepath.FromSlash(BundlePath(b.ID())))
	put := func(name, text string) error {
		return WriteFile(filepath.Join(dir, filepath.FromSlash(name)), func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
	}
	errs := []error{put(bundleReadme, b.readme(dir)), put(bundleTranscript, b.transcript())}
	for _, name := range slices.Sorted(maps.Keys(b.Fixture)) {
		errs = append(errs, put(path.Join(bundleFixture, name), string(b.Fixture[name])))
	}
	// The report is the last, so that a directory with a report is a whole bundle.
	errs = append(errs, WriteFile(filepath.Join(dir, bundleReport), func(w io.Writer) error { return WriteJSON(w, b.Report) }))
	return errors.Join(errs...)
}

// readme tells whoever finds the directory what it is.
func (b Bundle) readme(dir string) string {
	r, target := b.Report.Results[0], b.Report.Target
	outcome := "failed"
	if r.Outcome == Error {
		outcome = "ended in an error"
	}
	at := ""
	if !r.Start.IsZero() { // the process that ran the case may have died before it could say
		at = " at " + r.Start.UTC().Format(time.RFC3339)
	}
	text := fmt.Sprintf("The case `%s` (%s) %s on %s%s: %s. `%s/` is the case as a table by itself, with its values filled in (it stands at %s), "+
		"`%s` are the requests, the reviews and the answers as they went, and `%s` is all of it for programs, with the server's version and flags. "+
		"This runs the case again, with `--target` on another server:",
		line(r.ID), line(r.Title), outcome, serverName(target), at, wrongWith(r), bundleFixture, place(line(r.File), r.Line), bundleTranscript, bundleReport)
	paragraph := strings.ReplaceAll(strings.Join(wrap(text, readmeWidth), "\n"), "\n  ", "\n")
	return paragraph + "\n\n    gatehouse replay " + line(dir) + "\n"
}

// wrongWith says what was wrong first, and with what.
func wrongWith(r Result) string {
	if r.Outcome != Fail || len(r.Failures) == 0 {
		return summary(r)
	}
	f := r.Failures[0]
	return line(strings.Trim(f.Step+"."+f.Path, ".") + ": " + f.Message)
}

// readmeWidth is the number of columns of a bundle's README.
const readmeWidth = 118

// transcript tells all that happened, and what was not as expected.
func (b Bundle) transcript() string {
	r := b.Report.Results[0]
	t := text{{bad, line(r.ID)}}
	t = append(t, detail(r, b.Report.statements())...)
	t.add(plain, 0, "\nserver: %s", line(serverName(b.Report.Target)+" "+b.Report.Target.Server))
	for _, flag := range b.Report.Target.Flags {
		t.add(plain, 2, "%s", flag)
	}
	t.add(plain, 0, "\nsteps:")
	for _, s := range r.Transcript {
		t.add(plain, 0, "\n%s", requestLine(s))
		t.addEvents(2, s, maxBundleBody)
	}
	return t.String()
}

// maxBundleBody is the number of bytes of a body that are shown in a bundle's transcript: more than an API server takes.
const maxBundleBody = 16 << 20

// ReadBundle reads the bundle in a directory: its report, and the case, ready to be run again.
func ReadBundle(dir string) (Report, *fixtures.LoadedCase, error) {
	name := filepath.Join(dir, bundleReport)
	data, err := os.ReadFile(name)
	if err != nil {
		return Report{}, nil, err
	}
	r, err := ReadJSON(name, data)
	if err != nil {
		return Report{}, nil, err
	}
	fixture := filepath.Join(dir, bundleFixture)
	set, err := fixtures.Load(os.DirFS(fixture), fixtures.Options{Name: fixture})
	if err != nil {
		return Report{}, nil, err
	}
	if len(r.Results) != 1 || len(set.Cases) != 1 || r.Results[0].ID != set.Cases[0].ID {
		return Report{}, nil, fmt.Errorf("%s: not the bundle of a case: %s and %s tell of %d and %d cases, want one and the same",
			dir, bundleReport, bundleFixture, len(r.Results), len(set.Cases))
	}
	return r, set.Cases[0], nil
}

// FindBundles returns the directories of the bundles in dir, which may be one itself, in order.
func FindBundles(dir string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		for _, part := range []string{bundleReport, filepath.Join(bundleFixture, fixtures.LedgerFile)} {
			if _, err := os.Stat(filepath.Join(name, part)); err != nil {
				return nil
			}
		}
		found = append(found, name)
		return fs.SkipDir
	})
	return found, err
}

// RemoveBundles removes the bundles in dir, and the directories that are empty then. That there is no such directory is
// no error.
func RemoveBundles(dir string) error {
	found, err := FindBundles(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, bundle := range found {
		errs = append(errs, os.RemoveAll(bundle))
		for parent := filepath.Dir(bundle); ; parent = filepath.Dir(parent) {
			// What is not empty stays: it holds another bundle, or what is not ours.
			if os.Remove(parent) != nil || parent == filepath.Clean(dir) {
				break
			}
		}
	}
	return errors.Join(errs...)
}
