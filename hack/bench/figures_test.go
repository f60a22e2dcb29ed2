package bench

import (
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"text/tabwriter"
)

// figures are what the benchmarks of a run found, by what was measured and on which server. TestMain prints them side by
// side.
var figures = struct {
	sync.Mutex
	found map[figure]float64
}{found: map[figure]float64{}}

type figure struct{ name, subject string }

// note keeps the latest value of a figure.
func note(name, subject string, value float64) {
	figures.Lock()
	defer figures.Unlock()
	figures.found[figure{name, subject}] = value
}

// comparisons are the figures that gatehouse shares with a real server, and what it aims at.
var comparisons = []struct {
	name, unit string
	// more tells that more is better.
	more bool
	// aim is how many times better gatehouse is to be.
	aim float64
}{
	{"exec to first create", "ms", false, 50},
	{"its processor time", "ms", false, 0},
	{"resident, idle", "MB", false, 5},
	{"resident, 10^4 objects", "MB", false, 5},
	{"creates, one by one", "1/s", true, 4},
	{"processor time per create", "ms", false, 0},
	{"list of 10^4 objects", "ms", false, 0},
	{"processor time per list", "ms", false, 0},
	{"events to 100 watchers", "1/s", true, 0},
	{"converted creates", "1/s", true, 0}, // what the webhook takes, both wait for
	{"processor time per converted create", "ms", false, 0},
	{"converted reads", "1/s", true, 0},
	{"processor time per converted read", "ms", false, 0},
	{"list of 500 converted", "ms", false, 0},
	{"processor time per converted list", "ms", false, 0},
	{policyFigure("creates", 0, 0), "1/s", true, 0},
	{policyFigure("creates", 1, 1), "1/s", true, 0},
	{policyFigure("creates", 50, 1), "1/s", true, 0},
	{policyFigure("creates", 50, 50), "1/s", true, 5},
	{policyFigure("creates", 500, 1), "1/s", true, 0},
	{policyFigure("creates", 500, 500), "1/s", true, 0},
	{policyFigure("added latency", 1, 1), "ms", false, 0},
	{policyFigure("added latency", 50, 1), "ms", false, 0},
	{policyFigure("added latency", 50, 50), "ms", false, 0},
	{policyFigure("added latency", 500, 1), "ms", false, 0},
	{policyFigure("added latency", 500, 500), "ms", false, 0},
}

// limits are the figures of servers in this process, and what they are to stay below.
var limits = []struct {
	name, unit string
	limit      float64
}{
	{"start in process", "ms", 15},
	{"stop", "ms", 10},
	{"stop with 100 watches", "ms", 10},
	{"200 servers in one process", "MB", 1000},
}

// report prints what was measured.
func report(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, c := range comparisons {
		ours, measured := figures.found[figure{c.name, "gatehouse"}]
		if !measured {
			continue
		}
		fmt.Fprintf(table, "%s\tgatehouse %.4g %s\t", c.name, ours, c.unit)
		if theirs, ok := figures.found[figure{c.name, "kube-apiserver"}]; ok {
			fmt.Fprintf(table, "kube-apiserver %.4g %s\t", theirs, c.unit)
			better := theirs / ours
			if c.more {
				better = ours / theirs
			}
			if better > 0 && ours > 0 { // a difference may be lost in noise
				fmt.Fprintf(table, "%.1f times better", better)
			}
			fmt.Fprint(table, "\t")
			if c.aim > 0 {
				fmt.Fprintf(table, "aim: %g times\t", c.aim)
			}
		}
		fmt.Fprintln(table)
	}
	for _, l := range limits {
		if ours, measured := figures.found[figure{l.name, "fakeapi"}]; measured {
			fmt.Fprintf(table, "%s\tfakeapi %.4g %s\t\t\taim: below %g\t\n", l.name, ours, l.unit, l.limit)
		}
	}
	return table.Flush()
}

func TestMain(m *testing.M) {
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	directory, err := os.MkdirTemp("", "gatehouse-bench-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(directory) }() // it is a temporary one
	if err := os.Setenv(benchDirectory, directory); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := report(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
