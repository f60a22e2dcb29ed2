package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// style says what a line of text is, for writers that show it.
type style int

const (
	plain style = iota
	faint
	wrong
	removed
	added
	good
	bad
)

// textLine is one line of text for people, clean.
type textLine struct {
	style style
	text  string
}

// text is the lines of a description, each clean and without its newline.
type text []textLine

func (t *text) add(s style, indent int, format string, args ...any) {
	for l := range strings.SplitSeq(strings.TrimRight(clean(fmt.Sprintf(format, args...)), "\n"), "\n") {
		*t = append(*t, textLine{s, strings.TrimRight(strings.Repeat(" ", indent)+l, " ")})
	}
}

// String returns the lines without their styles.
func (t text) String() string {
	var b strings.Builder
	for _, l := range t {
		b.WriteString(l.text)
		b.WriteByte('\n')
	}
	return b.String()
}

// summary says in one line what became of a case that did not pass, first behaviour first.
func summary(r Result) string {
	what := cmp.Or(r.Reason, string(r.Outcome))
	switch {
	case r.Outcome == NotRun:
		what = "not run: " + notRunReason(r)
	case r.Outcome == KnownFail:
		what = "known failure: " + r.Reason
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

// Describe tells people what became of a case that did not pass: where it stands, what was not as expected, and its steps.
func Describe(r Result) string {
	t := append(text{{bad, r.ID}}, detail(r, nil)...)
	if steps := transcript(r, 0); len(steps) > 0 {
		t.add(plain, 0, "steps:")
		t.add(plain, 2, "%s", steps.String())
	}
	return t.String()
}

// detail describes a case that did not pass: where it stands, what it bears witness to, and what was not as expected.
func detail(r Result, statements map[string]string) text {
	var t text
	t.add(faint, 0, "%s", place(r.File, r.Line))
	if r.Title != "" {
		t.add(plain, 0, "%s", r.Title)
	}
	for _, id := range r.Behaviors {
		t.add(plain, 0, "behavior %s: %s", id, statements[id])
	}
	if r.Reason != "" {
		t.add(plain, 0, "reason: %s", r.Reason)
	}
	for _, f := range r.Failures {
		t = append(t, failureText(r, f)...)
	}
	return append(t, leftOut(r)...)
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
	return append(t, difference(f.Expected, f.Actual)...)
}

// diffLimit is the number of lines of an expected or actual value up to which they are compared line by line.
const diffLimit = 500

// difference shows what was expected beside what was: values of several lines line by line.
func difference(expected, actual string) text {
	var t text
	a, b := valueLines(expected), valueLines(actual)
	if len(a) <= 1 && len(b) <= 1 {
		t.addValue(removed, "expected: ", a)
		t.addValue(added, "actual:   ", b)
		return t
	}
	if len(a) == 0 || len(b) == 0 {
		t.addValue(removed, "expected:", a)
		t.addValue(added, "actual:", b)
		return t
	}
	t.add(faint, 2, "expected (-), actual (+):")
	const context = 3
	for i, group := range difflib.NewMatcher(a, b).GetGroupedOpCodes(context) {
		if i > 0 {
			t.add(faint, 2, "  ...")
		}
		for _, op := range group {
			if op.Tag == 'e' {
				t.addLines(plain, "    ", a[op.I1:op.I2])
				continue
			}
			t.addLines(removed, "  - ", a[op.I1:op.I2])
			t.addLines(added, "  + ", b[op.J1:op.J2])
		}
	}
	return t
}

// addValue adds a value that is not compared: one line after its label, several below it.
func (t *text) addValue(s style, label string, lines []string) {
	switch {
	case len(lines) == 1:
		t.addLines(s, "  "+label, lines)
	case len(lines) > 1:
		t.add(faint, 2, "%s", label)
		t.addLines(s, "    ", lines)
	}
}

func (t *text) addLines(s style, mark string, lines []string) {
	for _, l := range lines {
		*t = append(*t, textLine{s, mark + l})
	}
}

// valueLines are the lines of a value, clean; of a very long one the first.
func valueLines(s string) []string {
	s = strings.TrimRight(clean(s), "\n")
	if s == "" {
		return nil
	}
	lines := strings.Split(s, "\n")
	if len(lines) > diffLimit {
		lines = append(slices.Clip(lines[:diffLimit]), fmt.Sprintf("... %d more lines", len(lines)-diffLimit))
	}
	return lines
}

// transcript tells the steps of a case as they went. Bodies are shown up to so many bytes; 0 leaves them out.
func transcript(r Result, bodies int) text {
	var t text
	for _, s := range r.Transcript {
		answer := "no answer"
		if s.Code != 0 {
			answer = fmt.Sprint(s.Code)
		}
		t.add(plain, 0, "%s %s -> %s", s.Step, s.Request, answer)
		for _, w := range s.Warnings {
			t.add(faint, 2, "warning: %s", w)
		}
		t.addBody("sent", s.Body, bodies)
		t.addBody("answer", s.Answer, bodies)
		for _, c := range s.Calls {
			t.add(faint, 2, "webhook %s was called", c.Hook)
			t.addBody("review", c.Review, bodies)
			t.addBody("response", c.Answer, bodies)
		}
		if s.Decision != "" {
			t.add(faint, 2, "decision:")
			t.add(faint, 4, "%s", s.Decision)
		}
	}
	return t
}

func (t *text) addBody(name, body string, limit int) {
	if body == "" || limit == 0 {
		return
	}
	if len(body) > limit {
		body = body[:limit] + fmt.Sprintf("\n... %d more bytes", len(body)-limit)
	}
	t.add(faint, 2, "%s:", name)
	t.add(faint, 4, "%s", body)
}

// leftOut names the steps that were left out.
func leftOut(r Result) text {
	var t text
	for _, left := range r.LeftOut {
		t.add(faint, 0, "left out: %s", left)
	}
	return t
}
