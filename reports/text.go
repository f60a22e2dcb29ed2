package reports

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// TextOptions say how WriteText writes.
type TextOptions struct {
	// Width is the number of columns; 100 when 0.
	Width int
	// Color marks what is good and bad with the colours of ANSI terminals.
	Color bool
	// All shows every rule of a webhook's trial, those that it keeps too.
	All bool
}

// TerminalOptions returns the options that suit a file, by the environment: the width of a terminal or $COLUMNS, and
// colours on a terminal that has them unless $NO_COLOR is set to anything.
func TerminalOptions(f *os.File, getenv func(string) string) TextOptions {
	var o TextOptions
	if width, err := strconv.Atoi(getenv("COLUMNS")); err == nil && width > 0 {
		o.Width = width
	}
	if fd := int(f.Fd()); term.IsTerminal(fd) {
		if width, _, err := term.GetSize(fd); err == nil && width > 0 {
			o.Width = width
		}
		o.Color = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	}
	return o
}

// detailLimit is the number of cases that are described at length; those after them are only named.
const detailLimit = 25

// WriteText writes the report for people at a terminal: first the cases that failed or ended in an error, then the
// counts by area, then the verdict.
func WriteText(w io.Writer, r Report, o TextOptions) error {
	o.Width = cmp.Or(o.Width, 100)
	p := &printer{out: bufio.NewWriter(w), TextOptions: o}
	if r.Webhook != nil {
		p.trial(r)
		return p.out.Flush()
	}
	p.cases(r, Fail, "FAIL")
	p.cases(r, Error, "ERROR")
	p.knownFailures(r)
	if r.PolicyTests != nil {
		p.policyTests(r)
		p.lines(0, verdictText(r))
		return p.out.Flush()
	}
	p.table(r.Areas, r.Total, r.Selection.Partial())
	p.notRun(r)
	p.coverage(r)
	p.lines(0, verdictText(r))
	return p.out.Flush()
}

// printer writes lines. Its writer keeps the first error, which Flush returns.
type printer struct {
	out *bufio.Writer
	TextOptions
}

// SGR (select graphic rendition) parameters of ANSI terminals.
const (
	sgrBold   = "1"
	sgrFaint  = "2"
	sgrRed    = "31"
	sgrGreen  = "32"
	sgrYellow = "33"
)

// sgr returns the parameters that show the style; "" for none.
func (s style) sgr() string {
	switch s {
	case faint:
		return sgrFaint
	case wrong:
		return sgrYellow
	case removed:
		return sgrRed
	case added:
		return sgrGreen
	case good:
		return sgrBold + ";" + sgrGreen
	case bad:
		return sgrBold + ";" + sgrRed
	default:
		return ""
	}
}

func (p *printer) paint(sgr, s string) string {
	if !p.Color || sgr == "" || strings.TrimSpace(s) == "" {
		return s
	}
	return "\x1b[" + sgr + "m" + s + "\x1b[0m"
}

func (p *printer) line(s string) {
	p.out.WriteString(strings.TrimRight(s, " "))
	p.out.WriteByte('\n')
}

// lines writes a description, indented. Lines of prose are wrapped; those of values are not, so that they can be copied.
func (p *printer) lines(indent int, t text) {
	for _, l := range t {
		parts := []string{l.text}
		if l.style == wrong || l.style == plain && !strings.HasPrefix(l.text, " ") {
			parts = wrap(l.text, p.Width-indent)
		}
		for _, part := range parts {
			p.line(strings.Repeat(" ", indent) + p.paint(l.style.sgr(), part))
		}
	}
}

// cases describes the cases with that outcome.
func (p *printer) cases(r Report, o Outcome, label string) {
	shown := 0
	statements := r.statements()
	for _, result := range r.Results {
		if result.Outcome != o {
			continue
		}
		shown++
		p.line(p.paint(sgrBold+";"+sgrRed, label) + " " + p.paint(sgrBold, line(result.ID)))
		if shown > detailLimit {
			p.lines(2, text{{faint, place(line(result.File), result.Line)}})
			continue
		}
		p.lines(2, detail(result, statements))
		p.lines(2, steps(result))
		p.lines(2, again(r, result))
		p.line("")
	}
	if shown > detailLimit {
		p.line("")
	}
}

