package reports

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// golden compares got with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is out of date; see the difference, then run go test -update (-want +got):\n%s", path, diff)
	}
}

func TestJSONGolden(t *testing.T) {
	var out bytes.Buffer
	if err := WriteJSON(&out, New(badRun())); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", out.Bytes())
}

// TestJSONRoundTrip: what is written again from the file is the same, byte for byte, in every form.
func TestJSONRoundTrip(t *testing.T) {
	empty := sampleRun()
	interrupted := badRun()
	interrupted.Interrupted = "signal: interrupt"
	for name, run := range map[string]Run{"conformant": sampleRun(passing()...), "not conformant": badRun(), "empty": empty, "interrupted": interrupted} {
		t.Run(name, func(t *testing.T) {
			r := New(run)
			data, err := marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			back, err := ReadJSON("report.json", data)
			if err != nil {
				t.Fatal(err)
			}
			for form, write := range map[string]func(*bytes.Buffer, Report) error{
				"JSON":  func(b *bytes.Buffer, r Report) error { return WriteJSON(b, r) },
				"JUnit": func(b *bytes.Buffer, r Report) error { return WriteJUnit(b, r, JUnitOptions{}) },
				"text":  func(b *bytes.Buffer, r Report) error { return WriteText(b, r, TextOptions{}) },
			} {
				var before, after bytes.Buffer
				if err := errors.Join(write(&before, r), write(&after, back)); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(before.String(), after.String()); diff != "" {
					t.Errorf("%s (-before +after):\n%s", form, diff)
				}
			}
		})
	}
}

func TestReadJSONRefuses(t *testing.T) {
	whole := text1(t, New(badRun()))
	for name, tc := range map[string]struct {
		old, new string // what is changed in the file; new alone is the whole file
		want     string
	}{
		"an empty file":         {"", "", "out/report.json: line 1, column 1: unexpected end of JSON input"},
		"no JSON":               {"", "<testsuites/>", "out/report.json: line 1, column 1: invalid character '<'"},
		"a list":                {"", "[]", "out/report.json: line 1, column 1: json: cannot unmarshal array"},
		"another file":          {"", `{"kind":"Status"}`, "out/report.json: not a report of Gatehouse: it has no schemaVersion"},
		"a newer version":       {`"schemaVersion": 1`, `"schemaVersion": 2`, "out/report.json: schemaVersion is 2, and this Gatehouse reads 1"},
		"a file that was cut":   {whole[len(whole)/2:], "", "unexpected end of JSON input"},
		"two files in one":      {"", whole + whole, "after top-level value"},
		"an unknown field":      {`"suite":`, `"suit":`, `unknown field "suit"`},
		"an unknown field deep": {`"statement":`, `"claim":`, `unknown field "behaviors[0].claim"`},
		"a field in other case": {`"exitStatus":`, `"ExitStatus":`, `unknown field "ExitStatus"`},
		"a field twice":         {`"suite": "v0.1.0",`, `"suite": "v0.1.0", "suite": "v0.2.0",`, `duplicate field "suite"`},
		"a wrong type":          {`"exitStatus": 1`, `"exitStatus": "1"`, "cannot unmarshal string into Go struct field Report.exitStatus of type int"},
		"an unknown outcome":    {`"outcome": "pass"`, `"outcome": "flaky"`, `results[0].outcome: "flaky" is none of ["pass" "fail" "known-fail" "not-run" "error"]`},
		"an unknown cause":      {`"cause": "target"`, `"cause": "moon"`, `results[2].cause: "moon" is none of ["version" "target" "deselected" "interrupted"]`},
		"an unknown level":      {"\"level\": \"should\",\n      \"kind\": \"observed\",\n      \"sources\"", "\"level\": \"shall\",\n      \"kind\": \"observed\",\n      \"sources\"", `behaviors[2].level: "shall" is none of ["must" "should" "may"]`},
		"a mended verdict":      {`"verdict": "not conformant"`, `"verdict": "conformant"`, `the verdict is "conformant" with exit status 1, but its results give "not conformant" with 1`},
		"a mended exit status":  {`"exitStatus": 1`, `"exitStatus": 0`, `the verdict is "not conformant" with exit status 0, but its results give "not conformant" with 1`},
		"a mended behaviour":    {`"verdict": "failed"`, `"verdict": "held"`, `behaviors[0].verdict: behavior webhook.match.operations.create is "held", but its cases give "failed"`},
		"a mended count":        {`"pass": 1`, `"pass": 2`, "its counts, reasons or order do not follow from its results"},
	} {
		t.Run(name, func(t *testing.T) {
			data := tc.new
			if tc.old != "" {
				data = strings.Replace(whole, tc.old, tc.new, 1)
			}
			if data == whole {
				t.Fatalf("%q is not in the file", tc.old)
			}
			_, err := ReadJSON("out/report.json", []byte(data))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "out/report.json: ") {
				t.Errorf("%v does not begin with the file's name", err)
			}
		})
	}
}

// TestJSONOfAnyBytes: text that is not UTF-8 does not make a file that cannot be read.
func TestJSONOfAnyBytes(t *testing.T) {
	run := sampleRun(sampleResult("create", 12, Fail, "webhook.match.operations.create"))
	run.Results[0].Failures = []Failure{{Message: "\xff\xfe\x00<>&\u2028", Actual: "\x1b"}}
	data := text1(t, New(run))
	if _, err := ReadJSON("report.json", []byte(data)); err != nil {
		t.Error(err)
	}
	if strings.Contains(data, `\u003c`) {
		t.Error("< is escaped, which makes the file hard to read")
	}
}
