package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/hook"
	"github.com/gatehouse-dev/gatehouse/suites/runner"
	"github.com/gatehouse-dev/gatehouse/suites/target"
)

func replayCommand() *cobra.Command {
	var options target.Options
	command := &cobra.Command{
		Use:   "replay DIR...",
		Short: "Run failed cases again",
		Long: `Runs cases again that failed in an earlier run, on the same kind of server or on another, and says whether they do what
they did. DIR is the bundle that gatehouse conformance --out wrote for a failed case, failures/CASE, or a directory with
several of them in it. The table in its fixture/ may be changed before.

Exit status: 0 all cases pass now, 1 one fails, 2 the command line or a bundle is wrong, 3 the environment failed or a
case was not run.`,
		Example: `  gatehouse replay out/failures/matching-rules/operations/create
  gatehouse replay out/failures --target envtest
  gatehouse replay out/failures --target kubeconfig --kubeconfig ~/.kube/config --hook-address 192.0.2.7`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("name the bundle of a failed case, out/failures/CASE, or a directory of several")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			bundles, err := readBundles(args)
			if err != nil {
				return exitError{exitUsage, err}
			}
			if !cmd.Flags().Changed("target") {
				if options.Name, err = targetOf(bundles); err != nil {
					return err
				}
			}
			if err := checkTargetOptions(options); err != nil {
				return err
			}
			return replay(cmd.Context(), bundles, options, cmd.OutOrStdout())
		},
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
	}
	addTargetFlags(command.Flags(), &options)
	target := command.Flags().Lookup("target")
	target.DefValue, target.Usage = "", "the API server to test: fakeapi, envtest or kubeconfig; the one that the bundle names when absent"
	completeTarget(command)
	return command
}

// bundle is a bundle that was read.
type bundle struct {
	dir    string
	report reports.Report
	c      *fixtures.LoadedCase
}

// readBundles reads the bundles in the directories.
func readBundles(dirs []string) ([]bundle, error) {
	var bundles []bundle
	for _, dir := range dirs {
		found, err := reports.FindBundles(dir)
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%s: no bundle of a failed case, which has report.json and fixture/", dir)
		}
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			report, c, err := reports.ReadBundle(name)
			if err != nil {
				return nil, err
			}
			bundles = append(bundles, bundle{name, report, c})
		}
	}
	return bundles, nil
}

// targetOf returns the target on which all of the bundles came about.
func targetOf(bundles []bundle) (string, error) {
	name := bundles[0].report.Target.Name
	for _, b := range bundles {
		if b.report.Target.Name != name {
			return "", usageError("%s is of target %s, %s of %s: choose one by --target", bundles[0].dir, name, b.dir, b.report.Target.Name)
		}
	}
	return name, nil
}

// replay runs the cases of bundles again, one after the other on one server, or on two where they must not share it, and
// tells how each compares.
func replay(ctx context.Context, bundles []bundle, options target.Options, stdout io.Writer) (err error) {
	var cases []*fixtures.LoadedCase
	for _, b := range bundles {
		cases = append(cases, b.c)
	}
	var info reports.TargetInfo
	servers := map[*fixtures.LoadedCase]*runner.Server{}
	for _, part := range target.Together(options.Name, cases) {
		options.Needs = target.Needs(part)
		server, opened, stop, openErr := openServer(ctx, options)
		if openErr != nil {
			return exitError{exitEnvironment, openErr}
		}
		defer func() { err = errors.Join(err, stop()) }()
		info = opened
		for _, c := range part {
			servers[c] = server
		}
	}
	status := 0
	for i, b := range bundles {
		if ctx.Err() != nil {
			return exitError{exitEnvironment, fmt.Errorf("interrupted; %d of %d cases were run", i, len(bundles))}
		}
		if i > 0 {
			fmt.Fprintln(stdout)
		}
		now := runner.Run(ctx, servers[b.c], b.c)
		if err := reports.WriteReplay(stdout, b.report, info, now, textOptions(stdout)); err != nil {
			return exitError{exitEnvironment, err}
		}
		status = max(status, replayStatus(now.Outcome))
	}
	if status == 0 {
		return nil
	}
	return exitError{status, errors.New("")} // the texts have said why
}

// replayStatus is the exit status that an outcome gives the command.
func replayStatus(o reports.Outcome) int {
	switch o {
	case reports.Pass:
		return 0
	case reports.Fail:
		return exitNotConformant
	default:
		return exitEnvironment
	}
}

// openServer starts a target, or connects to it, for cases of this process. The caller calls stop in the end.
func openServer(ctx context.Context, options target.Options) (server *runner.Server, info reports.TargetInfo, stop func() error, err error) {
	t, err := target.Open(ctx, options)
	if err != nil {
		return nil, info, nil, err
	}
	var hooks *hook.Pool
	stop = t.Stop
	if address := t.HookAddress(); address != "" {
		if hooks, err = hook.NewPool(address); err != nil {
			return nil, info, nil, errors.Join(err, stop())
		}
		stop = func() error { return errors.Join(hooks.Close(), t.Stop()) }
	}
	if server, err = runner.New(t, hooks); err != nil {
		return nil, info, nil, errors.Join(err, stop())
	}
	return server, reports.TargetInfo(t.Info()), stop, nil
}
