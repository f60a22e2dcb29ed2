package reports

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// MarkdownLimit is the length in bytes that WriteMarkdown stays under. Comments and job summaries of code hosts take
// about so much.
const MarkdownLimit = 60_000

// markdownFence is longer than any fence in what it holds: fences in values are broken.
const markdownFence = "```"

// WriteMarkdown writes one or several reports, such as those of several targets side by side, as Markdown for a pull
// request or a job's summary: the verdicts, the cases that did not pass, and the counts by area. It is shorter than
// MarkdownLimit however many cases there are: what is left out is said.
func WriteMarkdown(w io.Writer, all ...Report) error {
	if len(all) == 0 {
		return fmt.Errorf("no report to write as Markdown")
	}
	names := runNames(all)
	var head strings.Builder
	head.WriteString("## Gatehouse conformance\n\n")
	for i, r := range all {
		fmt.Fprintf(&head, "%s **%s**: %s. %s.\n", markdownMark(r), markdownText(names[i]), r.Verdict, executedLine(r))
		for _, reason := range r.Reasons {
			fmt.Fprintf(&head, "- %s\n", markdownText(cut(line(reason), 500)))
		}
		head.WriteString("\n")
	}
	table := markdownTable(all, names)
	body := markdownProblems(all, names, MarkdownLimit-head.Len()-len(table))
	_, err := io.WriteString(w, head.String()+body+table)
	return err
}

func markdownMark(r Report) string {
	switch verdictMark(r.Verdict) {
	case "good":
		return "✅"
	case "soft":
		return "⚠️"
	default:
		return "❌"
	}
}

// markdownText is text on one line in which nothing is markup.
func markdownText(s string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "|", `\|`, "<", "&lt;", "[", `\[`, "]", `\]`, "#", `\#`, "@", "&#64;").Replace(line(s))
}

// markdownCode is text on one line that is shown as it is.
func markdownCode(s string) string { return "`" + strings.ReplaceAll(line(s), "`", "'") + "`" }

// markdownTable has a row for each area with cases.
func markdownTable(all []Report, names []string) string {
	var b strings.Builder
	b.WriteString("### Areas\n\n| area |")
	for _, name := range names {
		fmt.Fprintf(&b, " %s: cases passed | behaviors held |", markdownText(name))
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|---:|", len(all)) + "\n")
	rows, total := matrix(all)
	for _, row := range append(rows, total) {
		if !slices.ContainsFunc(row.Cells, func(c areaCell) bool { return c.Cases != noCases }) {
			continue
		}
		fmt.Fprintf(&b, "| %s |", markdownText(row.Title))
		for _, c := range row.Cells {
			cases := c.Cases
			if c.Others != "" {
				cases += " (" + c.Others + ")"
			}
			fmt.Fprintf(&b, " %s | %s |", cases, c.Behaviors)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// markdownProblems describes the cases that did not pass in at most so many bytes.
func markdownProblems(all []Report, names []string, limit int) string {
	var entries []string
	for i, r := range all {
		for _, o := range []Outcome{Fail, Error, KnownFail} {
			for _, result := range r.Results {
				if result.Outcome == o {
					entries = append(entries, markdownProblem(r, result, names[i], len(all) > 1))
				}
			}
		}
	}
	if len(entries) == 0 {
		return ""
	}
	const reserve = 200 // for the title and the line that says what was left out
	b := "### Cases that did not pass\n\n"
	for i, entry := range entries {
		if len(b)+len(entry)+reserve > limit {
			return b + fmt.Sprintf("%s not shown here.\n\n", plural(len(entries)-i, "more case is", "more cases are"))
		}
		b += entry
	}
	return b
}

// markdownValueLimit is the length in bytes up to which an expected or actual value is shown.
const markdownValueLimit = 1500

func markdownProblem(r Report, result Result, name string, several bool) string {
	var b strings.Builder
	where := ""
	if several {
		where = " on " + markdownText(name)
	}
	fmt.Fprintf(&b, "<details><summary><b>%s</b>%s: <code>%s</code></summary>\n\n", result.Outcome, where, markdownHTML(result.ID))
	fmt.Fprintf(&b, "%s\n\n", markdownCode(place(result.File, result.Line)))
	statements := r.statements()
	for _, id := range result.Behaviors {
		fmt.Fprintf(&b, "- %s %s\n", markdownCode(id), markdownText(statements[id]))
	}
	if result.Reason != "" {
		fmt.Fprintf(&b, "- %s\n", markdownText(result.Reason))
	}
	for _, f := range result.Failures {
		path := strings.Trim(f.Step+"."+f.Path, ".")
		fmt.Fprintf(&b, "\n%s: %s\n", markdownCode(cmp.Or(path, "case")), markdownText(cut(line(f.Message), markdownValueLimit)))
		if diff := difference(cut(f.Expected, markdownValueLimit), cut(f.Actual, markdownValueLimit)); len(diff) > 0 {
			fmt.Fprintf(&b, "\n%sdiff\n%s%s\n", markdownFence, diffMarks(diff), markdownFence)
		}
	}
	fmt.Fprintf(&b, "\n%s\n\n</details>\n\n", markdownCode(runAgain(r, result)))
	return b.String()
}

func markdownHTML(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(line(s))
}

// diffMarks sets the signs of a difference at the beginning of its lines, where Markdown's colours look for them.
func diffMarks(t text) string {
	var b strings.Builder
	for _, l := range t {
		s := strings.ReplaceAll(strings.TrimPrefix(l.text, "  "), markdownFence, "'''")
		switch l.style {
		case removed:
			s = "- " + strings.TrimPrefix(s, "- ")
		case added:
			s = "+ " + strings.TrimPrefix(s, "+ ")
		}
		b.WriteString(strings.TrimRight(s, " ") + "\n")
	}
	return b.String()
}
