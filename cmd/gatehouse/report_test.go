package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
)

// shardReports writes the report.json of a whole run of two cases and of its two shards, and returns their paths.
func shardReports(t *testing.T, outcomes ...reports.Outcome) (whole string, shards []string) {
	t.Helper()
	dir := t.TempDir()
	ledger := &fixtures.Ledger{Areas: []fixtures.Area{{ID: "area", Title: "Area"}}}
	run := reports.Run{Target: reports.TargetInfo{Name: "fakeapi", Version: "v1.37.2"}, Start: time.Unix(0, 0), End: time.Unix(60, 0)}
	for i, o := range outcomes {
		id := string(rune('a' + i))
		ledger.Behaviors = append(ledger.Behaviors, fixtures.Behavior{
			ID: "webhook." + id, Area: "area", Statement: "It is so.", Level: fixtures.Must, Kind: fixtures.Documented, Sources: []string{"x"}, API: []string{"v1"},
		})
		run.Results = append(run.Results, reports.Result{
			ID: "area/file/" + id, Area: "area", Behaviors: []string{"webhook." + id}, File: "fixtures/area/file.yaml", Line: i + 1, Outcome: o, Start: time.Unix(int64(i), 0),
		})
	}
	run.Ledger = ledger
	write := func(name string, run reports.Run) string {
		path := filepath.Join(dir, name)
		if err := (reports.Files{JSON: path}).Write(reports.New(run)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole = write("whole.json", run)
	for i, r := range run.Results {
		part := run
		part.Results = []reports.Result{r}
		part.Selection.Shard = reports.Shard{Index: i + 1, Count: len(run.Results)}.String()
		shards = append(shards, write(r.ID[len(r.ID)-1:]+".json", part))
	}
	return whole, shards
}

func runReport(args ...string) (status int, stdout string, err error) {
	var out bytes.Buffer
	command := reportCommand()
	command.SetArgs(args)
	command.SetOut(&out)
	command.SetErr(&out)
	command.SilenceErrors, command.SilenceUsage = true, true
	err = command.Execute()
	var exit exitError
	if errors.As(err, &exit) {
		status = exit.code
	}
	return status, out.String(), err
}

func TestReport(t *testing.T) {
	for name, tc := range map[string]struct {
		outcomes []reports.Outcome
		status   int
		verdict  string
	}{
		"conformant":     {[]reports.Outcome{reports.Pass, reports.Pass}, 0, "verdict: conformant\n"},
		"not conformant": {[]reports.Outcome{reports.Pass, reports.Fail}, 1, "verdict: not conformant\n"},
		"error":          {[]reports.Outcome{reports.Pass, reports.Error}, 3, "verdict: error\n"},
	} {
		t.Run(name, func(t *testing.T) {
			whole, shards := shardReports(t, tc.outcomes...)
			dir := t.TempDir()
			var written []string
			for run, from := range [][]string{{"--from", whole}, {"--from", shards[0], "--from", shards[1]}, {"--from", shards[1], shards[0]}} {
				json, junit := filepath.Join(dir, "report.json"), filepath.Join(dir, "junit.xml")
				status, stdout, err := runReport(append(from, "--json", json, "--junit", junit)...)
				if status != tc.status {
					t.Errorf("%v: exit status %d (%v), want %d", from, status, err, tc.status)
				}
				if !strings.HasSuffix(stdout, tc.verdict) {
					t.Errorf("%v: the output ends not with %q but is\n%s", from, tc.verdict, stdout)
				}
				written = append(written, stdout+readFile(t, json)+readFile(t, junit))
				if diff := cmp.Diff(written[0], written[run]); diff != "" {
					t.Errorf("%v: the shards give another report than the whole (-whole +shards):\n%s", from, diff)
				}
			}
			if got, want := readFile(t, filepath.Join(dir, "report.json")), readFile(t, whole); got != want {
				t.Errorf("report.json is not the same again (-want +got):\n%s", cmp.Diff(want, got))
			}
		})
	}
}

// Reports of runs that are not shards of one are shown side by side, and the worst decides.
func TestReportSideBySide(t *testing.T) {
	good, _ := shardReports(t, reports.Pass, reports.Pass)
	inError, _ := shardReports(t, reports.Pass, reports.Error)
	bad, _ := shardReports(t, reports.Pass, reports.Fail)
	page, summary := filepath.Join(t.TempDir(), "report.html"), filepath.Join(t.TempDir(), "report.md")
	for _, tc := range []struct {
		from   []string
		status int
	}{
		{[]string{good, good}, 0},
		{[]string{good, inError}, exitEnvironment},
		{[]string{inError, bad, good}, exitNotConformant},
	} {
		status, stdout, err := runReport(append([]string{"--html", page, "--markdown", summary, "--from"}, tc.from...)...)
		if status != tc.status {
			t.Errorf("%d runs: exit status %d (%v), want %d", len(tc.from), status, err, tc.status)
		}
		if got := strings.Count(stdout, "verdict: "); got != len(tc.from) {
			t.Errorf("%d runs: %d verdicts are shown", len(tc.from), got)
		}
		last := fmt.Sprintf("fakeapi v1.37.2 (%d)", len(tc.from))
		for _, file := range []string{page, summary} {
			if !strings.Contains(readFile(t, file), last) {
				t.Errorf("%d runs: %s does not show %q", len(tc.from), file, last)
			}
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestReportErrors(t *testing.T) {
	whole, shards := shardReports(t, reports.Pass, reports.Pass)
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.json")
	if err := os.WriteFile(broken, []byte(`{"schemaVersion": 1,`), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args   []string
		status int
		want   string
	}{
		"no input":              {nil, exitUsage, "--from: name the report.json of a run, or those of its shards"},
		"a file that is not":    {[]string{"--from", "gone.json"}, exitUsage, "gone.json: no such file"},
		"a file that was cut":   {[]string{"--from", broken}, exitUsage, broken + ": line 1, column 20: unexpected end of JSON input"},
		"reports of two runs":   {[]string{"--from", whole, shards[0]}, exitUsage, whole + " is a whole run and cannot be merged with others"},
		"two runs in one file":  {[]string{"--junit", "x.xml", "--from", whole, whole}, exitUsage, "--junit, --json and --times hold one run, and these are 2"},
		"a file that cannot be": {[]string{"--from", whole, "--junit", dir}, exitEnvironment, "writing " + dir},
		"a flag that is not":    {[]string{"--form", whole}, 0, "unknown flag: --form"},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, err := runReport(tc.args...)
			if status != tc.status || err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v with exit status %d, want %s with %d", err, status, tc.want, tc.status)
			}
		})
	}
}

func TestReportDiff(t *testing.T) {
	good, _ := shardReports(t, reports.Pass, reports.Pass)
	bad, _ := shardReports(t, reports.Pass, reports.Fail)
	dir := t.TempDir()
	md := filepath.Join(dir, "diff.md")
	for name, tc := range map[string]struct {
		args   []string
		status int
		want   string
	}{
		"the same":              {[]string{good, good}, 0, "all 2 behaviors are as they were"},
		"broken":                {[]string{good, bad, "--markdown", md}, exitNotConformant, "broken: 1 behavior"},
		"fixed":                 {[]string{bad, good}, 0, "fixed: 1 behavior"},
		"one report":            {[]string{good}, exitUsage, "name two reports, BEFORE and AFTER, and not 1"},
		"a directory without":   {[]string{good, dir}, exitUsage, filepath.Join(dir, "report.json") + ": no such file"},
		"a file that cannot be": {[]string{good, good, "--markdown", dir}, exitEnvironment, "writing " + dir},
	} {
		t.Run(name, func(t *testing.T) {
			status, stdout, err := runReport(append([]string{"diff"}, tc.args...)...)
			said := stdout
			if err != nil {
				said += err.Error()
			}
			if status != tc.status || !strings.Contains(said, tc.want) {
				t.Errorf("exit status %d, said %s; want %d and %s", status, said, tc.status, tc.want)
			}
		})
	}
	if got := readFile(t, md); !strings.Contains(got, "## Gatehouse: 1 broken") {
		t.Errorf("the Markdown is %s", got)
	}
}

func TestReportMatrix(t *testing.T) {
	good, _ := shardReports(t, reports.Pass, reports.Pass)
	bad, _ := shardReports(t, reports.Pass, reports.Fail)
	dir := t.TempDir()
	html, md := filepath.Join(dir, "matrix.html"), filepath.Join(dir, "matrix.md")
	status, stdout, err := runReport("matrix", "--from", good, filepath.Dir(good)+"/whole.json", bad, "--html", html, "--markdown", md)
	if err != nil || status != 0 {
		t.Fatal(status, err)
	}
	if !strings.Contains(stdout, "the reports disagree on 1 behavior") {
		t.Errorf("said %s", stdout)
	}
	for _, name := range []string{html, md} {
		if got := readFile(t, name); strings.Count(got, "fakeapi v1.37.2") < 3 || !strings.Contains(got, "webhook.b") {
			t.Errorf("%s: %s", name, got)
		}
	}
	for name, tc := range map[string]struct {
		args   []string
		status int
	}{
		"nothing":               {nil, exitUsage},
		"a file that is not":    {[]string{"--from", "gone.json"}, exitUsage},
		"a file that cannot be": {[]string{"--from", good, "--html", dir}, exitEnvironment},
	} {
		if status, _, err := runReport(append([]string{"matrix"}, tc.args...)...); status != tc.status {
			t.Errorf("%s: exit status %d, %v; want %d", name, status, err, tc.status)
		}
	}
}

func TestReportTimes(t *testing.T) {
	whole, _ := shardReports(t, reports.Pass, reports.Pass)
	file := filepath.Join(t.TempDir(), "times.json")
	if status, _, err := runReport("--from", whole, "--times", file); status != 0 {
		t.Fatal(err)
	}
	if _, err := reports.ReadTimes(file, []byte(readFile(t, file))); err != nil {
		t.Error(err)
	}
}
