package reports

import (
	"cmp"
	"errors"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// The page as its templates see it: all text is clean, all numbers are words.
type (
	htmlPage struct {
		Style     template.CSS
		Script    template.JS
		Title     string
		Heading   string
		Runs      []htmlRun
		Matrix    []areaRow
		Total     areaRow
		Problems  []htmlProblem
		Areas     []htmlArea
		NotRun    []htmlNotRun
		Verdicts  []string // what behaviours can be filtered by
		Levels    []string
		Behaviors int
		Policies  bool // a run tested some
	}
	htmlRun struct {
		Name, Verdict, Mark string // Mark is the class by which a verdict is shown: good, soft or bad
		Reasons, Notes      []string
		OnTrial             []string
		Executed            string
		Policies            []htmlPolicy
		Coverage            string
		Facts               []htmlFact
		Slowest             []htmlSlow
		Latency             *htmlHistogram
	}
	htmlFact struct{ Name, Value string }
	htmlSlow struct {
		ID, Took string
		Percent  float64 // of the slowest
	}
	htmlArea struct {
		ID, Title, Description string
		Open                   bool
		Cells                  []areaCell
		Behaviors              []htmlBehavior
	}
	htmlBehavior struct {
		ID, Statement, Level, Kind, Versions string
		Sources                              []string
		Verdicts                             []htmlVerdict
		Verdict                              string // all of Verdicts, for filters
		Cases                                []htmlCase
	}
	htmlVerdict struct{ Run, Verdict, Mark, Reason string }
	htmlCase    struct {
		ID       string
		Outcomes []htmlOutcome
	}
	htmlOutcome struct{ Run, Outcome, Mark, Took, Anchor string }
	htmlNotRun  struct {
		Run, Reason string
		Cases       []string
	}
)

// behaviorVerdicts are the verdicts, those that need attention first.
func behaviorVerdicts() []string {
	return []string{string(Failed), string(Unproven), string(Held), string(NotApplicable)}
}

func newHTMLPage(all []Report) (htmlPage, error) {
	style, err1 := htmlAsset("style.css")
	script, err2 := htmlAsset("script.js")
	if err := errors.Join(err1, err2); err != nil {
		return htmlPage{}, err
	}
	page := htmlPage{
		Style: template.CSS(style), Script: template.JS(script), Verdicts: behaviorVerdicts(),
		Levels: []string{string(fixtures.Must), string(fixtures.Should), string(fixtures.May)},
	}
	names := runNames(all)
	var titles []string
	for i, r := range all {
		run := newHTMLRun(r, names[i])
		page.Runs = append(page.Runs, run)
		page.Policies = page.Policies || len(run.Policies) > 0
		page.Problems = append(page.Problems, problems(r, names[i], len(all) > 1)...)
		page.NotRun = append(page.NotRun, notRunGroups(r, names[i])...)
		titles = append(titles, names[i]+": "+string(r.Verdict))
	}
	page.Title = "Gatehouse: " + strings.Join(titles, ", ")
	page.Heading = heading(all)
	page.Matrix, page.Total = matrix(all)
	page.Areas = htmlAreas(all, names, page.Problems)
	for _, area := range page.Areas {
		page.Behaviors += len(area.Behaviors)
	}
	return page, nil
}

func newHTMLRun(r Report, name string) htmlRun {
	run := htmlRun{
		Name: name, Verdict: string(r.Verdict), Mark: verdictMark(r.Verdict), Executed: executedLine(r),
		Slowest: slowest(r.Results), Latency: latencies(r.Results),
	}
	for _, reason := range r.Reasons {
		run.Reasons = append(run.Reasons, line(reason))
	}
	if r.Webhook != nil {
		run.OnTrial = lines(r.Webhook.Names)
		run.Notes = lines(r.Webhook.Notes)
		if len(r.Webhook.SetAside) > 0 {
			run.Notes = append(run.Notes, line("set aside: "+strings.Join(r.Webhook.SetAside, ", ")))
		}
	}
	if r.PolicyTests != nil {
		run.Policies, run.Coverage = htmlPolicies(*r.PolicyTests)
	}
	for _, f := range []htmlFact{
		{"began", r.Start.Format(time.RFC3339)},
		{"took", r.End.Sub(r.Start).Round(100 * time.Millisecond).String()},
		{"server", r.Target.Server},
		{"server flags", strings.Join(r.Target.Flags, " ")},
		{"selection", r.Selection.String()},
		{"Gatehouse", r.Suite},
	} {
		if f.Value = line(f.Value); f.Value != "" {
			run.Facts = append(run.Facts, f)
		}
	}
	return run
}

// slowestCount is the number of slow cases that are shown.
const slowestCount = 10

func slowest(results []Result) []htmlSlow {
	ran := slices.DeleteFunc(slices.Clone(results), func(r Result) bool { return r.Duration == 0 })
	slices.SortStableFunc(ran, func(a, b Result) int { return cmp.Compare(b.Duration, a.Duration) })
	var slow []htmlSlow
	for _, r := range ran[:min(slowestCount, len(ran))] {
		slow = append(slow, htmlSlow{
			ID: line(r.ID), Took: took(r.Duration), Percent: 100 * float64(r.Duration) / float64(ran[0].Duration),
		})
	}
	return slow
}

// took is a duration as people say it.
func took(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	default:
		return d.Round(time.Millisecond).String()
	}
}

// lines are texts, each on one line.
func lines(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = line(text)
	}
	return out
}
