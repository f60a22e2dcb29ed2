package reports

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
)

// heldOf says how many of the behaviours that apply held, and how many failed.
func heldOf(c BehaviorCounts) string {
	text := fmt.Sprintf("%d/%d", c.Held, c.Applicable())
	if c.Failed > 0 {
		text += fmt.Sprintf(", %d failed", c.Failed)
	}
	return text
}

// WriteMatrix writes a matrix for people at a terminal: the areas, then the behaviours on which the reports disagree.
func WriteMatrix(w io.Writer, m Matrix, o TextOptions) error {
	p := &printer{out: bufio.NewWriter(w), TextOptions: o}
	p.Width = cmp.Or(p.Width, 100)
	rows := [][]string{m.row("area", func(c MatrixColumn) string { return c.Title })}
	for _, a := range m.Areas {
		row := []string{line(a.ID)}
		for _, c := range a.Counts {
			row = append(row, heldOf(c.BehaviorCounts))
		}
		rows = append(rows, row)
	}
	rows = append(rows,
		m.row("total", func(c MatrixColumn) string { return heldOf(c.Report.Total.BehaviorCounts) }),
		m.row("verdict", func(c MatrixColumn) string { return string(c.Report.Verdict) }))
	p.grid(rows)
	differences := m.Differences()
	var t text
	t.add(plain, 0, "")
	if len(differences) == 0 {
		t.add(plain, 0, "the reports agree on every behavior")
	} else {
		t.add(plain, 0, "the reports disagree on %s:", plural(len(differences), "behavior", "behaviors"))
	}
	for _, b := range differences {
		t.add(plain, 2, "%s", line(b.ID))
		for i, cell := range b.Cells {
			t.add(cellStyle(cell.Verdict), 4, "%s: %s", m.Columns[i].Title, cellText(cell))
		}
	}
	p.lines(0, t)
	return p.out.Flush()
}

func (m Matrix) row(head string, cell func(MatrixColumn) string) []string {
	row := []string{head}
	for _, c := range m.Columns {
		row = append(row, cell(c))
	}
	return row
}

// grid writes rows of cells in columns.
func (p *printer) grid(rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell + strings.Repeat(" ", widths[i]-len([]rune(cell))+2))
		}
		p.line(b.String())
	}
}

func cellStyle(v BehaviorVerdict) style {
	switch v {
	case Held:
		return added
	case Failed:
		return removed
	default:
		return faint
	}
}

// cellText is a verdict and why.
func cellText(c MatrixCell) string {
	text := cmp.Or(string(c.Verdict), "not in its ledger")
	if c.Note != "" {
		text += ": " + c.Note
	}
	return text
}

// cellMark is a verdict in a sign and a word, so that it does not take colours to tell them apart.
func cellMark(v BehaviorVerdict) string {
	switch v {
	case Held:
		return "✓ held"
	case Failed:
		return "✗ failed"
	case Unproven:
		return "? unproven"
	case NotApplicable:
		return "– n.a."
	default:
		return "not there"
	}
}

// WriteMatrixMarkdown writes a matrix for a page or a comment: the areas, then the behaviours on which the reports
// disagree.
func WriteMatrixMarkdown(w io.Writer, m Matrix) error {
	var b strings.Builder
	row := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	head := func(first string) {
		row(m.row(first, func(c MatrixColumn) string { return mdText(c.Title) }))
		b.WriteString("|---" + strings.Repeat("|---", len(m.Columns)) + "|\n")
	}
	b.WriteString("## Conformance of admission\n\n")
	head("area")
	row(m.row("**verdict**", func(c MatrixColumn) string { return "**" + string(c.Report.Verdict) + "**" }))
	for _, a := range m.Areas {
		cells := []string{mdText(cmp.Or(a.Title, a.ID))}
		for _, c := range a.Counts {
			cells = append(cells, heldOf(c.BehaviorCounts))
		}
		row(cells)
	}
	row(m.row("**total**", func(c MatrixColumn) string { return "**" + heldOf(c.Report.Total.BehaviorCounts) + "**" }))
	b.WriteString("\nHeld of those behaviors that apply.\n\n")
	differences := m.Differences()
	if len(differences) == 0 {
		b.WriteString("The reports agree on every behavior.\n")
	} else {
		fmt.Fprintf(&b, "### The reports disagree on %s\n\n", plural(len(differences), "behavior", "behaviors"))
		head("behavior")
	}
	for i, d := range differences {
		if b.Len() > mdLimit {
			fmt.Fprintf(&b, "\nand %d more\n", len(differences)-i)
			break
		}
		cells := []string{mdCode(d.ID)}
		for _, c := range d.Cells {
			cell := cellMark(c.Verdict)
			if c.Note != "" && c.Verdict != Held {
				cell += ": " + mdText(cut(c.Note, mdLine))
			}
			cells = append(cells, cell)
		}
		row(cells)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

//go:embed matrix.tmpl
var matrixPage string

// WriteMatrixHTML writes a matrix as one page that needs neither network nor script: the areas, the behaviours on which
// the reports disagree, and all others folded by area.
func WriteMatrixHTML(w io.Writer, m Matrix) error {
	page, err := template.New("matrix").Funcs(template.FuncMap{
		"held": heldOf, "mark": cellMark, "clean": line,
		"class": func(v BehaviorVerdict) string { return cmp.Or(string(v), "absent") },
		"bad":   func(v Verdict) bool { return v.ExitStatus() != 0 },
	}).Parse(matrixPage)
	if err != nil {
		return fmt.Errorf("the page of the matrix: %w", err)
	}
	var out bytes.Buffer
	if err := page.Execute(&out, m); err != nil {
		return fmt.Errorf("the page of the matrix: %w", err)
	}
	_, err = w.Write(out.Bytes())
	return err
}
