package reports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// findingLimit is the number of findings of one rule that are shown at length.
const findingLimit = 2

// evidenceLimit is the number of characters of a review or an answer that are shown.
const evidenceLimit = 360

// trial writes the report of a webhook's trial: first the rules that it breaks, with the evidence and what to change, then
// what was not looked at, then the verdict.
func (p *printer) trial(r Report) {
	p.lines(0, text{{plain, line("on trial: " + strings.Join(r.Webhook.Names, ", "))}})
	p.line("")
	statements := r.statements()
	for _, shown := range []struct {
		outcome    Outcome
		label, sgr string
	}{{Error, "ERROR", sgrBold + ";" + sgrRed}, {Fail, "FAIL", sgrBold + ";" + sgrRed}, {Warn, "WARN", sgrBold + ";" + sgrYellow}} {
		for _, result := range r.Results {
			if result.Outcome == shown.outcome {
				p.line(p.paint(shown.sgr, shown.label) + " " + p.paint(sgrBold, line(ruleName(result))))
				p.rule(result, statements)
				p.line("")
			}
		}
	}
	p.knownFailures(r)
	if p.All {
		p.everyRule(r)
	}
	p.groups(r)
	p.reasons(r)
	p.notes(r)
	p.lines(0, verdictText(r))
}

// ruleName is what a result is about: a rule of the contract, or a case of the author's tables.
func ruleName(r Result) string {
	if len(r.Behaviors) == 1 && strings.HasPrefix(r.Behaviors[0], webhookPrefix) {
		return r.Behaviors[0]
	}
	return r.ID
}

// rule describes a rule that is broken: what it demands, what was found, and what to change.
func (p *printer) rule(r Result, statements map[string]string) {
	if len(r.Behaviors) > 0 {
		p.lines(2, text{{plain, line(statements[r.Behaviors[0]])}})
	}
	advice, shown, more := "", map[string]bool{}, 0
	for _, f := range r.Failures {
		if n := f.more(); n > 0 {
			more += n
			continue
		}
		if shown[f.Message] || len(shown) == findingLimit {
			more++
			continue
		}
		shown[f.Message] = true
		p.lines(2, text{{wrong, line(f.Message)}})
		if f.Path != "" && f.Line != 0 {
			p.lines(4, text{{faint, place(line(r.File), f.Line) + ": " + line(f.Path)}})
		}
		p.lines(4, difference(f.Expected, f.Actual))
		p.evidence(r, f)
		advice = cmp.Or(advice, f.Advice)
	}
	if more > 0 {
		p.lines(2, text{{faint, "... and " + plural(more, "finding", "findings") + " more"}})
	}
	if advice != "" {
		p.lines(2, text{{good, "change: "}, {plain, line(advice)}}.joined())
	}
}

const moreOfTheKind = "%d more of the kind"

// More is what stands in a result for n failures that are left out.
func More(n int) Failure { return Failure{Message: fmt.Sprintf(moreOfTheKind, n)} }

// more is for how many failures one stands that says that others are left out; 0 when it is one itself.
func (f Failure) more() int {
	var n int
	if read, err := fmt.Sscanf(f.Message, moreOfTheKind, &n); err != nil || read != 1 || f != More(n) {
		return 0
	}
	return n
}

// joined is the text as one line of the last part's style.
func (t text) joined() text {
	parts := make([]string, len(t))
	for i, l := range t {
		parts[i] = strings.TrimSpace(l.text)
	}
	return text{{plain, strings.Join(parts, " ")}}
}

// evidence shows the review that was sent and the answer.
func (p *printer) evidence(r Result, f Failure) {
	i := slices.IndexFunc(r.Transcript, func(s Step) bool { return s.Step == f.Step })
	if f.Step == "" || i < 0 {
		return
	}
	s := r.Transcript[i]
	t := text{{faint, line(s.Step)}}
	if s.Body != "" {
		t = append(t, textLine{faint, "  sent:   " + excerpt(brief(s.Body))})
	}
	answer := "none"
	if s.Code != 0 {
		answer = strings.TrimSpace(fmt.Sprintf("%d %s", s.Code, excerpt(s.Answer)))
	}
	t = append(t, textLine{faint, "  answer: " + answer})
	for _, c := range s.Calls {
		t = append(t, textLine{faint, "  call:   " + line(c.Hook) + ": " + excerpt(c.Answer)})
	}
	p.lines(4, t)
}

// brief is a review as people read it: the request, without the managed fields of its objects.
func brief(body string) string {
	var review struct {
		Request map[string]any `json:"request"`
	}
	if json.Unmarshal([]byte(body), &review) != nil || review.Request == nil {
		return body
	}
	for _, field := range []string{"object", "oldObject"} {
		object, _ := review.Request[field].(map[string]any)
		if meta, ok := object["metadata"].(map[string]any); ok {
			delete(meta, "managedFields")
		}
	}
	for _, field := range []string{"requestKind", "requestResource", "userInfo", "options", "resource", "uid"} {
		delete(review.Request, field)
	}
	data, err := json.Marshal(map[string]any{"request": review.Request})
	if err != nil {
		return body
	}
	return string(data)
}

