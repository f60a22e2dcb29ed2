package reports

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// Part is a report that is merged with others, and the name by which errors call it, such as its file's.
type Part struct {
	Name   string
	Report Report
}

// Merge returns the report that one run would have given in the place of several that ran different shards of it. It is
// an error when the parts cannot be of the same run: another target, ledger, selection or list of known failures, a
// shard that is there twice, or a case that was executed twice. One part alone is returned as it is.
func Merge(parts ...Part) (Report, error) {
	switch len(parts) {
	case 0:
		return Report{}, errors.New("no reports to merge")
	case 1:
		return parts[0].Report, nil
	}
	merged := parts[0].Report.run()
	for _, p := range parts[1:] {
		if err := sameRun(parts[0], p); err != nil {
			return Report{}, fmt.Errorf("%s and %s cannot be merged: %w", parts[0].Name, p.Name, err)
		}
		merged.Start = slices.MinFunc([]time.Time{merged.Start, p.Report.Start}, time.Time.Compare)
		merged.End = slices.MaxFunc([]time.Time{merged.End, p.Report.End}, time.Time.Compare)
		merged.Interrupted = cmp.Or(merged.Interrupted, p.Report.Interrupted)
	}
	var err error
	if merged.Selection.Shard, err = mergeShards(parts); err != nil {
		return Report{}, err
	}
	if merged.Selection.Shard == "" {
		merged.Selection.Times = ""
	}
	if merged.Results, err = mergeResults(parts); err != nil {
		return Report{}, err
	}
	return assemble(merged), nil
}

// MergeRuns merges the shards of each run among the parts, and returns the reports of the runs in the order of their
// first parts: those of several targets or versions stay side by side. It is an error when Merge refuses the parts of a
// run.
func MergeRuns(parts ...Part) ([]Report, error) {
	var runs [][]Part
	for _, p := range parts {
		i := slices.IndexFunc(runs, func(run []Part) bool { return p.Report.Selection.Shard != "" && sameRun(run[0], p) == nil })
		if i < 0 {
			runs = append(runs, []Part{p})
			continue
		}
		runs[i] = append(runs[i], p)
	}
	var merged []Report
	for _, run := range runs {
		r, err := Merge(run...)
		if err != nil {
			return nil, err
		}
		merged = append(merged, r)
	}
	return merged, nil
}

// run returns the run that the report was made of, with its results as they were judged.
func (r Report) run() Run {
	ledger := &fixtures.Ledger{}
	for _, b := range r.Behaviors {
		ledger.Behaviors = append(ledger.Behaviors, b.Behavior)
	}
	for _, a := range r.Areas {
		ledger.Areas = append(ledger.Areas, a.Area)
	}
	return Run{
		Suite: r.Suite, Command: r.Command, Ledger: ledger, Target: r.Target, Webhook: r.Webhook, Selection: r.Selection, Known: r.Known,
		Interrupted: r.Interrupted, Start: r.Start, End: r.End, Results: r.Results,
		PolicyTests: r.PolicyTests,
	}
}

// sameRun returns an error that says how b was another run than a, shards aside.
func sameRun(a, b Part) error {
	x, y := a.Report, b.Report
	for _, field := range []struct{ name, x, y string }{
		{"target", x.Target.Name, y.Target.Name},
		{"version", x.Target.Version, y.Target.Version},
		{"server", x.Target.Server, y.Target.Server},
		{"version of Gatehouse", x.Suite, y.Suite},
		{"--focus", x.Selection.Focus, y.Selection.Focus},
		{"--labels", x.Selection.Labels, y.Selection.Labels},
	} {
		if field.x != field.y {
			return fmt.Errorf("their %s is different: %q and %q", field.name, field.x, field.y)
		}
	}
	if shards := x.Selection.Shard != "" && y.Selection.Shard != ""; shards && x.Selection.Times != y.Selection.Times {
		return errors.New("their cases were dealt by different --times")
	}
	if !reflect.DeepEqual(x.Known, y.Known) {
		return errors.New("their known failures are different")
	}
	if !reflect.DeepEqual(x.run().Ledger, y.run().Ledger) {
		return errors.New("their ledgers are different")
	}
	return nil
}

// mergeShards returns the Selection.Shard of all parts together.
func mergeShards(parts []Part) (string, error) {
	var all []Shard
	owner := map[Shard]string{}
	for _, p := range parts {
		if p.Report.Selection.Shard == "" {
			return "", fmt.Errorf("%s is a whole run and cannot be merged with others: only shards of one run can", p.Name)
		}
		shards, err := p.Report.Selection.shards()
		if err != nil {
			return "", fmt.Errorf("%s: %w", p.Name, err)
		}
		for _, s := range shards {
			if other, ok := owner[s]; ok {
				return "", fmt.Errorf("shard %s is in %s and in %s", s, other, p.Name)
			}
			if len(all) > 0 && all[0].Count != s.Count {
				return "", fmt.Errorf("%s is of %d shards, %s of %d", parts[0].Name, all[0].Count, p.Name, s.Count)
			}
			owner[s] = p.Name
			all = append(all, s)
		}
	}
	return joinShards(all), nil
}

// mergeResults returns one result of each case: the one that says most, where shards tell of cases of other shards that
// they did not run them.
func mergeResults(parts []Part) ([]Result, error) {
	var results []Result
	type place struct {
		index int
		part  string
	}
	places := map[string]place{}
	for _, p := range parts {
		for _, r := range p.Report.Results {
			at, ok := places[r.ID]
			switch {
			case !ok:
				places[r.ID] = place{len(results), p.Name}
				results = append(results, r)
			case r.Outcome == NotRun && (r.Cause == CauseDeselected || results[at.index].Outcome != NotRun):
			case results[at.index].Outcome == NotRun:
				results[at.index] = r
				places[r.ID] = place{at.index, p.Name}
			default:
				return nil, fmt.Errorf("case %s has a result in %s and in %s", r.ID, at.part, p.Name)
			}
		}
	}
	return results, nil
}
