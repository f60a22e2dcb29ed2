package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/onsi/ginkgo/v2/types"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/admission"
	"github.com/gatehouse-dev/gatehouse/suites/target"
)

// conformanceFlags are the flags of gatehouse conformance.
type conformanceFlags struct {
	target    target.Options
	selection reports.Selection
	fixtures  []string
	out       string
	procs     int
}

func conformanceCommand() *cobra.Command {
	var flags conformanceFlags
	command := &cobra.Command{
		Use:   "conformance",
		Short: "Show whether an API server admits as documented",
		Long: `Runs the conformance cases on an API server and says whether it admits as documented.

The target is the built-in API server (fakeapi), a kube-apiserver of envtest's assets (envtest), or the cluster of a
kubeconfig file (kubeconfig). On a cluster, everything that is made is taken away again; use one that is not precious
all the same, as the cases make webhook configurations and policies. Cases that need webhooks run on a cluster only when
--hook-address says how its API server reaches this machine.

--out takes junit.xml, report.json, report.html and report.md. They are written before the first case too, so that a run
that is killed leaves reports that say so. Where $GITHUB_STEP_SUMMARY names a file, report.md is added to it.

Exit status: 0 conformant, 1 not conformant, 2 the command line is wrong, 3 the environment or the suite failed.`,
		Example: `  gatehouse conformance --out out
  gatehouse conformance --target envtest --focus matching-rules/
  gatehouse conformance --target kubeconfig --kubeconfig ~/.kube/config --hook-address 192.0.2.7:9443
  gatehouse conformance --labels 'must && !serial' --shard 1/3 --out out`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := newConformance(flags)
			if err != nil {
				return err
			}
			return c.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	set := command.Flags()
	targetFlags(set, &flags.target)
	set.StringVar(&flags.selection.Focus, "focus", "", "run the cases whose id or title this regular `EXPRESSION` matches")
	set.StringVar(&flags.selection.Labels, "labels", "", "run the cases that this Ginkgo label `FILTER` selects: areas, behaviours, must, should, may, serial, and what cases need")
	set.StringVar(&flags.selection.Shard, "shard", "", "run part I of N of the selected cases, as `I/N`")
	set.StringArrayVar(&flags.fixtures, "fixtures", nil, "also run the cases of this `DIR`, which has a ledger of its own; may be repeated")
	set.StringVar(&flags.out, "out", "", "write junit.xml, report.json, report.html and report.md to this `DIR`")
	set.IntVar(&flags.procs, "procs", 0, "the number of processes that run cases; 0 chooses by the target and the machine")
	return command
}

// targetFlags declares the flags that say which API server to test.
func targetFlags(set *pflag.FlagSet, options *target.Options) {
	set.StringVar(&options.Name, "target", target.FakeAPI, "the API server to test: fakeapi, envtest or kubeconfig")
	set.StringVar(&options.Kubeconfig, "kubeconfig", "", "the kubeconfig `FILE` of the cluster to test; kubectl's when absent")
	set.StringVar(&options.Context, "context", "", "the kubeconfig's context `NAME`; its current one when absent")
	set.StringVar(&options.HookAddress, "hook-address", "", "where the cluster reaches webhook servers on this machine, as `HOST[:PORT[-LAST]]`")
	set.StringVar(&options.Assets, "assets", "", "the `DIR` of kube-apiserver and etcd for envtest; $KUBEBUILDER_ASSETS when absent")
}

// conformance is a conformance run, decided on and not yet begun.
type conformance struct {
	flags  conformanceFlags
	set    *fixtures.Set
	chosen []*fixtures.LoadedCase
	files  reports.Files
}

// newConformance checks the flags, loads the fixtures and chooses the cases. Its errors are of usage.
func newConformance(flags conformanceFlags) (*conformance, error) {
	c := &conformance{flags: flags}
	if err := checkTarget(&c.flags); err != nil {
		return nil, err
	}
	chosen, err := newSelector(flags.selection)
	if err != nil {
		return nil, err
	}
	if c.set, err = loadFixtures(flags.fixtures); err != nil {
		return nil, exitError{exitUsage, err}
	}
	if c.chosen = chosen.of(c.set); len(c.chosen) == 0 {
		return nil, usageError("no case is selected by %s, of %d", flags.selection, len(c.set.Cases))
	}
	c.files = outFiles(flags.out)
	return c, nil
}

// checkTargetFlags checks what targetFlags declares.
func checkTargetFlags(options target.Options) error {
	if names := []string{target.FakeAPI, target.Envtest, target.Kubeconfig}; !slices.Contains(names, options.Name) {
		return usageError("--target is %q: want fakeapi, envtest or kubeconfig", options.Name)
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
	return nil
}

func checkTarget(flags *conformanceFlags) error {
	options := flags.target
	if err := checkTargetFlags(options); err != nil {
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

// defaultProcs is the number of processes for a target. On a real API server cases mostly wait until configurations
// take effect, so more of them than there are processors pay.
func defaultProcs(name string) int {
	if name == target.FakeAPI {
		return runtime.GOMAXPROCS(0)
	}
	return max(8, runtime.GOMAXPROCS(0))
}

// loadFixtures returns the built-in cases and those of the directories.
func loadFixtures(dirs []string) (*fixtures.Set, error) {
	builtin, err := fixtures.Builtin()
	if err != nil {
		return nil, err
	}
	sets := []*fixtures.Set{builtin}
	var errs []error
	for _, dir := range dirs {
		set, err := fixtures.LoadDir(dir)
		sets, errs = append(sets, set), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return fixtures.Merge(sets...)
}

// selector decides which cases run.
type selector struct {
	focus  *regexp.Regexp
	labels types.LabelFilter
	shard  reports.Shard
}

func newSelector(s reports.Selection) (*selector, error) {
	chosen := &selector{shard: reports.Shard{Index: 1, Count: 1}}
	var err error
	if chosen.focus, err = regexp.Compile(s.Focus); err != nil {
		return nil, usageError("--focus: %w", err)
	}
	if chosen.labels, err = types.ParseLabelFilter(s.Labels); err != nil {
		return nil, usageError("--labels is %q: %w", s.Labels, err)
	}
	if s.Shard != "" {
		if chosen.shard, err = reports.ParseShard(s.Shard); err != nil {
			return nil, usageError("--shard: %w", err)
		}
	}
	return chosen, nil
}

// of returns the cases of a set that are to run. Shards are dealt in turn, so that each gets a part of every area.
func (s *selector) of(set *fixtures.Set) []*fixtures.LoadedCase {
	var all, mine []*fixtures.LoadedCase
	for _, c := range set.Cases {
		if s.focus.MatchString(admission.Text(c)) && s.labels(admission.Labels(set.Ledger, c)) {
			all = append(all, c)
		}
	}
	for i, c := range all {
		if i%s.shard.Count == s.shard.Index-1 {
			mine = append(mine, c)
		}
	}
	return mine
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

// version is the version of this program as Go's build information tells it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}
