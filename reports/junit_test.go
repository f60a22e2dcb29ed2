package reports

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func junit(t *testing.T, r Report) (*node, []byte) {
	t.Helper()
	return junitOf(t, r, JUnitOptions{})
}

func junitOf(t *testing.T, r Report, o JUnitOptions) (*node, []byte) {
	t.Helper()
	var out bytes.Buffer
	if err := WriteJUnit(&out, r, o); err != nil {
		t.Fatal(err)
	}
	root, err := parseXML(out.Bytes())
	if err != nil {
		t.Fatalf("not well-formed: %v\n%s", err, out.Bytes())
	}
	return root, out.Bytes()
}

func TestJUnitGolden(t *testing.T) {
	_, data := junit(t, New(badRun()))
	golden(t, "junit.xml", data)
}

// hostileRun has results that no honest runner makes, but a report of them must be readable too.
func hostileRun() Run {
	odd := Result{ID: "verdict", Area: "", Outcome: "flaky", File: "x", Duration: -time.Second}
	twice := sampleResult("create", 12, Fail, "webhook.match.operations.create")
	twice.Failures = []Failure{{Message: "\x00\x1b[2J\r\n\ufffe\xff<![CDATA[ ]]> &amp; \u2028", Expected: "\r\r\n\x7f\u0085", Actual: "[[ATTACHMENT|/etc/passwd]]"}}
	twice.Transcript = []Step{{Step: "steps[0]", Request: "GET /\xff", Answer: strings.Repeat("é\x00", 50000) + "[[ATTACHMENT|/etc/shadow]]"}}
	long := sampleResult(strings.Repeat("very-", 60)+"long", 3, NotRun, strings.Repeat("webhook.", 40)+"long")
	nameless := Result{Area: "matching-rules", Outcome: Error, Duration: -time.Second, Failures: []Failure{{Message: strings.Repeat("ü", 200)}}}
	dotty := Result{ID: "../a b//c.d/x", Area: "zoo\x00", Outcome: KnownFail, Reason: "\n\n"}
	return sampleRun(odd, twice, twice, long, nameless, dotty)
}

func junitRuns() map[string]Run {
	interrupted := sampleRun(passing()...)
	interrupted.Interrupted = "signal: interrupt"
	partial := sampleRun(passing()...)
	partial.Selection = Selection{Focus: "a|b", Labels: "!slow", Shard: "1/2"}
	return map[string]Run{
		"conformant": sampleRun(passing()...), "not conformant": badRun(), "nothing": sampleRun(), "interrupted": interrupted,
		"partial": partial, "hostile": hostileRun(), "zero": {Ledger: sampleLedger()},
		"policy tests": policyRun(90),
	}
}

func TestJUnitDialect(t *testing.T) {
	schema := loadXSD(t, "testdata/junit.xsd")
	for name, run := range junitRuns() {
		t.Run(name, func(t *testing.T) {
			root, data := junit(t, New(run))
			for _, fault := range schema.validate(root, "") {
				t.Error(fault)
			}
			for i, r := range string(data) {
				if r < ' ' && r != '\n' && r != '\t' || 0x7f <= r && r < 0xa0 {
					t.Errorf("control character %U at %d", r, i)
				}
			}
			if strings.Contains(string(data), "&#x") && strings.Contains(string(data), "&#x1B") {
				t.Error("a control character by reference")
			}
		})
	}
}