// knownFailures names the cases that are known to fail.
func (p *printer) knownFailures(r Report) {
	shown := false
	for _, result := range r.Results {
		if result.Outcome == KnownFail {
			shown = true
			p.line(p.paint(sgrYellow, "KNOWN") + " " + line(result.ID))
			p.lines(2, text{{plain, line(result.Reason)}, {faint, place(line(result.File), result.Line)}})
		}
	}
	if shown {
		p.line("")
	}
}

// notRun says why cases were not run and steps were left out, the commonest reason first.
func (p *printer) notRun(r Report) {
	var cases, steps []string
	for _, result := range r.Results {
		if result.Outcome == NotRun {
			cases = append(cases, line(notRunReason(result)))
		}
		for _, left := range result.LeftOut {
			if _, reason, ok := strings.Cut(line(left), ": "); ok { // what stands before is the step
				left = reason
			}
			steps = append(steps, line(left))
		}
	}
	p.tally("not run: ", "case", cases)
	p.tally("left out: ", "step", steps)
	if len(cases)+len(steps) > 0 {
		p.line("")
	}
}

// tally writes each reason once, with the number of times that it is there.
func (p *printer) tally(label, noun string, reasons []string) {
	counts := map[string]int{}
	var distinct []string
	for _, reason := range reasons {
		if counts[reason]++; counts[reason] == 1 {
			distinct = append(distinct, reason)
		}
	}
	slices.SortStableFunc(distinct, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	for _, reason := range distinct {
		p.lines(0, text{{plain, label + plural(counts[reason], noun, noun+"s") + ": " + reason}})
	}
}

// coverage writes how many of the applicable behaviours held, by kind and level.
func (p *printer) coverage(r Report) {
	for _, kind := range []fixtures.Kind{fixtures.Documented, fixtures.Observed} {
		var parts []string
		for _, c := range r.Coverage {
			if c.Kind == kind && c.All() > 0 {
				parts = append(parts, fmt.Sprintf("%s %d of %d", c.Level, c.Held, c.Applicable()))
			}
		}
		if len(parts) > 0 {
			p.line(fmt.Sprintf("%-10s behaviors that held: %s", kind, strings.Join(parts, ", ")))
		}
	}
	p.line("")
}

// verdictText is what the run was, why its verdict is what it is, and the verdict in the last line.
func verdictText(r Report) text {
	var t text
	server := strings.Join(strings.Fields(r.Target.Name+" "+r.Target.Version+" "+r.Target.Server), " ")
	if r.Webhook != nil {
		t.add(plain, 0, "%s on %s", executedLine(r), server)
	} else {
		t.add(plain, 0, "%s: %s", server, executedLine(r))
	}
	for _, reason := range r.Reasons {
		t.add(plain, 0, "- %s", reason)
	}
	s := good
	if r.ExitStatus != 0 {
		s = bad
	}
	t.add(s, 0, "verdict: %s", r.Verdict)
	return t
}

// executedLine says how many cases ran, or rules were looked at, and how long that took.
func executedLine(r Report) string {
	c, took := r.Total.CaseCounts, r.End.Sub(r.Start).Round(100*time.Millisecond)
	if r.Webhook != nil {
		return fmt.Sprintf("%d of %s looked at in %s", c.Executed(), plural(c.All(), "rule", "rules"), took)
	}
	return fmt.Sprintf("%d of %s executed in %s", c.Executed(), plural(c.All(), "case", "cases"), took)
}

// verdictLine is the verdict and why, in one line.
func verdictLine(r Report) string {
	if len(r.Reasons) == 0 {
		return string(r.Verdict)
	}
	return string(r.Verdict) + ": " + strings.Join(r.Reasons, "; ")
}

// wrap breaks prose at spaces into lines of at most width columns, as far as its words allow; the lines after the first
// are indented.
func wrap(s string, width int) []string {
	const indent = "  "
	var lines []string
	current := ""
	for _, word := range strings.Fields(s) {
		switch {
		case current == "":
			current = word
		case len([]rune(current))+1+len([]rune(word)) > max(width, 20):
			lines = append(lines, current)
			current = indent + word
		default:
			current += " " + word
		}
	}
	return append(lines, current)
}
