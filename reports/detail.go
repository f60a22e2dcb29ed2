package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// summary says in one line what became of a case that did not pass, first behaviour first.
func summary(r Result) string {
	what := cmp.Or(r.Reason, string(r.Outcome))
	switch {
	case r.Outcome == NotRun:
		what = "not run: " + notRunReason(r)
	case r.Outcome == KnownFail:
		what = "known failure: " + r.Reason
	case r.Outcome == Warn && len(r.Failures) > 0:
		what = "warning: " + r.Failures[0].Message
	case len(r.Failures) == 0:
	case r.Outcome == Error: // what went wrong comes after what was found until then
		what = r.Failures[len(r.Failures)-1].Message
	default:
		what = r.Failures[0].Message
	}
	if len(r.Behaviors) > 0 {
		what = r.Behaviors[0] + ": " + what
	}
	return line(what)
}

// place is a line in a fixture.
func place(file string, line int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// statements are the statements of the behaviours, by id.
func (r Report) statements() map[string]string {
	statements := make(map[string]string, len(r.Behaviors))
	for _, b := range r.Behaviors {
		statements[b.ID] = b.Statement
	}
	return statements
}

// Describe tells people what became of a case that did not pass: where it stands, what was not as expected, and its
// steps.
func Describe(r Result) string {
	t := text{{bad, line(r.ID)}}
	t = append(t, detail(r, nil)...)
	return append(t, steps(r)...).String()
}

// detail describes a case that did not pass: where it stands, what it bears witness to, and what was not as expected.
func detail(r Result, statements map[string]string) text {
	var t text
	t.add(faint, 0, "%s", place(r.File, r.Line))
	if r.Title != "" {
		t.add(plain, 0, "%s", r.Title)
	}
	for _, id := range r.Behaviors {
		t.add(plain, 0, "behavior %s", strings.TrimSuffix(id+": "+statements[id], ": "))
	}
	if r.Reason != "" {
		t.add(plain, 0, "reason: %s", r.Reason)
	}
	for _, f := range r.Failures {
		t = append(t, failureText(r, f)...)
	}
	return append(append(t, decided(r)...), leftOut(r)...)
}

// decided tells what policies decided.
func decided(r Result) text {
	var t text
	if what := rulings(r.Decided); what != "" {
		t.add(plain, 0, "decided: %s", what)
	}
	return t
}

func failureText(r Result, f Failure) text {
	var t text
	path := strings.Trim(f.Step+"."+f.Path, ".")
	if path != "" {
		path += ": "
	}
	t.add(wrong, 0, "%s%s", path, f.Message)
	if f.Line != 0 && f.Line != r.Line {
		t.add(faint, 2, "%s", place(r.File, f.Line))
	}
	t = append(t, difference(f.Expected, f.Actual)...)
	if f.Advice != "" {
		t.add(plain, 2, "change: %s", f.Advice)
	}
	return t
}

// steps tells the steps of a case briefly: all requests, and of those that were not as expected what else happened.
func steps(r Result) text {
	var t text
	for i, s := range r.Transcript {
		t.add(plain, 2, "%s", requestLine(s))
		last := i == len(r.Transcript)-1
		if last || slices.ContainsFunc(r.Failures, func(f Failure) bool { return f.Step == s.Step }) {
			t.addEvents(4, s, 0)
		}
	}
	if len(t) > 0 {
		t = append(text{{plain, "steps:"}}, t...)
	}
	return t
}

// transcript tells the steps of a case with everything that was sent and received.
func transcript(r Result) text {
	var t text
	for _, s := range r.Transcript {
		t.add(plain, 0, "%s", requestLine(s))
		t.addEvents(2, s, bodyLimit)
	}
	return t
}

func requestLine(s Step) string {
	answer := "no answer"
	if s.Code != 0 {
		answer = fmt.Sprint(s.Code)
	}
	return fmt.Sprintf("%s %s -> %s", s.Step, s.Request, answer)
}

// addEvents adds what happened at a step. Bodies are shown up to so many bytes; 0 leaves them out.
func (t *text) addEvents(indent int, s Step, bodies int) {
	t.addBody(indent, "sent", s.Body, bodies)
	t.addBody(indent, "answer", s.Answer, bodies)
	for _, w := range s.Warnings {
		t.add(faint, indent, "warning: %s", w)
	}
	for _, c := range s.Calls {
		t.add(faint, indent, "webhook %s was called", c.Hook)
		t.addBody(indent, "review", c.Review, bodies)
		t.addBody(indent, "response", c.Answer, bodies)
	}
	if s.Decision != "" {
		t.add(faint, indent, "decision:")
		t.add(faint, indent+2, "%s", s.Decision)
	}
}

func (t *text) addBody(indent int, name, body string, limit int) {
	if body == "" || limit == 0 {
		return
	}
	if len(body) > limit {
		body = body[:limit] + fmt.Sprintf("\n... %d more bytes", len(body)-limit)
	}
	t.add(faint, indent, "%s:", name)
	t.add(faint, indent+2, "%s", body)
}

// leftOut names the steps that were left out.
func leftOut(r Result) text {
	var t text
	for _, left := range r.LeftOut {
		t.add(faint, 0, "left out: %s", left)
	}
	return t
}
