package webhook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/target"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/manifests"
)

// Judge puts a webhook on trial and returns the report. An error says that there is no judgement: a *UsageError when what
// the user wrote is wrong, any other when the environment failed or ctx is done. The report of a trial that had begun says
// so too.
func Judge(ctx context.Context, o Options) (reports.Report, error) {
	p, err := newPlan(o)
	if err != nil {
		return reports.Report{}, err
	}
	t, run, err := newTrial(p)
	if err != nil {
		return reports.Report{}, err
	}
	run.Start, run.Target = time.Now(), t.info
	run.End = run.Start
	if o.Begun != nil {
		if err := o.Begun(t.unfinished(run, "the trial has not ended: it is going on, or it was killed")); err != nil {
			return reports.Report{}, err
		}
	}
	err = t.gather(ctx)
	run.End = time.Now()
	run.Target = t.info
	if err != nil {
		if ctx.Err() == nil { // an interruption may have ended the webhook's process too
			err = t.inWords(err)
		}
		return t.unfinished(run, err.Error()), err
	}
	run.Webhook.Notes = append(t.record.notes, t.untriedNote()...)
	for _, rule := range Rules() {
		r := result(rule, &t.record, run.Ledger, t.config.Path)
		t.record.broken = t.record.broken || r.Outcome == reports.Fail || r.Outcome == reports.Warn
		run.Results = append(run.Results, r)
	}
	run.Results = append(run.Results, t.results...)
	return reports.New(run), nil
}

// unfinished is the report of a trial that has not come to its end: no rule is judged by a part of what there is to see.
func (t *trial) unfinished(run reports.Run, why string) reports.Report {
	run.Interrupted = why
	reason, _, _ := strings.Cut(why, "\n")
	for _, rule := range Rules() {
		entry, _ := run.Ledger.Behavior(rule.ID) // a test sees to it that it is there
		run.Results = append(run.Results, reports.Result{
			ID: resultID(rule.ID), Title: entry.Statement, Area: Area, Behaviors: []string{rule.ID}, File: t.config.Path,
			Outcome: reports.NotRun, Cause: reports.CauseInterrupted, Reason: reason,
		})
	}
	run.Results = append(run.Results, t.results...)
	return reports.New(run)
}

// newTrial reads all that the plan names.
func newTrial(p plan) (*trial, reports.Run, error) {
	builtin, err := fixtures.BuiltinLedger()
	if err != nil {
		return nil, reports.Run{}, err
	}
	t := &trial{plan: p, record: record{observed: map[*manifests.Hook]*observed{}}, info: reports.TargetInfo{Name: p.target.Name}}
	var paths []string
	for _, path := range p.config.Manifests {
		paths = append(paths, p.config.Resolve(path))
	}
	if t.set, err = manifests.Read(paths, p.stdin); err != nil {
		return nil, reports.Run{}, usage(err)
	}
	if t.samples, err = readSamples(p.config); err != nil {
		return nil, reports.Run{}, usage(err)
	}
	ledger := contract(builtin)
	if t.tables, err = tables(p.config.Fixtures, p.config.Resolve); err != nil {
		return nil, reports.Run{}, usage(err)
	}
	if t.tables != nil {
		ledger.Areas = append(ledger.Areas, t.tables.Ledger.Areas...)
		ledger.Behaviors = append(ledger.Behaviors, t.tables.Ledger.Behaviors...)
	}
	run := reports.Run{Suite: version(), Ledger: ledger, Webhook: &reports.WebhookInfo{Config: p.config.Path, SetAside: t.set.SetAside}}
	for _, h := range t.set.Hooks {
		kind := "validating"
		if h.Mutating {
			kind = "mutating"
		}
		run.Webhook.Names = append(run.Webhook.Names, fmt.Sprintf("%s (%s)", h.Name, kind))
	}
	for _, skip := range p.config.Skip {
		run.Known = append(run.Known, reports.KnownFailure{ID: resultID(skip.Rule), Reason: skip.Reason, Expires: skip.Expires})
	}
	return t, run, nil
}

// Area is the ledger area of the rules.
const Area = "webhook-contract"

// contract is the part of the ledger that is asked of webhooks.
func contract(ledger *fixtures.Ledger) *fixtures.Ledger {
	part := &fixtures.Ledger{}
	for _, area := range ledger.Areas {
		if area.ID == Area {
			part.Areas = append(part.Areas, area)
		}
	}
	for _, b := range ledger.Behaviors {
		if b.Area == Area {
			part.Behaviors = append(part.Behaviors, b)
		}
	}
	return part
}

// tables loads the author's own tables; nil when there are none.
func tables(dirs []string, resolve func(string) string) (*fixtures.Set, error) {
	if len(dirs) == 0 {
		return nil, nil
	}
	var sets []*fixtures.Set
	var errs []error
	for _, dir := range dirs {
		set, err := tablesOf(resolve(dir))
		sets, errs = append(sets, set), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return fixtures.Merge(sets...)
}

// tablesOf loads a directory of tables: with a ledger as the conformance suite does, without one as they stand.
func tablesOf(dir string) (*fixtures.Set, error) {
	if _, err := os.Stat(filepath.Join(dir, "behaviors.yaml")); err == nil {
		return fixtures.LoadDir(dir)
	}
	plain, err := fixtures.LoadTables(dir)
	if err != nil {
		return nil, err
	}
	return &fixtures.Set{Ledger: &fixtures.Ledger{}, Cases: plain.Cases}, nil
}

// inWords adds to an error what the webhook's process wrote before it ended.
func (t *trial) inWords(err error) error {
	if t.subject == nil {
		return err
	}
	if ended := t.subject.Ended(); ended != nil && t.record.shutdown == (shutdownTrial{}) {
		return fmt.Errorf("%w; the webhook's process has ended (%w), its log ends with:\n%s", err, ended, t.subject.Log())
	}
	return err
}

// untriedNote says which requests could not be tried.
func (t *trial) untriedNote() []string {
	var notes []string
	for _, text := range t.record.untried {
		notes = append(notes, "Not tried: "+text)
	}
	return notes
}

// version is the version of this program as Go's build information tells it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}

// targetInfo names the API server for the report.
func targetInfo(t target.Target) reports.TargetInfo { return reports.TargetInfo(t.Info()) }