// TestJUnitCounts: the counts of every suite and of the whole agree with the elements, and times are sums.
func TestJUnitCounts(t *testing.T) {
	for name, run := range junitRuns() {
		t.Run(name, func(t *testing.T) {
			root, _ := junit(t, New(run))
			whole := map[string]int{}
			for _, suite := range root.all("testsuite") {
				got := map[string]int{}
				sum := 0.0
				for _, c := range suite.all("testcase") {
					got["tests"]++
					for element, count := range map[string]string{"failure": "failures", "error": "errors", "skipped": "skipped"} {
						got[count] += len(c.all(element))
					}
					seconds, _ := strconv.ParseFloat(c.attrs["time"], 64)
					sum += seconds
				}
				for _, count := range []string{"tests", "failures", "errors", "skipped"} {
					if suite.attrs[count] != strconv.Itoa(got[count]) {
						t.Errorf("suite %s: %s is %s, but there are %d", suite.attrs["name"], count, suite.attrs[count], got[count])
					}
					whole[count] += got[count]
				}
				if want := fmt.Sprintf("%.6f", sum); suite.attrs["time"] != want {
					t.Errorf("suite %s: time is %s, want the sum %s", suite.attrs["name"], suite.attrs["time"], want)
				}
			}
			for _, count := range []string{"tests", "failures", "errors"} {
				if root.attrs[count] != strconv.Itoa(whole[count]) {
					t.Errorf("%s is %s, but there are %d", count, root.attrs[count], whole[count])
				}
			}
			if whole["tests"] != len(run.Results)+1 {
				t.Errorf("%d cases for %d results and the verdict", whole["tests"], len(run.Results))
			}
		})
	}
}

// TestJUnitReaders: Jenkins, GitLab and TestGrid see every outcome rightly, under a name that is the case's alone.
func TestJUnitReaders(t *testing.T) {
	ids := map[string]Outcome{"create": Pass, "update": Fail, "exec": NotRun, "delete": KnownFail, "connect": Error}
	class := "gatehouse.matching-rules.operations"
	for name, reader := range map[string]struct {
		read   func(*node) (map[string]seen, []string)
		key    func(suite, class, name string) string
		status map[Outcome]string
	}{
		"Jenkins": {
			readAsJenkins, func(suite, class, name string) string { return class + "." + name },
			map[Outcome]string{Pass: "passed", Fail: "failed", Error: "failed", KnownFail: "skipped", NotRun: "skipped"},
		},
		"GitLab": {
			readAsGitLab, func(suite, class, name string) string { return suite + "_" + class + "_" + name },
			map[Outcome]string{Pass: "passed", Fail: "failed", Error: "error", KnownFail: "skipped", NotRun: "skipped"},
		},
		"TestGrid": {
			readAsTestGrid, func(suite, class, name string) string { return suite + "." + name },
			map[Outcome]string{Pass: "passed", Fail: "failed", Error: "failed", KnownFail: "skipped", NotRun: "skipped"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			root, _ := junit(t, New(badRun()))
			cases, faults := reader.read(root)
			for _, f := range faults {
				t.Error(f)
			}
			if len(cases) != len(ids)+1 {
				t.Errorf("%d cases, want %d", len(cases), len(ids)+1)
			}
			for id, outcome := range ids {
				got, ok := cases[reader.key("matching-rules", class, "matching-rules/operations/"+id)]
				if !ok || got.status != reader.status[outcome] {
					t.Errorf("%s (%s): got status %q, want %q", id, outcome, got.status, reader.status[outcome])
				}
				if outcome != Pass && !strings.HasPrefix(got.text, "webhook.") {
					t.Errorf("%s: the text %q does not begin with the behavior", id, got.text)
				}
				if got.attachment != "" {
					t.Errorf("%s: links the file %s", id, got.attachment)
				}
				if outcome != NotRun && got.seconds != 0.01 {
					t.Errorf("%s: took %f s", id, got.seconds)
				}
			}
			if got := cases[reader.key("verdict", "gatehouse.verdict", "verdict")]; got.status != "failed" {
				t.Errorf("the verdict is %q", got.status)
			}
		})
	}
}

