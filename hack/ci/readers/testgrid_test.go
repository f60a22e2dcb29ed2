package readers

import (
	"maps"
	"os"
	"strconv"
	"testing"

	"github.com/GoogleCloudPlatform/testgrid/metadata/junit"
)

// TestTestGridResults: TestGrid sees each case, a reason for each that did not pass, and the properties that it draws.
func TestTestGridResults(t *testing.T) {
	for _, flavor := range []string{"portable", "testgrid"} {
		data, err := os.ReadFile(junitFile(t, flavor))
		if err != nil {
			t.Fatal(err)
		}
		suites, err := junit.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, suite := range suites.Suites {
			if suite.Tests != len(suite.Results) {
				t.Errorf("%s: suite %s has %d cases and says %d", flavor, suite.Name, len(suite.Results), suite.Tests)
			}
			for _, r := range suite.Results {
				got[r.Name] = testGridStatus(r)
				if got[r.Name] != "passed" && r.Message(140) == "" {
					t.Errorf("%s: %s has no message", flavor, r.Name)
				}
				if flavor == "testgrid" {
					checkLatency(t, r)
				}
			}
		}
		if !maps.Equal(got, cases) {
			t.Errorf("%s: cases %v, want %v", flavor, got, cases)
		}
	}
}

// testGridStatus is what a result's cell shows. TestGrid drops results that were skipped without a text.
func testGridStatus(r junit.Result) string {
	switch {
	case r.Skipped != nil && r.Skipped.Value == "":
		return "dropped"
	case r.Errored != nil || r.Failure != nil:
		return "failed"
	case r.Skipped != nil:
		return "skipped"
	default:
		return "passed"
	}
}

// checkLatency checks that a case that was executed has its time as a number.
func checkLatency(t *testing.T, r junit.Result) {
	t.Helper()
	if r.Time == 0 {
		return
	}
	for _, p := range r.Properties.PropertyList {
		if p.Name == "duration-seconds" {
			if got, err := strconv.ParseFloat(p.Value, 64); err != nil || got != r.Time {
				t.Errorf("%s: %s is %q, want %v", r.Name, p.Name, p.Value, r.Time)
			}
			return
		}
	}
	t.Errorf("%s has no duration-seconds", r.Name)
}
