// Command mutants shows that the conformance cases can fail. Each *.patch file of hack/mutants breaks fakeapi in one
// way and names the cases that must turn red for it; the command builds a gatehouse with the patch laid over the
// sources (nothing in the tree changes), runs those cases, and reports each mutant as killed or survived.
//
// A patch file begins with two headers, then holds a unified diff with paths relative to the repository's root:
//
//	Title: In and NotIn of a selector are mixed up
//	Cases: matching-selectors/namespace/in-requires-label, matching-selectors/namespace/notin-matches-absent
//
// A third header, Behaviors, names those that the mutant breaks, each of which a named case must show; without it they
// are all that the named cases show. With -cover the command also lists the must behaviors of the ledger's finished areas
// that no killed mutant breaks.
//
// It exits with 1 when a mutant survived or -cover listed something, and with 3 when a mutant could not be judged (the
// patch no longer applies, a named case does not exist or was not run).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	root := flag.String("root", ".", "the repository's root")
	focus := flag.String("focus", "", "a regular expression: only patch files whose name matches")
	cover := flag.Bool("cover", false, "list the must behaviors of finished areas that no killed mutant breaks")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	status, err := run(ctx, *root, *focus, *cover)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		status = 3
	}
	os.Exit(status)
}

func run(ctx context.Context, root, focus string, cover bool) (int, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return 3, err
	}
	selected, err := regexp.Compile(focus)
	if err != nil {
		return 3, fmt.Errorf("-focus: %w", err)
	}
	paths, err := filepath.Glob(filepath.Join(root, "hack", "mutants", "*.patch"))
	if err != nil {
		return 3, err
	}
	killed, survived, unjudged := 0, 0, 0
	broken := map[string]bool{}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".patch")
		if !selected.MatchString(name) {
			continue
		}
		start := time.Now()
		m, err := read(path)
		var v verdict
		if err == nil {
			v, err = m.judge(ctx, root)
		}
		took := time.Since(start).Round(time.Second)
		switch {
		case ctx.Err() != nil:
			return 3, errors.New("interrupted")
		case err != nil:
			unjudged++
			fmt.Printf("ERROR     %s: %v\n", name, err)
		case len(v.alive) > 0:
			survived++
			fmt.Printf("SURVIVED  %s (%s, %s): still green: %s\n", name, m.title, took, strings.Join(v.alive, ", "))
		default:
			killed++
			for _, behavior := range v.broken {
				broken[behavior] = true
			}
			fmt.Printf("killed    %s (%s, %s)\n", name, m.title, took)
		}
	}
	fmt.Printf("%d mutants: %d killed, %d survived, %d not judged\n", killed+survived+unjudged, killed, survived, unjudged)
	var uncovered []string
	if cover {
		if uncovered, err = notBroken(root, broken); err != nil {
			return 3, err
		}
		fmt.Printf("%d must behaviors of finished areas that no killed mutant breaks\n", len(uncovered))
		for _, behavior := range uncovered {
			fmt.Println("  " + behavior)
		}
	}
	switch {
	case unjudged > 0 || killed+survived == 0:
		return 3, nil
	case survived > 0 || len(uncovered) > 0:
		return 1, nil
	}
	return 0, nil
}

// mutant is one patch file.
type mutant struct {
	title     string
	cases     []string
	behaviors []string // what it is said to break; all that the cases show when empty
	files     []string // what the diff changes, relative to the root
	diff      string
}

// verdict is what became of a mutant.
type verdict struct {
	// alive are the named cases that did not fail.
	alive []string
	// broken are the behaviors that a killed mutant breaks.
	broken []string
}

