// Command mutants shows that the conformance cases can fail. Each *.patch file of hack/mutants breaks fakeapi in one
// way and names the cases that must turn red for it; the command runs those cases with a gatehouse that has the patch
// laid over its sources (nothing in the tree changes), and reports each mutant as killed or survived.
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
// Mutants that change bodies of functions alone, as most do, share one build, in which an environment variable selects
// one of them; the others are built alone. All named cases must pass in that build while no mutant is selected.
//
// It exits with 1 when a mutant survived or -cover listed something, and with 3 when a mutant could not be judged (the
// patch no longer applies, a named case does not exist, was not run, or fails without the mutant too).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

func main() {
	root := flag.String("root", ".", "the repository's root")
	focus := flag.String("focus", "", "a regular expression: only patch files whose name matches")
	cover := flag.Bool("cover", false, "list the must behaviors of finished areas that no killed mutant breaks")
	jobs := flag.Int("jobs", runtime.NumCPU(), "how many mutants to run at once")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	status, err := run(ctx, *root, *focus, *cover, *jobs)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		status = 3
	}
	os.Exit(status)
}

func run(ctx context.Context, root, focus string, cover bool, jobs int) (int, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return 3, err
	}
	mutants, err := selectMutants(root, focus)
	if err != nil {
		return 3, err
	}
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return 3, err
	}
	defer os.RemoveAll(dir)
	shared, err := newShared(ctx, root, dir, mutants)
	if err != nil {
		return 3, err
	}
	killed, survived, unjudged := 0, 0, 0
	broken := map[string]bool{}
	for o := range judgeAll(ctx, root, shared, mutants, jobs) {
		m := o.mutant
		switch {
		case ctx.Err() != nil:
			return 3, errors.New("interrupted")
		case o.err != nil:
			unjudged++
			fmt.Printf("ERROR     %s: %v\n", m.name, o.err)
		case len(o.alive) > 0:
			survived++
			fmt.Printf("SURVIVED  %s (%s, %s): still green: %s\n", m.name, m.title, o.took.Round(time.Second), strings.Join(o.alive, ", "))
		default:
			killed++
			for _, behavior := range o.broken {
				broken[behavior] = true
			}
			fmt.Printf("killed    %s (%s, %s)\n", m.name, m.title, o.took.Round(time.Second))
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

// selectMutants reads the patch files whose name matches. What is wrong with a file is in its mutant.
func selectMutants(root, focus string) ([]*mutant, error) {
	selected, err := regexp.Compile(focus)
	if err != nil {
		return nil, fmt.Errorf("-focus: %w", err)
	}
	paths, err := filepath.Glob(filepath.Join(root, "hack", "mutants", "*.patch"))
	if err != nil {
		return nil, err
	}
	var mutants []*mutant
	for _, path := range paths {
		if name := strings.TrimSuffix(filepath.Base(path), ".patch"); selected.MatchString(name) {
			mutants = append(mutants, read(name, path))
		}
	}
	return mutants, nil
}
