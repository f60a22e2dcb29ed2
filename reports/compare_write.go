package reports

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
)

const (
	// shownChanges is the number of changes of a kind that are told of at length; those after them are counted.
	shownChanges = 50
	// mdLimit is the number of bytes of Markdown after which what follows is only counted: a comment on a pull request
	// takes 65,536 characters.
	mdLimit = 50_000
	// mdLine is the number of bytes of a statement or message that are shown in Markdown.
	mdLine = 160
)

// WriteComparison writes a comparison for people at a terminal.
func WriteComparison(w io.Writer, c Comparison, o TextOptions) error {
	o.Width = cmp.Or(o.Width, 100)
	p := &printer{out: bufio.NewWriter(w), TextOptions: o}
	var t text
	t.add(plain, 0, "before: %s", partLine(c.Before))
	t.add(plain, 0, "after:  %s", partLine(c.After))
	for _, kind := range ChangeKind("").Values() {
		changes := c.Of(ChangeKind(kind))
		if len(changes) == 0 {
			continue
		}
		t.add(plain, 0, "")
		t.add(kindStyle(ChangeKind(kind)), 0, "%s: %s", kind, plural(len(changes), "behavior", "behaviors"))
		for i, change := range changes {
			if i == shownChanges {
				t.add(faint, 2, "and %d more", len(changes)-i)
				break
			}
			t.add(plain, 2, "%s (%s)", line(change.Behavior.ID), verdictsLine(change))
			t.add(faint, 4, "%s", line(change.Behavior.Statement))
			for _, note := range change.Notes {
				t.add(plain, 4, "%s", line(note))
			}
		}
	}
	t.add(plain, 0, "\n%s", c.sameLine())
	p.lines(0, t)
	return p.out.Flush()
}

func kindStyle(kind ChangeKind) style {
	switch kind {
	case ChangeBroken, ChangeWorse:
		return bad
	case ChangeFixed, ChangeRun:
		return good
	default:
		return wrong
	}
}

func partLine(p Part) string {
	return fmt.Sprintf("%s: %s, %s", p.Name, serverName(p.Report.Target), p.Report.Verdict)
}

// serverName is a target and its version.
func serverName(t TargetInfo) string { return line(t.Name + " " + t.Version) }

// verdictsLine says how the verdict changed.
func verdictsLine(c Change) string {
	switch {
	case c.Before == "" || c.Before == c.After:
		return string(c.After)
	case c.After == "":
		return "was " + string(c.Before)
	default:
		return fmt.Sprintf("%s, was %s", c.After, c.Before)
	}
}

func (c Comparison) sameLine() string {
	if len(c.Changes) == 0 && c.Same != 1 {
		return fmt.Sprintf("all %s are as they were", plural(c.Same, "behavior", "behaviors"))
	}
	return plural(c.Same, "behavior is as it was", "behaviors are as they were")
}

// WriteComparisonMarkdown writes a comparison for a comment on a pull request.
func WriteComparisonMarkdown(w io.Writer, c Comparison) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## Gatehouse: %s\n\n", c.headline())
	fmt.Fprintf(&b, "| | report | server | verdict |\n|---|---|---|---|\n")
	for _, side := range []struct {
		name string
		part Part
	}{{"before", c.Before}, {"after", c.After}} {
		fmt.Fprintf(&b, "| %s | %s | %s | **%s** |\n", side.name, mdCode(side.part.Name), mdText(serverName(side.part.Report.Target)), side.part.Report.Verdict)
	}
	for _, kind := range ChangeKind("").Values() {
		changes := c.Of(ChangeKind(kind))
		if len(changes) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n### %s: %d\n\n", kind, len(changes))
		for i, change := range changes {
			if i == shownChanges || b.Len() > mdLimit {
				fmt.Fprintf(&b, "- and %d more\n", len(changes)-i)
				break
			}
			fmt.Fprintf(&b, "- %s (%s): %s\n", mdCode(change.Behavior.ID), verdictsLine(change), mdText(cut(line(change.Behavior.Statement), mdLine)))
			for j, note := range change.Notes {
				if j == namedCases {
					fmt.Fprintf(&b, "  - and %d more\n", len(change.Notes)-j)
					break
				}
				fmt.Fprintf(&b, "  - %s\n", mdText(cut(line(note), mdLine)))
			}
		}
	}
	fmt.Fprintf(&b, "\n%s\n", c.sameLine())
	_, err := io.WriteString(w, b.String())
	return err
}

// headline counts the changes by kind.
func (c Comparison) headline() string {
	var parts []string
	for _, kind := range ChangeKind("").Values() {
		if n := len(c.Of(ChangeKind(kind))); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	if len(parts) == 0 {
		return "nothing changed"
	}
	return strings.Join(parts, ", ")
}

// mdText returns text whose characters mean nothing to readers of Markdown.
func mdText(s string) string { return mdEscapes.Replace(line(s)) }

var mdEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "|", `\|`, "#", `\#`, "~", `\~`, "@", "&#64;",
)

// mdCode returns text as a code span of Markdown, also within a table.
func mdCode(s string) string {
	return "`" + strings.NewReplacer("`", "'", "|", `\|`).Replace(line(s)) + "`"
}