// TestJUnitNames: even of results that contradict each other every reader keeps each apart.
func TestJUnitNames(t *testing.T) {
	run := hostileRun()
	root, _ := junit(t, New(run))
	names := map[string]bool{}
	for _, suite := range root.all("testsuite") {
		for _, c := range suite.all("testcase") {
			if names[c.attrs["name"]] {
				t.Errorf("the name %q is there twice", c.attrs["name"])
			}
			names[c.attrs["name"]] = true
		}
	}
	for name, read := range map[string]func(*node) (map[string]seen, []string){"Jenkins": readAsJenkins, "GitLab": readAsGitLab, "TestGrid": readAsTestGrid} {
		cases, faults := read(root)
		if len(cases) != len(run.Results)+1 || len(faults) > 0 {
			t.Errorf("%s: %d cases, want %d; faults %q", name, len(cases), len(run.Results)+1, faults)
		}
		for key, c := range cases {
			if c.attachment != "" {
				t.Errorf("%s: %s links the file %s", name, key, c.attachment)
			}
		}
	}
}

// TestJUnitVerdict: the case verdict has a failure exactly when the exit status is 1, an error exactly when it is 3.
func TestJUnitVerdict(t *testing.T) {
	known := badRun()
	known.Results = append(passing()[1:], known.Results[1])
	errored := sampleRun(passing()...)
	errored.Results[0].Outcome = Error
	runs := junitRuns()
	for name, tc := range map[string]struct {
		run  Run
		want map[string]int
	}{
		"conformant":                     {runs["conformant"], map[string]int{}},
		"conformant with known failures": {known, map[string]int{}},
		"partial":                        {runs["partial"], map[string]int{}},
		"not conformant":                 {runs["not conformant"], map[string]int{"failure": 1}},
		"interrupted":                    {runs["interrupted"], map[string]int{"error": 1}},
		"nothing":                        {runs["nothing"], map[string]int{"error": 1}},
		"an error":                       {errored, map[string]int{"error": 1}},
		"a contradiction":                {runs["hostile"], map[string]int{"error": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			report := New(tc.run)
			root, _ := junit(t, report)
			c := root.child("testsuite").child("testcase")
			if c.attrs["name"] != "verdict" {
				t.Fatalf("the first case is %q", c.attrs["name"])
			}
			got := map[string]int{}
			for _, element := range []string{"failure", "error", "skipped"} {
				if p := c.child(element); p != nil {
					got[element]++
					if !strings.HasPrefix(p.attrs["message"], string(report.Verdict)+": ") || !strings.Contains(p.text, "verdict: "+string(report.Verdict)) {
						t.Errorf("neither %q nor %q says why", p.attrs["message"], p.text)
					}
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("exit status %d (-want +got):\n%s", report.ExitStatus, diff)
			}
		})
	}
}

// TestJUnitTimestamps: a suite began with its first case, or with the run when none of its cases began.
func TestJUnitTimestamps(t *testing.T) {
	late, early := sampleResult("late", 50, Pass), sampleResult("early", 60, Pass)
	early.Start = start.Add(5 * time.Second).In(time.FixedZone("JST", 9*3600))
	unstarted := sampleResult("unstarted", 1, NotRun)
	unstarted.Start = time.Time{}
	alone := unstarted
	alone.ID, alone.Area = "invocation-order/names/alone", "invocation-order"
	root, _ := junit(t, New(sampleRun(unstarted, late, early, alone)))
	for _, suite := range root.all("testsuite") {
		want := map[string]string{"verdict": "2026-03-01T12:00:00", "matching-rules": "2026-03-01T12:00:05", "invocation-order": "2026-03-01T12:00:00"}[suite.attrs["name"]]
		if got := suite.attrs["timestamp"]; got != want {
			t.Errorf("%s: got %s, want %s", suite.attrs["name"], got, want)
		}
	}
}

func TestClassName(t *testing.T) {
	for id, want := range map[string]string{
		"matching-rules/operations/create": "gatehouse.matching-rules.operations",
		"acme-pods/deep/er/x":              "gatehouse.acme-pods.deep.er",
		"a/v1.30/x":                        "gatehouse.a.v1.30",
		"x":                                "gatehouse.cases",
		"":                                 "gatehouse.cases",
		"../x y/z":                         "gatehouse.x.y",
	} {
		if got := className(id); got != want {
			t.Errorf("%q: got %q, want %q", id, got, want)
		}
	}
}
