package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/policy"
	"github.com/gatehouse-dev/gatehouse/suites/target"
)

func policyCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "policy",
		Short: "Work with admission policies",
		Long: `Work with ValidatingAdmissionPolicies, MutatingAdmissionPolicies and their bindings, without a cluster.

gatehouse policy test runs tables of cases against them.`,
		Example: `  gatehouse policy test policies/`,
	}
	command.AddCommand(policyTestCommand())
	return ofSubcommands(command)
}

// policyTestFlags are the flags of gatehouse policy test.
type policyTestFlags struct {
	target      target.Options
	focus       string
	out         string
	coverageMin int
	explain     bool
	command     []string // what runs a case again, with --focus
}

func policyTestCommand() *cobra.Command {
	var flags policyTestFlags
	command := &cobra.Command{
		Use:   "test DIR|FILE...",
		Short: "Test admission policies by tables",
		Long: `Runs tables of cases against policies, and says which expression of which policy decided each case, and which
expressions no case evaluated to true or to false.

A DIR holds manifests, of policies and bindings, and of the definitions, params and namespaces that they need, and
tables beside them: YAML files with cases, in the format of the conformance suite's fixtures. Each case is alone on an
API server, with the manifests of its table: those that the table lists under manifests, else the FILEs of manifests
among the arguments, else those in the table's directory.

The built-in API server needs no set-up. --target envtest or kubeconfig runs the same cases on another one, one after
the other; its decisions cannot be looked into. On a cluster, policies act on everybody's requests while a case runs:
use one that nobody else does. --out takes junit.xml, report.json, report.html and report.md.

Exit status: 0 all cases passed, 1 a case failed or the coverage is less than --coverage-min, 2 the command line or a
table is wrong, 3 the environment failed.`,
		Example: `  gatehouse policy test policies/
  gatehouse policy test --coverage-min 100 --out out policies/
  kubectl kustomize overlays/prod > rendered.yaml && gatehouse policy test rendered.yaml tests/`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("name a directory or a file of policies and tables")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.command = commandLine(cmd, args, "focus", "out", "coverage-min", "explain")
			return testPolicies(cmd.Context(), flags, args, cmd.OutOrStdout())
		},
	}
	set := command.Flags()
	set.StringVar(&flags.focus, "focus", "", "run the cases whose id or title this regular `EXPRESSION` matches")
	set.StringVar(&flags.out, "out", "", "write junit.xml, report.json, report.html and report.md to this `DIR`")
	set.IntVar(&flags.coverageMin, "coverage-min", 0, "fail when less than this many `PERCENT` of the expressions' outcomes are covered")
	set.BoolVar(&flags.explain, "explain", false, "tell of each case what was decided, and why, also when it passed")
	addTargetFlags(set, &flags.target)
	return command
}

// testPolicies runs the cases and writes the reports. Its error carries the exit status.
func testPolicies(ctx context.Context, flags policyTestFlags, paths []string, stdout io.Writer) error {
	if flags.coverageMin < 0 || flags.coverageMin > 100 {
		return usageError("--coverage-min is %d: want 0 to 100", flags.coverageMin)
	}
	if flags.coverageMin > 0 && flags.target.Name != target.FakeAPI {
		return usageError("--coverage-min is for --target %s, which alone records what it evaluates", target.FakeAPI)
	}
	if err := checkTargetOptions(flags.target); err != nil {
		return err
	}
	tables, err := fixtures.LoadTables(paths...)
	if err != nil {
		return exitError{exitUsage, err}
	}
	focus, err := regexp.Compile(flags.focus)
	if err != nil {
		return usageError("--focus: %w", err)
	}
	chosen := &fixtures.Tables{Manifests: tables.Manifests}
	for _, c := range tables.Cases {
		if inFocus(focus, c) {
			chosen.Cases = append(chosen.Cases, c)
		}
	}
	if len(chosen.Cases) == 0 {
		return usageError("no case is selected by --focus %s, of %d", flags.focus, len(tables.Cases))
	}
	if err := checkWritable(flags.out); err != nil {
		return exitError{exitEnvironment, err}
	}
	return runPolicies(ctx, flags, tables, chosen, stdout)
}

// runPolicies runs the chosen cases of the tables.
func runPolicies(ctx context.Context, flags policyTestFlags, tables, chosen *fixtures.Tables, stdout io.Writer) error {
	run := reports.Run{
		Suite: version(), Command: flags.command, Ledger: &fixtures.Ledger{},
		Target: reports.TargetInfo{Name: flags.target.Name}, Selection: reports.Selection{Focus: flags.focus}, Start: time.Now(),
		PolicyTests: &reports.PolicyTests{CoverageMin: flags.coverageMin, Policies: []reports.PolicyCoverage{}},
	}
	files := outFiles(flags.out)
	begun := run
	begun.Interrupted, begun.End = notEnded, run.Start
	begun.Results = allResults(tables.Cases, chosen.Cases, nil, run.Selection, notEnded)
	if err := prepare(files, reports.New(begun)); err != nil {
		return exitError{exitEnvironment, err}
	}
	outcome, failed := policy.Run(ctx, chosen, policy.Options{
		Target: flags.target, Procs: runtime.GOMAXPROCS(0), Explain: flags.explain,
	})
	run.End = time.Now()
	if outcome.Target.Name != "" {
		run.Target = reports.TargetInfo(outcome.Target)
	}
	run.PolicyTests.Unrecorded = outcome.Policies == nil
	if outcome.Policies != nil {
		run.PolicyTests.Policies = outcome.Policies
	}
	switch {
	case failed != nil:
		run.Interrupted = "the environment failed"
	case ctx.Err() != nil:
		run.Interrupted = context.Cause(ctx).Error()
	}
	known := map[string]reports.Result{}
	for _, result := range outcome.Results {
		known[result.ID] = result
	}
	run.Results = allResults(tables.Cases, chosen.Cases, known, run.Selection, run.Interrupted)
	judged := reports.New(run)
	for _, name := range outcome.Unbound {
		fmt.Fprintf(stdout, "%s: no binding among the manifests names this policy, and it decided nothing\n", name)
	}
	if err := errors.Join(failed, writeReport(files, stdout, judged)); err != nil {
		return exitError{exitEnvironment, err}
	}
	listFiles(stdout, files)
	return verdictError(judged)
}
