package main

import (
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/target"
)

// conformanceFlags are the flags of gatehouse conformance.
type conformanceFlags struct {
	target    target.Options
	selection reports.Selection
	times     string
	fixtures  []string
	builtin   string
	known     string
	out       string
	flavor    string
	procs     int
	watch     bool
	command   []string // what runs a case again, with --focus
	only      []string // files of cases, as AREA/FILE.yaml, by which watch starts a run of what has changed
}

func conformanceCommand() *cobra.Command {
	var flags conformanceFlags
	command := &cobra.Command{
		Use:   "conformance",
		Short: "Show whether an API server admits as documented",
		Long: `Runs the conformance cases on an API server and says whether it admits as documented.

Targets. --target fakeapi is the built-in API server, envtest a kube-apiserver of envtest's assets, kubeconfig the
cluster of a kubeconfig file, or the one in which this program runs. On a cluster, everything that is made is taken away
again; use one that is not precious all the same, as the cases make webhook configurations and policies. Cases that need
webhooks run on a cluster only when --hook-address says how its API server reaches this machine.

Selection. --focus selects cases by their ids and titles, --labels by area, behavior, level (must, should, may), serial,
and what they need of a target. A run of a part of the cases is partial: its verdict is never conformant. --shard runs
one of N parts, for big clusters; gatehouse report merges the reports of all. With --times the parts take equally long.

Known failures. --known is a YAML list of cases that are known to fail, each with id, reason, expires (the last day, as
2026-12-31) and, if it is tracked, link. They do not fail the run until they expire. A listed case that passes, an
expired entry and an entry that names no case do.

Reports. --out takes junit.xml, report.json, report.html, report.md and, of each case that failed, a directory
failures/CASE with its fixture, requests, reviews and answers, which gatehouse replay runs again. Reports are written
before the first case too, so that a run that is killed leaves reports that say so.

Environment: KUBECONFIG, KUBEBUILDER_ASSETS; NO_COLOR and TERM=dumb turn colours off; report.md is added to the file
that GITHUB_STEP_SUMMARY names.

Exit status: 0 conformant or all that was to run passed, 1 not conformant, 2 the command line is wrong, 3 the
environment or the suite failed.`,
		Example: `  gatehouse conformance --out out
  gatehouse conformance --target envtest --focus matching-rules/
  gatehouse conformance --target kubeconfig --kubeconfig ~/.kube/config --hook-address 192.0.2.7:9443
  gatehouse conformance --labels 'must && !serial' --shard 1/3 --times times.json --out out
  gatehouse conformance --known known.yaml --out out --junit-flavor gitlab
  gatehouse conformance --builtin fixtures --watch --focus matching-rules/operations/`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.watch {
				return watchConformance(cmd.Context(), flags, cmd.Flags(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			flags.command = commandLine(cmd, nil, "focus", "labels", "shard", "times", "known", "out", "junit-flavor", "procs", onlyFlag)
			c, err := newConformance(flags)
			if err != nil {
				return err
			}
			return c.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	set := command.Flags()
	addTargetFlags(set, &flags.target)
	set.StringVar(&flags.selection.Focus, "focus", "", "run the cases whose id or title this regular `EXPRESSION` matches")
	set.StringVar(&flags.selection.Labels, "labels", "", "run the cases that this Ginkgo label `FILTER` selects, such as 'must && !serial'")
	set.StringVar(&flags.selection.Shard, "shard", "", "run part I of N of the selected cases, as `I/N`")
	set.StringVar(&flags.times, "times", "", "deal the cases to shards and processes by the times in this `FILE`: a report.json, or what gatehouse report --times wrote")
	set.StringArrayVar(&flags.fixtures, "fixtures", nil, "also run the cases of this `DIR`, which has a ledger of its own; may be repeated")
	set.StringVar(&flags.builtin, "builtin", "", "read the built-in cases from this `DIR`, such as fixtures in a checkout, for those who write them")
	set.StringVar(&flags.known, "known", "", "the failures that are known: a YAML `FILE` of id, reason, link, expires")
	set.StringVar(&flags.out, "out", "", "write junit.xml, report.json, report.html, report.md and failures/ to this `DIR`")
	set.StringVar(&flags.flavor, "junit-flavor", string(reports.JUnitPortable), flavorUsage)
	set.IntVar(&flags.procs, "procs", 0, "the number of processes that run cases; 0 chooses by the target and the machine")
	set.BoolVar(&flags.watch, "watch", false, "run again whenever files of --fixtures or --builtin change: those of their cases that are selected")
	set.StringArrayVar(&flags.only, onlyFlag, nil, "")
	if err := set.MarkHidden(onlyFlag); err != nil {
		panic(err) // a mistake in this program: there is no such flag
	}
	completeTarget(command)
	complete(command, "labels", completeLabels)
	complete(command, "focus", completeFocus)
	complete(command, "junit-flavor", words(reports.JUnitPortable.Values()...))
	completeFiles(command, map[string][]string{"times": {"json"}, "known": {"yaml", "yml"}}, "fixtures", "builtin", "out")
	return command
}

const flavorUsage = "what `READER` junit.xml is for: portable, gitlab, github or testgrid"

// addTargetFlags adds the flags that say which API server to test.
func addTargetFlags(set *pflag.FlagSet, options *target.Options) {
	set.StringVar(&options.Name, "target", target.FakeAPI, "the API server to test: fakeapi, envtest or kubeconfig")
	set.StringVar(&options.Kubeconfig, "kubeconfig", "", "the kubeconfig `FILE` of the cluster to test; kubectl's, or the cluster around this program, when absent")
	set.StringVar(&options.Context, "context", "", "the kubeconfig's context `NAME`; its current one when absent")
	set.StringVar(&options.HookAddress, "hook-address", "", "where the cluster reaches webhook servers on this machine, as `HOST[:PORT[-LAST]]`")
	set.StringVar(&options.Assets, "assets", "", "the `DIR` of kube-apiserver and etcd for envtest; $KUBEBUILDER_ASSETS when absent")
}

// conformance is a conformance run, decided on and not yet begun.
type conformance struct {
	flags  conformanceFlags
	set    *fixtures.Set
	chosen []*fixtures.LoadedCase
	known  []reports.KnownFailure
	times  map[string]time.Duration
	files  reports.Files
	// bundles is the directory of the failed cases' bundles; "" when none are written.
	bundles string
}

// newConformance checks the flags, loads the fixtures and chooses the cases. Its errors are of usage.
func newConformance(flags conformanceFlags) (*conformance, error) {
	c := &conformance{flags: flags}
	if err := checkTarget(&c.flags); err != nil {
		return nil, err
	}
	flavor, err := parseFlavor(flags.flavor)
	if err != nil {
		return nil, err
	}
	if flags.times != "" {
		var digest string
		if c.times, digest, err = readTimes(flags.times); err != nil {
			return nil, err
		}
		if flags.selection.Shard != "" {
			c.flags.selection.Times = digest
		}
	}
	chosen, err := newSelector(c.flags.selection, c.times)
	if err != nil {
		return nil, err
	}
	if c.known, err = readKnown(flags.known); err != nil {
		return nil, err
	}
	if len(flags.only) > 0 { // of cases of other files nothing is known
		c.known = slices.DeleteFunc(c.known, func(k reports.KnownFailure) bool { return !slices.Contains(flags.only, filesOf([]string{k.ID})[0]) })
	}
	if c.set, err = loadFixtures(flags.builtin, flags.fixtures, flags.only); err != nil {
		return nil, exitError{exitUsage, err}
	}
	if c.chosen, err = chosen.of(c.set); err != nil {
		return nil, err
	}
	c.files = outFiles(flags.out)
	if flags.out != "" {
		c.bundles = filepath.Join(flags.out, "failures")
		c.files.JUnitOptions = reports.JUnitOptions{Flavor: flavor, Bundles: filepath.ToSlash(inProject(c.bundles))}
	}
	return c, nil
}

// parseFlavor reads --junit-flavor.
func parseFlavor(name string) (reports.JUnitFlavor, error) {
	if known := reports.JUnitPortable.Values(); !slices.Contains(known, name) {
		return "", usageError("--junit-flavor is %q: want %s%s", name, list(known), didYouMean(name, known))
	}
	return reports.JUnitFlavor(name), nil
}

// list is a list of words in prose.
func list(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func checkTarget(flags *conformanceFlags) error {
	options := flags.target
	if err := checkTargetOptions(options); err != nil {
		return err
	}
	if flags.procs < 0 {
		return usageError("--procs is %d: want 1 or more", flags.procs)
	}
	// webhook servers of several processes cannot listen on the same ports
	if _, _, err := net.SplitHostPort(options.HookAddress); options.HookAddress != "" && err == nil {
		if flags.procs > 1 {
			return usageError("--procs is %d: with ports in --hook-address one process runs all cases", flags.procs)
		}
		flags.procs = 1
	}
	if flags.procs == 0 {
		flags.procs = defaultProcs(options.Name)
	}
	return nil
}

// checkTargetOptions refuses a target that there is not, flags of another target, and a kubeconfig that names no cluster.
func checkTargetOptions(options target.Options) error {
	if known := targetNames(); !slices.Contains(known, options.Name) {
		return usageError("--target is %q: want %s%s", options.Name, list(known), didYouMean(options.Name, known))
	}
	for _, f := range []struct{ name, value, target string }{
		{"kubeconfig", options.Kubeconfig, target.Kubeconfig},
		{"context", options.Context, target.Kubeconfig},
		{"hook-address", options.HookAddress, target.Kubeconfig},
		{"assets", options.Assets, target.Envtest},
	} {
		if f.value != "" && options.Name != f.target {
			return usageError("--%s is for --target %s, not for %s", f.name, f.target, options.Name)
		}
	}
	if options.Name != target.Kubeconfig {
		return nil
	}
	if _, err := target.LoadKubeconfig(options); err != nil {
		return usageError("--target %s: %w", target.Kubeconfig, err)
	}
	return nil
}

func targetNames() []string { return []string{target.FakeAPI, target.Envtest, target.Kubeconfig} }

// defaultProcs is the number of processes for a target. On a real API server cases mostly wait until configurations
// take effect, so more of them than there are processors pay.
func defaultProcs(name string) int {
	if name == target.FakeAPI {
		return runtime.GOMAXPROCS(0)
	}
	return max(8, runtime.GOMAXPROCS(0))
}
