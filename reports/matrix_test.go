package reports

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNewMatrix(t *testing.T) {
	before, after := changedRuns()
	m, err := NewMatrix(before, after)
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, c := range m.Columns {
		titles = append(titles, c.Title)
	}
	if diff := cmp.Diff([]string{"envtest v1.37.2", "envtest v1.38.0"}, titles); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	got := map[string]string{}
	for _, a := range m.Areas {
		for _, b := range a.Behaviors {
			got[b.ID] = cellText(b.Cells[0]) + " | " + cellText(b.Cells[1])
		}
	}
	const failed = "label `first` is <missing> | *gone*"
	want := map[string]string{
		"webhook.breaks":   "held | failed: matching-rules/operations/breaks: " + failed,
		"webhook.worse":    "failed: matching-rules/operations/worse: " + failed + " | failed: matching-rules/operations/alike: " + failed + "; and 1 other case",
		"webhook.mended":   "failed: matching-rules/operations/mended: " + failed + " | held",
		"webhook.slow":     "held | held",
		"webhook.left":     "held | unproven: hooks: the target cannot",
		"webhook.gone":     "held | not in its ledger",
		"webhook.new":      "not in its ledger | failed: matching-rules/operations/new: " + failed,
		"webhook.taken-up": "unproven: hooks: the target cannot | held",
		"webhook.same":     "held | held",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
	if n := len(m.Differences()); n != 6 {
		t.Errorf("%d differences, want 6", n)
	}
	if _, err := NewMatrix(); err == nil {
		t.Error("a matrix of nothing")
	}
}

// TestMatrixMoves: a behaviour that has moved to another area stands once, in the first.
func TestMatrixMoves(t *testing.T) {
	before, _ := changedRuns()
	moved, after := sampleRun(passing()...), Part{}
	moved.Ledger.Behaviors[0].Area, moved.Ledger.Behaviors[0].ID = "invocation-order", before.Report.Behaviors[0].ID
	moved.Results = moved.Results[2:]
	after = Part{"b", New(moved)}
	m, err := NewMatrix(before, after)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, a := range m.Areas {
		for _, b := range a.Behaviors {
			if b.ID == before.Report.Behaviors[0].ID {
				count++
			}
		}
	}
	if count != 1 {
		t.Errorf("it stands %d times", count)
	}
}

func TestMatrixTitles(t *testing.T) {
	before, _ := changedRuns()
	again := before
	again.Name = "out/c/report.json"
	m, err := NewMatrix(before, again)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"envtest v1.37.2 (out/a/report.json)", "envtest v1.37.2 (out/c/report.json)"} {
		if got := m.Columns[i].Title; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestMatrixGolden(t *testing.T) {
	before, after := changedRuns()
	m, err := NewMatrix(before, after)
	if err != nil {
		t.Fatal(err)
	}
	var text, md, html bytes.Buffer
	if err := WriteMatrix(&text, m, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := WriteMatrixMarkdown(&md, m); err != nil {
		t.Fatal(err)
	}
	if err := WriteMatrixHTML(&html, m); err != nil {
		t.Fatal(err)
	}
	golden(t, "matrix.txt", text.Bytes())
	golden(t, "matrix.md", md.Bytes())
	golden(t, "matrix.html", html.Bytes())
}

// TestMatrixHTMLIsSelfContained: the page asks for nothing, runs nothing, and shows what servers said as text.
func TestMatrixHTMLIsSelfContained(t *testing.T) {
	hostile := hostileRun()
	hostile.Results[1].Failures[0].Message = `<script>alert(1)</script> <img src=x onerror=y>`
	m, err := NewMatrix(Part{"<b>", New(hostile)}, Part{"b", New(hostile)})
	if err != nil {
		t.Fatal(err)
	}
	var html bytes.Buffer
	if err := WriteMatrixHTML(&html, m); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "<img", "<b>", "http://", "https://", "url(", "@import", "\x00", "ZgotmplZ"} {
		if strings.Contains(html.String(), bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, want := range []string{"&lt;script&gt;alert(1)", `lang="en"`, `name="viewport"`, "prefers-color-scheme: dark", "<caption>", `scope="row"`, `scope="col"`} {
		if !strings.Contains(html.String(), want) {
			t.Errorf("the page has no %q", want)
		}
	}
}
