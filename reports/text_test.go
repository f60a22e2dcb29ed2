package reports

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func writeText(t *testing.T, r Report, o TextOptions) string {
	t.Helper()
	var out bytes.Buffer
	if err := WriteText(&out, r, o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTextGolden(t *testing.T) {
	for name, tc := range map[string]struct {
		run     Run
		options TextOptions
	}{
		"text-not-conformant.txt": {badRun(), TextOptions{}},
		"text-narrow.txt":         {badRun(), TextOptions{Width: 60}},
		"text-color.txt":          {badRun(), TextOptions{Color: true}},
		"text-conformant.txt":     {sampleRun(passing()...), TextOptions{}},
		"text-nothing.txt":        {sampleRun(), TextOptions{}},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name, []byte(writeText(t, New(tc.run), tc.options)))
		})
	}
}

// TestTextWidth: prose and the table keep to the width where words allow it; the table needs 80 columns.
func TestTextWidth(t *testing.T) {
	run := badRun()
	for i := range 30 {
		run.Results = append(run.Results, sampleResult(fmt.Sprintf("more-%d", i), 100+i, NotRun))
		run.Results[len(run.Results)-1].Reason = strings.Repeat("many words ", i)
	}
	for _, width := range []int{80, 100, 132} {
		for l := range strings.Lines(writeText(t, New(run), TextOptions{Width: width})) {
			l = strings.TrimRight(l, "\n")
			if strings.Contains(l, "POST") || strings.Contains(l, "ATTACHMENT") {
				continue // values are not broken
			}
			if n := utf8.RuneCountInString(l); n > width {
				t.Errorf("at width %d, %d columns: %s", width, n, l)
			}
		}
	}
}

// TestTextNoColor: without colours there is no escape sequence, and with them the same text.
func TestTextNoColor(t *testing.T) {
	r := New(badRun())
	without := writeText(t, r, TextOptions{})
	if strings.Contains(without, "\x1b") {
		t.Error("an escape sequence without colours")
	}
	with := writeText(t, r, TextOptions{Color: true})
	for _, code := range []string{"1;31", "1;32", "1", "2", "31", "32", "33", "0"} {
		with = strings.ReplaceAll(with, "\x1b["+code+"m", "")
	}
	if with != without {
		t.Errorf("colours change the text:\n%q\n%q", with, without)
	}
}

// TestTextManyFailures: a run in which everything fails does not flood the terminal, but names every case.
func TestTextManyFailures(t *testing.T) {
	run := sampleRun()
	for i := range 500 {
		r := sampleResult(fmt.Sprintf("case-%03d", i), 10+i, Fail, "webhook.match.operations.create")
		r.Failures = []Failure{{Step: "steps[0]", Path: "expect.code", Message: "code differs", Expected: "200", Actual: "500"}}
		run.Results = append(run.Results, r)
	}
	out := writeText(t, New(run), TextOptions{})
	if got := strings.Count(out, "expected: 200"); got != detailLimit {
		t.Errorf("%d cases at length, want %d", got, detailLimit)
	}
	if got := strings.Count(out, "FAIL "); got != 500 {
		t.Errorf("%d cases named, want 500", got)
	}
	if !strings.HasSuffix(out, "verdict: not conformant\n") {
		t.Error("the verdict is not the last line")
	}
}

func TestTextHugeValues(t *testing.T) {
	run := sampleRun(sampleResult("create", 12, Fail, "webhook.match.operations.create"))
	run.Results[0].Failures = []Failure{{Message: "differs", Expected: strings.Repeat("a\n", 100000), Actual: strings.Repeat("b\n", 100000)}}
	if out := writeText(t, New(run), TextOptions{}); strings.Count(out, "\n") > 3*diffLimit || !strings.Contains(out, "... 99500 more lines") {
		t.Errorf("%d lines", strings.Count(out, "\n"))
	}
}

func TestWriteTextError(t *testing.T) {
	if err := WriteText(brokenWriter{}, New(badRun()), TextOptions{}); err == nil {
		t.Error("a writer's error is lost")
	}
}

func TestTerminalOptions(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	env := func(pairs map[string]string) func(string) string {
		return func(name string) string { return pairs[name] }
	}
	for name, tc := range map[string]struct {
		env  map[string]string
		want TextOptions
	}{
		"a file":            {nil, TextOptions{}},
		"a width":           {map[string]string{"COLUMNS": "72"}, TextOptions{Width: 72}},
		"a width of no use": {map[string]string{"COLUMNS": "wide"}, TextOptions{}},
		"a negative width":  {map[string]string{"COLUMNS": "-1"}, TextOptions{}},
	} {
		if got := TerminalOptions(f, env(tc.env)); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tc.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, tc := range []struct {
		in    string
		width int
		want  string
	}{
		{"one two three", 100, "one two three"},
		{"aaaaaaaaaa bbbbbbbbbb cccccccccc", 21, "aaaaaaaaaa bbbbbbbbbb|  cccccccccc"},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b", 21, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|  b"},
		{"", 21, ""},
	} {
		if got := strings.Join(wrap(tc.in, tc.width), "|"); got != tc.want {
			t.Errorf("%q at %d: got %q, want %q", tc.in, tc.width, got, tc.want)
		}
	}
}

func TestDifference(t *testing.T) {
	for name, tc := range map[string]struct{ expected, actual, want string }{
		"nothing":         {"", "", ""},
		"short values":    {"200", "500", "  expected: 200\n  actual:   500\n"},
		"only expected":   {"a\nb\n", "", "  expected:\n    a\n    b\n"},
		"only actual":     {"", "a", "  actual:   a\n"},
		"a line is gone":  {"a: 1\nb: 2\n", "b: 2\n", "  expected (-), actual (+):\n  - a: 1\n    b: 2\n"},
		"a line is other": {"a: 1\nb: 2\n", "a: 1\nb: 3\n", "  expected (-), actual (+):\n    a: 1\n  - b: 2\n  + b: 3\n"},
		"far apart": {
			"a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
			"  expected (-), actual (+):\n  - a\n  + A\n    1\n    2\n    3\n    ...\n    5\n    6\n    7\n  - b\n  + B\n",
		},
		"equal values": {"a\nb", "a\nb", "  expected (-), actual (+):\n"},
	} {
		if got := difference(tc.expected, tc.actual).String(); got != tc.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, tc.want)
		}
	}
}
