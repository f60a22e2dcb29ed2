package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// verdict is what became of a mutant.
type verdict struct {
	mutant *mutant
	// alive are the named cases that did not fail.
	alive []string
	// broken are the behaviors that a killed mutant breaks.
	broken []string
	// err is why the mutant could not be judged.
	err  error
	took time.Duration
}

// shared is the build of the mutants that share one.
type shared struct {
	binary  string
	mutants map[*mutant]bool
	// plain are the results of the named cases with no mutant selected.
	plain map[string]result
}

// newShared builds the mutants that can share a build and runs all named cases without a mutant. Mutants whose patch does
// not apply learn it as their error.
func newShared(ctx context.Context, root, dir string, mutants []*mutant) (*shared, error) {
	s := &shared{binary: filepath.Join(dir, "gatehouse"), mutants: map[*mutant]bool{}}
	all := &combination{files: map[string]*combinedFile{}}
	areas := map[string]bool{}
	for _, m := range mutants {
		if m.err != nil {
			continue
		}
		original, mutated, err := m.apply(ctx, root)
		if err != nil {
			m.err = err
			continue
		}
		switch err := all.add(m.name, original, mutated); {
		case err == nil:
			s.mutants[m] = true
			for _, id := range m.cases {
				area, _, _ := strings.Cut(id, "/")
				areas[regexp.QuoteMeta(area)] = true
			}
		case !errors.Is(err, errNotCombinable):
			m.err = err
		}
	}
	if len(s.mutants) == 0 {
		return s, nil
	}
	start := time.Now()
	if err := build(ctx, root, dir, all.sources(), s.binary); err != nil {
		if ctx.Err() == nil {
			fmt.Printf("The build that mutants would share fails, so each is built alone: %v\n", err)
		}
		clear(s.mutants)
		return s, nil
	}
	built := time.Since(start).Round(time.Second)
	var err error
	s.plain, err = cases(ctx, s.binary, "", "^("+strings.Join(slices.Sorted(maps.Keys(areas)), "|")+")/")
	if err != nil {
		return nil, err
	}
	fmt.Printf("%d of %d mutants share a build (%s); their cases took %s without a mutant\n",
		len(s.mutants), len(mutants), built, time.Since(start).Round(time.Second)-built)
	return s, nil
}

// judgeAll judges mutants, some at once, and yields the verdicts in the mutants' order.
func judgeAll(ctx context.Context, root string, s *shared, mutants []*mutant, jobs int) iter.Seq[verdict] {
	return func(yield func(verdict) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		places := make(chan struct{}, jobs)
		judged := make([]chan verdict, len(mutants))
		for i := range judged {
			judged[i] = make(chan verdict, 1)
		}
		go func() {
			for i, m := range mutants {
				places <- struct{}{}
				go func() {
					defer func() { <-places }()
					start := time.Now()
					v := m.judge(ctx, root, s)
					v.mutant, v.took = m, time.Since(start)
					judged[i] <- v
				}()
			}
		}()
		for _, v := range judged {
			if !yield(<-v) {
				return
			}
		}
	}
}

// judge runs the named cases with the mutant.
func (m *mutant) judge(ctx context.Context, root string, s *shared) verdict {
	if m.err != nil {
		return verdict{err: m.err}
	}
	results, err := m.results(ctx, root, s)
	if err != nil {
		return verdict{err: err}
	}
	var v verdict
	for _, id := range m.cases {
		if plain, ok := s.plain[id]; ok && plain.Outcome != "pass" {
			return verdict{err: fmt.Errorf("case %s is %s without the mutant too", id, plain.Outcome)}
		}
		switch outcome := results[id].Outcome; outcome {
		case "fail":
			v.broken = append(v.broken, results[id].Behaviors...)
		case "pass":
			v.alive = append(v.alive, id)
		case "":
			return verdict{err: fmt.Errorf("there is no case %s", id)}
		default:
			return verdict{err: fmt.Errorf("case %s is %s, which says nothing about the mutant", id, outcome)}
		}
	}
	if len(m.behaviors) == 0 || len(v.alive) > 0 {
		return v
	}
	for _, behavior := range m.behaviors {
		if !slices.Contains(v.broken, behavior) {
			return verdict{err: fmt.Errorf("none of the named cases shows the behavior %s", behavior)}
		}
	}
	v.broken = m.behaviors
	return v
}

// results runs the named cases in the shared build, or in one that holds this mutant alone.
func (m *mutant) results(ctx context.Context, root string, s *shared) (map[string]result, error) {
	quoted := make([]string, len(m.cases))
	for i, id := range m.cases {
		quoted[i] = regexp.QuoteMeta(id)
	}
	focus := "^(" + strings.Join(quoted, "|") + ")$"
	if s.mutants[m] {
		return cases(ctx, s.binary, m.name, focus)
	}
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	_, mutated, err := m.apply(ctx, root)
	if err != nil {
		return nil, err
	}
	binary := filepath.Join(dir, "gatehouse")
	if err := build(ctx, root, dir, mutated, binary); err != nil {
		return nil, err
	}
	return cases(ctx, binary, "", focus)
}

// build builds gatehouse with other sources, given by their path relative to the root, in the place of those of the tree.
// It keeps what it needs in dir.
func build(ctx context.Context, root, dir string, sources map[string][]byte, binary string) error {
	replace := map[string]string{}
	for file, data := range sources {
		replace[filepath.Join(root, file)] = filepath.Join(dir, "src", file)
		if err := write(filepath.Join(dir, "src", file), data); err != nil {
			return err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := write(overlay, data); err != nil {
		return err
	}
	compile := command(ctx, root, "go", "build", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, "./cmd/gatehouse")
	// The compiler and the linker end soon: they need not collect garbage unless memory becomes short.
	compile.Env = append(os.Environ(), "GOGC=off", "GOMEMLIMIT=2GiB")
	if out, err := compile.CombinedOutput(); err != nil {
		return fmt.Errorf("the mutant does not build: %w\n%s", err, out)
	}
	return nil
}

// result is what the report says of a case.
type result struct {
	ID, Outcome string
	Behaviors   []string
}

// cases runs the cases that the focus selects, with a mutant selected or none, and returns the result of each that the
// report holds.
func cases(ctx context.Context, binary, mutant, focus string) (map[string]result, error) {
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	run := command(ctx, dir, binary, "conformance", "--focus", focus, "--procs", "1", "--out", dir)
	run.Env = append(os.Environ(), selected+"="+mutant)
	out, runErr := run.CombinedOutput()
	data, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		return nil, fmt.Errorf("the mutant left no report: %w, %w\n%s", err, runErr, out)
	}
	var report struct {
		Results []result
	}
	if err := json.Unmarshal(data, &report); err != nil {
		return nil, fmt.Errorf("report.json: %w", err)
	}
	results := map[string]result{}
	for _, r := range report.Results {
		results[r.ID] = r
	}
	return results, nil
}
