package reports

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/term"
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
		"text-policies.txt":       {policyRun(90), TextOptions{}},
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
			if strings.Contains(l, "POST") || strings.Contains(l, "ATTACHMENT") || strings.Contains(l, "run it again: ") {
				continue // values and commands are not broken
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

// TestTextPartial: a run of a part of the cases has no rows for the areas that it leaves out; a run of all has.
func TestTextPartial(t *testing.T) {
	other := sampleResult("more", 100, NotRun, "webhook.match.wildcard")
	other.Area = "webhook-contract"
	run := sampleRun(append(passing(), other)...)
	const idle = "1 area of which no case was run\n"
	for focus, want := range map[string]bool{"": false, "^rules/": true} {
		run.Selection.Focus = focus
		out := writeText(t, New(run), TextOptions{})
		if strings.Contains(out, idle) != want || strings.Contains(out, "\nwebhook-contract ") == want {
			t.Errorf("focus %q: got\n%s", focus, out)
		}
	}
}

// TestTextNotRun: reasons are counted, and the commonest comes first.
func TestTextNotRun(t *testing.T) {
	run := sampleRun(passing()...)
	for i, reason := range []string{"since 1.40", "target cannot: nodes", "target cannot: nodes", ""} {
		r := sampleResult(fmt.Sprintf("more-%d", i), 100+i, NotRun, "webhook.match.wildcard")
		r.Cause, r.Reason = CauseTarget, reason
		run.Results = append(run.Results, r)
	}
	run.Results[0].LeftOut = []string{"steps[1]: target cannot: audit", "steps[2]: target cannot: audit"}
	want := "not run: 2 cases: target cannot: nodes\nnot run: 1 case: since 1.40\nnot run: 1 case: target\nleft out: 2 steps: target cannot: audit\n\n"
	if out := writeText(t, New(run), TextOptions{}); !strings.Contains(out, want) {
		t.Errorf("got\n%s\nwithout\n%s", out, want)
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

// TestDescribe: what Ginkgo shows of a failing spec is what the summary shows.
func TestDescribe(t *testing.T) {
	r := badRun().Results[3]
	golden(t, "describe.txt", []byte(Describe(r)))
}

func TestTerminalOptionsOfTerminal(t *testing.T) {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	if !term.IsTerminal(int(f.Fd())) {
		t.Skip("/dev/ptmx is no terminal")
	}
	for name, tc := range map[string]struct {
		env   map[string]string
		color bool
	}{
		"a terminal":          {map[string]string{"TERM": "xterm"}, true},
		"NO_COLOR is set":     {map[string]string{"TERM": "xterm", "NO_COLOR": "0"}, false},
		"NO_COLOR is empty":   {map[string]string{"TERM": "xterm", "NO_COLOR": ""}, true},
		"a terminal of paper": {map[string]string{"TERM": "dumb"}, false},
	} {
		if got := TerminalOptions(f, func(name string) string { return tc.env[name] }); got.Color != tc.color {
			t.Errorf("%s: color is %t, want %t", name, got.Color, tc.color)
		}
	}
}
