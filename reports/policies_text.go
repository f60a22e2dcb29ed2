package reports

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// policyTests writes the report of a run of policy tests: the cases by table, each with what decided it, then what the
// cases did not evaluate.
func (p *printer) policyTests(r Report) {
	file, width := "", 0
	for i, result := range r.Results {
		if result.File != file {
			file, width = result.File, nameWidth(r.Results[i:], result.File)
			p.line(p.paint(sgrBold, line(file)))
		}
		p.policyCase(result, width)
	}
	p.line("")
	p.notRun(r)
	p.expressions(*r.PolicyTests)
}

// nameWidth is the width of the names of a file's cases.
func nameWidth(results []Result, file string) int {
	const most = 40
	width := 0
	for _, r := range results {
		if r.File != file {
			break
		}
		width = max(width, utf8.RuneCountInString(caseName(r)))
	}
	return min(width, most)
}

func caseName(r Result) string { return line(path.Base(r.ID)) }

func (p *printer) policyCase(r Result, width int) {
	outcome := map[Outcome]struct{ label, sgr string }{
		Pass: {"pass", sgrGreen}, Fail: {"FAIL", sgrBold + ";" + sgrRed}, Error: {"ERROR", sgrBold + ";" + sgrRed},
		NotRun: {"-", sgrYellow}, KnownFail: {"KNOWN", sgrYellow},
	}[r.Outcome]
	told := fmt.Sprintf("%-*s", width, caseName(r))
	if why := rulings(r.Decided); why != "" {
		told += "  " + p.paint(sgrFaint, why)
	}
	p.line("  " + p.paint(outcome.sgr, fmt.Sprintf("%-5s", outcome.label)) + " " + told)
	if r.Outcome != Pass {
		return // it has been described at length
	}
	for _, step := range r.Transcript {
		var t text
		t.add(faint, 0, "%s", step.Decision)
		p.lines(8, t)
	}
}

// gravest are the rulings in the order in which they are worth a mention.
var gravest = [][]Ruling{{Denied, Erred, ErredOpen, Warned, Audited, Changed}, {Passed}, {Unconcerned}}

// rulings says in short what policies decided on a case: what was refused, warned of or changed; else what was looked at
// and let pass; else what did not apply, an expression that said so before rules and selectors.
func rulings(all []Decided) string {
	for _, worth := range gravest {
		var told, others []string
		for _, d := range all {
			text := d.text()
			switch {
			case !slices.Contains(worth, d.Ruling) || slices.Contains(told, text):
			case d.Ruling == Unconcerned && len(d.Expressions) == 0:
				others = append(others, text)
			default:
				told = append(told, text)
			}
		}
		switch {
		case len(told) > 0:
			return strings.Join(told, "; ")
		case len(others) == 1:
			return others[0]
		case len(others) > 1:
			return fmt.Sprintf("%s; and %d more", others[0], len(others)-1)
		}
	}
	return ""
}

// text is such as: denied by require-owner validations[0] (policy.yaml:21).
func (d Decided) text() string {
	by := map[Ruling]string{
		Denied: "denied by ", Erred: "failed in ", ErredOpen: "failed open in ", Warned: "warned by ", Audited: "audited by ",
		Changed: "changed by ", Passed: "allowed by ", Unconcerned: "not concerned: ",
	}[d.Ruling]
	text := by + d.Policy
	for _, expression := range d.Expressions {
		text += " " + shortPath(expression)
	}
	switch {
	case len(d.Expressions) > 0 && d.File != "":
		text += fmt.Sprintf(" (%s:%d)", path.Base(d.File), d.Line)
	case len(d.Expressions) == 0 && slices.Contains([]Ruling{Erred, ErredOpen, Unconcerned}, d.Ruling):
		text += ": " + cut(line(d.Reason), 100)
	}
	return line(text)
}

// shortPath leaves away what goes without saying in the path of an expression.
func shortPath(p string) string {
	p = strings.TrimPrefix(p, "spec.")
	for _, suffix := range []string{".expression", ".applyConfiguration", ".jsonPatch"} {
		p = strings.TrimSuffix(p, suffix)
	}
	return p
}

// expressions writes how much of each policy the cases evaluated, and what they did not.
func (p *printer) expressions(t PolicyTests) {
	if len(t.Policies) == 0 {
		if t.Unrecorded {
			p.line("expression coverage is not known: this server keeps no record of its decisions")
		} else {
			p.line("there is no policy among the manifests")
		}
		p.line("")
		return
	}
	rows := [][]string{{"expression coverage", "outcomes", ""}}
	var missing []string
	for _, policy := range t.Policies {
		covered, all := policy.covered()
		rows = append(rows, []string{line(policy.Name), fmt.Sprintf("%d of %d", covered, all), fmt.Sprintf("%d%%", percent(covered, all))})
		for _, e := range policy.Expressions {
			if what := e.missing(); what != "" {
				missing = append(missing, fmt.Sprintf("%s: %s: %s %s: %s", place(policy.File, e.Line), what, policy.Name, shortPath(e.Path), cut(line(e.Expression), 80)))
			}
		}
	}
	if len(t.Policies) > 1 {
		covered, all := t.Covered()
		rows = append(rows, []string{"total", fmt.Sprintf("%d of %d", covered, all), fmt.Sprintf("%d%%", percent(covered, all))})
	}
	p.columns(rows)
	for _, m := range missing {
		p.line(p.paint(sgrYellow, line(m)))
	}
	p.line("")
}

// columns writes rows in columns, the first aligned left and the others right; the first row is a heading.
func (p *printer) columns(rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for i, row := range rows {
		text := fmt.Sprintf("%-*s", widths[0], row[0])
		for j, cell := range row[1:] {
			text += fmt.Sprintf("  %*s", widths[j+1], cell)
		}
		if i == 0 {
			text = p.paint(sgrBold, text)
		}
		p.line(text)
	}
}