// excerpt is the beginning of a body, in one line.
func excerpt(body string) string {
	text := line(body)
	if utf8.RuneCountInString(text) <= evidenceLimit {
		return text
	}
	return string([]rune(text)[:evidenceLimit]) + fmt.Sprintf(" ... (%d bytes; report.json has all)", len(body))
}

// everyRule names all rules with what became of them.
func (p *printer) everyRule(r Report) {
	for _, result := range r.Results {
		mark, sgr := string(result.Outcome), sgrFaint
		switch result.Outcome {
		case Pass:
			sgr = sgrGreen
		case Fail, Error:
			sgr = sgrRed
		case Warn, KnownFail:
			sgr = sgrYellow
		case NotRun:
			if result.Cause == CauseInapplicable {
				mark = "n.a."
			}
		}
		row := p.paint(sgr, fmt.Sprintf("%-10s", mark)) + " " + line(ruleName(result))
		if why := cmp.Or(result.Reason, strings.Join(result.Notes, "; ")); why != "" && result.Outcome != Fail {
			row += p.paint(sgrFaint, "  "+line(why))
		}
		p.line(row)
	}
	p.line("")
}

// groups counts the rules by their group: the second word of their names, or the area of a table.
func (p *printer) groups(r Report) {
	counts := map[string]*CaseCounts{}
	inapplicable := map[string]int{}
	var names []string
	for _, result := range r.Results {
		name := result.Area
		if id := ruleName(result); strings.HasPrefix(id, webhookPrefix) {
			name, _, _ = strings.Cut(strings.TrimPrefix(id, webhookPrefix), ".")
			if !strings.Contains(strings.TrimPrefix(id, webhookPrefix), ".") {
				name = "requests"
			}
		}
		if counts[name] == nil {
			counts[name] = &CaseCounts{}
			names = append(names, name)
		}
		if result.Outcome == NotRun && result.Cause == CauseInapplicable {
			inapplicable[name]++
			continue
		}
		counts[name].add(result.Outcome)
	}
	width := len("rules")
	for _, name := range names {
		width = max(width, utf8.RuneCountInString(name))
	}
	columns := []struct {
		title, sgr string
		value      func(string) int
	}{
		{"pass", sgrGreen, func(n string) int { return counts[n].Pass }},
		{"warn", sgrYellow, func(n string) int { return counts[n].Warn }},
		{"fail", sgrRed, func(n string) int { return counts[n].Fail }},
		{"known", sgrYellow, func(n string) int { return counts[n].KnownFail }},
		{"error", sgrRed, func(n string) int { return counts[n].Error }},
		{"not-run", sgrYellow, func(n string) int { return counts[n].NotRun }},
		{"n.a.", sgrFaint, func(n string) int { return inapplicable[n] }},
	}
	head := fmt.Sprintf("%-*s", width, "rules")
	for _, c := range columns {
		head += "  " + c.title
	}
	p.line(p.paint(sgrBold, head))
	for _, name := range names {
		row := fmt.Sprintf("%-*s", width, line(name))
		for _, c := range columns {
			cell, sgr := fmt.Sprint(c.value(name)), c.sgr
			if cell == "0" {
				cell, sgr = ".", sgrFaint
			}
			row += "  " + p.paint(sgr, fmt.Sprintf("%*s", len(c.title), cell))
		}
		p.line(row)
	}
	p.line("")
}

// reasons says why rules were not looked at.
func (p *printer) reasons(r Report) {
	var reasons []string
	for _, result := range r.Results {
		if result.Outcome == NotRun && result.Cause != CauseInapplicable {
			reasons = append(reasons, strings.TrimPrefix(line(ruleName(result)), webhookPrefix)+": "+line(notRunReason(result)))
		}
	}
	for _, reason := range reasons {
		p.lines(0, text{{faint, "not run: " + reason}})
	}
	if len(reasons) > 0 {
		p.line("")
	}
}

// notes writes what is worth knowing and no judgement.
func (p *printer) notes(r Report) {
	for _, note := range r.Webhook.Notes {
		p.lines(0, text{{plain, "- " + line(note)}})
	}
	if len(r.Webhook.SetAside) > 0 {
		p.lines(0, text{{faint, "- set aside: " + line(strings.Join(r.Webhook.SetAside, ", "))}})
	}
	if len(r.Webhook.Notes)+len(r.Webhook.SetAside) > 0 {
		p.line("")
	}
}
