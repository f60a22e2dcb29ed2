package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/runner"
	"github.com/gatehouse-dev/gatehouse/suites/target"
	"github.com/gatehouse-dev/gatehouse/suites/target/remote"
)

// run runs the cases and writes the reports. Its error carries the exit status.
func (c *conformance) run(ctx context.Context, stdout, stderr io.Writer) error {
	run := reports.Run{
		Suite: version(), Command: c.flags.command, Ledger: c.set.Ledger, Target: reports.TargetInfo{Name: c.flags.target.Name},
		Selection: c.flags.selection, Known: c.known, Start: time.Now(),
	}
	if err := c.prepareReports(run); err != nil {
		return exitError{exitEnvironment, err}
	}
	shown := newProgress(stderr, c.chosen, c.times)
	known := newOutcomes()
	err := c.execute(ctx, &run, known, shown)
	shown.end()
	run.End = time.Now()
	run.Results = c.complete(known.results, run.Interrupted)
	judged := reports.New(run)
	written, bundlesErr := c.writeBundles(judged)
	if err := errors.Join(err, bundlesErr, writeReport(c.files, stdout, judged)); err != nil {
		return exitError{exitEnvironment, err}
	}
	listFiles(stdout, c.files)
	if written > 0 {
		fmt.Fprintf(stdout, "failed cases: %s; run them again with gatehouse replay %s\n", c.bundles, c.bundles)
	}
	return verdictError(judged)
}

// writeBundles writes what running the failed cases again takes, and returns of how many.
func (c *conformance) writeBundles(r reports.Report) (int, error) {
	if c.bundles == "" {
		return 0, nil
	}
	bundles, err := reports.Bundles(r, c.set)
	errs := []error{err}
	for _, b := range bundles {
		errs = append(errs, b.Write(c.bundles))
	}
	return len(bundles), errors.Join(errs...)
}

// prepareReports writes reports that say that the run has not ended. It fails before anything has run where none could
// be written afterwards.
func (c *conformance) prepareReports(run reports.Run) error {
	if err := checkWritable(c.flags.out); err != nil {
		return err
	}
	if c.bundles != "" {
		if err := reports.RemoveBundles(c.bundles); err != nil {
			return err
		}
	}
	run.Interrupted = notEnded
	run.End = run.Start
	run.Results = c.complete(nil, run.Interrupted)
	return prepare(c.files, reports.New(run))
}

// execute runs the chosen cases on the target, those that want a server of their own after the others. It completes what
// run says of the target and of an interruption. An error says that the environment failed.
func (c *conformance) execute(ctx context.Context, run *reports.Run, known *outcomes, shown *progress) error {
	for _, cases := range target.Together(c.flags.target.Name, c.chosen) {
		if err := c.executePart(ctx, cases, run, known, shown); err != nil || run.Interrupted != "" {
			return err
		}
	}
	return nil
}

// executePart starts a server of the target and runs cases on it.
func (c *conformance) executePart(ctx context.Context, cases []*fixtures.LoadedCase, run *reports.Run, known *outcomes, shown *progress) (err error) {
	if ctx.Err() != nil {
		run.Interrupted = context.Cause(ctx).Error()
		return nil
	}
	options := c.flags.target
	options.Needs = target.Needs(cases)
	shown.say("starting " + options.Name)
	t, err := target.Open(ctx, options)
	if err != nil {
		if run.Interrupted = "the target could not be started"; ctx.Err() != nil {
			run.Interrupted, err = "interrupted while the target was starting", nil
		}
		return err
	}
	defer func() { err = errors.Join(err, t.Stop()) }()
	run.Target = reports.TargetInfo(t.Info())
	owner, err := remote.Serve(t)
	if err != nil {
		run.Interrupted = "the target could not be handed over"
		return err
	}
	defer func() { err = errors.Join(err, owner.Close()) }()
	noun := "cases"
	if len(cases) == 1 {
		noun = "case"
	}
	shown.say(fmt.Sprintf("running %d %s on %s %s", len(cases), noun, run.Target.Name, run.Target.Version))
	s := &shards{plan: shardPlan{Target: owner.Handover(), Builtin: c.flags.builtin, Fixtures: c.flags.fixtures}, times: c.times, known: known, shown: shown}
	err = s.run(ctx, cases, c.flags.procs)
	run.Interrupted = s.interrupted
	return errors.Join(err, sweep(context.WithoutCancel(ctx), t, known.left))
}

// sweep deletes what the cases of killed processes have made.
func sweep(ctx context.Context, t target.Target, left map[string][]string) error {
	if len(left) == 0 {
		return nil
	}
	server, err := runner.New(t, nil)
	if err != nil || server.Alive(ctx) != nil {
		return err
	}
	var errs []error
	for id, paths := range left {
		if err := server.Remove(ctx, paths); err != nil {
			errs = append(errs, fmt.Errorf("cleaning up after %s: %w", id, err))
		}
	}
	return errors.Join(errs...)
}

// complete returns a result of every case.
func (c *conformance) complete(results map[string]reports.Result, interrupted string) []reports.Result {
	return allResults(c.set.Cases, c.chosen, results, c.flags.selection, interrupted)
}

// allResults returns a result of every case: those there are, and for the others why they were not run, be it that the
// selection did not choose them.
func allResults(cases, chosen []*fixtures.LoadedCase, results map[string]reports.Result, selection reports.Selection, interrupted string) []reports.Result {
	selected := sets.New[string]()
	for _, one := range chosen {
		selected.Insert(one.ID)
	}
	var all []reports.Result
	for _, one := range cases {
		result, ran := results[one.ID]
		if !ran {
			result = runner.Describe(one)
			result.Outcome = reports.NotRun
			result.Cause, result.Reason = reports.CauseDeselected, "not selected by "+selection.String()
			if selected.Has(one.ID) {
				result.Cause, result.Reason = reports.CauseInterrupted, firstLine(interrupted)
			}
		}
		all = append(all, result)
	}
	return all
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// outcomes is what is known of the cases while they run.
type outcomes struct {
	results map[string]reports.Result
	started sets.Set[string]
	left    map[string][]string // what cases without a result have made, by their ids
}

func newOutcomes() *outcomes {
	return &outcomes{results: map[string]reports.Result{}, started: sets.New[string](), left: map[string][]string{}}
}

// lost gives the cases of a shard that ended without their results the result of an error, and returns their ids. Where
// the run was interrupted, those that had not begun are just not run. output is the end of what the shard wrote.
func (o *outcomes) lost(cases []*fixtures.LoadedCase, why, output string, interrupted bool) []string {
	var ids []string
	for _, c := range cases {
		if _, done := o.results[c.ID]; done {
			continue
		}
		message := "the process that ran the case ended before it: " + why
		if !o.started.Has(c.ID) {
			if interrupted {
				continue
			}
			message = "the case was not run, since its process had ended: " + why
		}
		result := runner.Describe(c)
		result.Outcome = reports.Error
		result.Failures = []reports.Failure{{Message: message, Line: c.Position.Line, Actual: output}}
		o.results[c.ID] = result
		ids = append(ids, c.ID)
	}
	return ids
}