func read(path string) (*mutant, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	head, diff, found := strings.Cut(string(data), "\n--- ")
	if !found {
		return nil, fmt.Errorf("%s holds no unified diff (a line that begins with ---)", path)
	}
	m := &mutant{diff: "--- " + diff}
	for _, line := range strings.Split(head, "\n") {
		key, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); key {
		case "Title":
			m.title = value
		case "Cases":
			m.cases = append(m.cases, ids(value)...)
		case "Behaviors":
			m.behaviors = append(m.behaviors, ids(value)...)
		}
	}
	for _, line := range strings.Split(m.diff, "\n") {
		if file, ok := strings.CutPrefix(line, "+++ b/"); ok {
			m.files = append(m.files, strings.TrimSpace(file))
		}
	}
	if m.title == "" || len(m.cases) == 0 || len(m.files) == 0 {
		return nil, fmt.Errorf("%s needs the headers Title: and Cases:, and a diff with +++ b/PATH lines", path)
	}
	return m, nil
}

// ids splits a list of ids at its commas.
func ids(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// judge builds the mutant and runs the named cases with it.
func (m *mutant) judge(ctx context.Context, root string) (verdict, error) {
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return verdict{}, err
	}
	defer os.RemoveAll(dir)
	overlay, err := m.overlay(ctx, root, dir)
	if err != nil {
		return verdict{}, err
	}
	binary := filepath.Join(dir, "gatehouse")
	build := command(ctx, root, "go", "build", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, "./cmd/gatehouse")
	// The compiler and the linker end soon: they need not collect garbage unless memory becomes short.
	build.Env = append(os.Environ(), "GOGC=off", "GOMEMLIMIT=2GiB")
	if out, err := build.CombinedOutput(); err != nil {
		return verdict{}, fmt.Errorf("the mutant does not build: %w\n%s", err, out)
	}
	results, err := m.run(ctx, dir, binary)
	if err != nil {
		return verdict{}, err
	}
	var v verdict
	for _, id := range m.cases {
		switch outcome := results[id].Outcome; outcome {
		case "fail":
			v.broken = append(v.broken, results[id].Behaviors...)
		case "pass":
			v.alive = append(v.alive, id)
		case "":
			return verdict{}, fmt.Errorf("there is no case %s", id)
		default:
			return verdict{}, fmt.Errorf("case %s is %s, which says nothing about the mutant", id, outcome)
		}
	}
	if len(m.behaviors) == 0 || len(v.alive) > 0 {
		return v, nil
	}
	for _, behavior := range m.behaviors {
		if !slices.Contains(v.broken, behavior) {
			return verdict{}, fmt.Errorf("none of the named cases shows the behavior %s", behavior)
		}
	}
	v.broken = m.behaviors
	return v, nil
}

// overlay applies the diff to copies of the files and returns the path of the go command's overlay file.
func (m *mutant) overlay(ctx context.Context, root, dir string) (string, error) {
	replace := map[string]string{}
	for _, file := range m.files {
		data, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return "", err
		}
		copied := filepath.Join(dir, "src", file)
		if err := os.MkdirAll(filepath.Dir(copied), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(copied, data, 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(root, file)] = copied
	}
	apply := command(ctx, filepath.Join(dir, "src"), "git", "apply", "-")
	apply.Stdin = strings.NewReader(m.diff)
	if out, err := apply.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the patch does not apply: %w\n%s", err, out)
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, data, 0o644)
}

// result is what the report says of a case.
type result struct {
	ID, Outcome string
	Behaviors   []string
}

// run runs the named cases with the mutant and returns the result of each case that the report holds.
func (m *mutant) run(ctx context.Context, dir, binary string) (map[string]result, error) {
	quoted := make([]string, len(m.cases))
	for i, id := range m.cases {
		quoted[i] = regexp.QuoteMeta(id)
	}
	focus := "^(" + strings.Join(quoted, "|") + ") " // an id is followed by its title
	out, runErr := command(ctx, dir, binary, "conformance", "--focus", focus, "--procs", "1", "--out", dir).CombinedOutput()
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

// command is exec.CommandContext in a directory; outside of any repository, git apply works on plain files.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	return cmd
}
