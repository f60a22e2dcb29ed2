package reports

import (
	"fmt"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// A case that did not pass, as the page shows it.
type (
	htmlProblem struct {
		Anchor, Run, ID, Title, Area, Outcome, Mark string
		Place, Reason, Again                        string
		Levels                                      string
		Several                                     bool // the run is one of several
		Behaviors                                   []htmlFact
		Failures                                    []htmlFailure
		Fixture                                     []htmlExcerpt
		Steps                                       []htmlStep
		Notes, LeftOut                              []string
	}
	htmlFailure struct {
		Path, Message, Place, Advice string
		Diff                         []htmlDiffRow
	}
	// htmlDiffRow is a line of what was expected beside the line of what was.
	htmlDiffRow struct{ Kind, Expected, Actual string }
	htmlExcerpt struct{ Lines []htmlLine }
	htmlLine    struct {
		Number int
		Text   string
		Failed bool
	}
	htmlStep struct {
		Step, Request, Answer, Took, AuditID string
		Failed                               bool
		Bodies                               []htmlFact // what was sent and received
		Warnings                             []string
		Calls                                []htmlCall
		Decision                             string
	}
	htmlCall struct {
		Number               int
		Hook, Review, Answer string
	}
)

// problemOutcomes are the outcomes of cases that a report describes at length, in the order in which it does.
func problemOutcomes() []Outcome { return []Outcome{Fail, Error, Warn, KnownFail} }

// problems are the cases that a report describes at length. several says that
// the report is one of several.
func problems(r Report, name string, several bool) []htmlProblem {
	levels := map[string]string{}
	for _, b := range r.Behaviors {
		levels[b.ID] = string(b.Level)
	}
	statements := r.statements()
	var out []htmlProblem
	for _, o := range problemOutcomes() {
		for _, result := range r.Results {
			if result.Outcome != o {
				continue
			}
			p := newHTMLProblem(result, statements)
			p.Run, p.Several, p.Again = name, several, runAgain(r, result)
			p.Anchor = anchor(name + " " + result.ID)
			var words []string
			for _, id := range result.Behaviors {
				words = append(words, levels[id])
			}
			p.Levels = strings.Join(words, ",")
			out = append(out, p)
		}
	}
	return out
}

// anchor makes a name that a URL's fragment can hold as it is: of the characters that RFC 3986 leaves unreserved.
func anchor(s string) string {
	return "case-" + strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune("-_.", c):
			return c
		case c == '/':
			return '~'
		default:
			return '-'
		}
	}, s)
}

func newHTMLProblem(r Result, statements map[string]string) htmlProblem {
	p := htmlProblem{
		ID: line(r.ID), Title: line(r.Title), Area: r.Area, Outcome: string(r.Outcome), Mark: outcomeMark(r.Outcome),
		Place: line(place(r.File, r.Line)), Reason: line(r.Reason),
	}
	for _, id := range r.Behaviors {
		p.Behaviors = append(p.Behaviors, htmlFact{line(id), line(statements[id])})
	}
	failed := map[int]bool{}
	failedSteps := map[string]bool{}
	for i, f := range r.Failures {
		failure := newHTMLFailure(r, f)
		if i+1 < len(r.Failures) && r.Failures[i+1].Advice == f.Advice {
			failure.Advice = "" // it stands below the next one
		}
		p.Failures = append(p.Failures, failure)
		failed[f.Line] = true
		failedSteps[f.Step] = true
	}
	for _, e := range r.Fixture {
		var excerpt htmlExcerpt
		for i, text := range strings.Split(clean(e.Text), "\n") {
			excerpt.Lines = append(excerpt.Lines, htmlLine{e.Line + i, text, failed[e.Line+i]})
		}
		p.Fixture = append(p.Fixture, excerpt)
	}
	for _, s := range r.Transcript {
		p.Steps = append(p.Steps, newHTMLStep(s, failedSteps[s.Step]))
	}
	p.Notes, p.LeftOut = lines(r.Notes), lines(r.LeftOut)
	return p
}

func newHTMLFailure(r Result, f Failure) htmlFailure {
	out := htmlFailure{Path: line(strings.Trim(f.Step+"."+f.Path, ".")), Message: strings.TrimSpace(clean(f.Message)), Advice: line(f.Advice)}
	if f.Line != 0 {
		out.Place = line(place(r.File, f.Line))
	}
	out.Diff = sideBySide(valueLines(f.Expected), valueLines(f.Actual))
	return out
}

// sideBySide sets lines that belong together beside each other.
func sideBySide(expected, actual []string) []htmlDiffRow {
	var rows []htmlDiffRow
	for _, op := range difflib.NewMatcher(expected, actual).GetOpCodes() {
		if op.Tag == 'e' {
			for _, l := range expected[op.I1:op.I2] {
				rows = append(rows, htmlDiffRow{"same", l, l})
			}
			continue
		}
		for i := range max(op.I2-op.I1, op.J2-op.J1) {
			row := htmlDiffRow{Kind: "changed"}
			if op.I1+i < op.I2 {
				row.Expected = expected[op.I1+i]
			} else {
				row.Kind = "added"
			}
			if op.J1+i < op.J2 {
				row.Actual = actual[op.J1+i]
			} else {
				row.Kind = "removed"
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func newHTMLStep(s Step, failed bool) htmlStep {
	step := htmlStep{
		Step: line(s.Step), Request: line(s.Request), Answer: "no answer", Took: took(s.Duration), AuditID: line(s.AuditID),
		Failed: failed, Decision: strings.TrimRight(clean(s.Decision), "\n"),
	}
	if s.Code != 0 {
		step.Answer = fmt.Sprint(s.Code)
	}
	for _, body := range []htmlFact{{"Sent", s.Body}, {"Answer", s.Answer}} {
		if body.Value = prettyBody(body.Value); body.Value != "" {
			step.Bodies = append(step.Bodies, body)
		}
	}
	for _, w := range s.Warnings {
		step.Warnings = append(step.Warnings, line(w))
	}
	for i, c := range s.Calls {
		step.Calls = append(step.Calls, htmlCall{i + 1, line(c.Hook), prettyBody(c.Review), prettyBody(c.Answer)})
	}
	return step
}
