package reports

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTimes(t *testing.T) {
	report := New(badRun())
	var whole, times bytes.Buffer
	if err := WriteJSON(&whole, report); err != nil {
		t.Fatal(err)
	}
	if err := WriteTimes(&times, report); err != nil {
		t.Fatal(err)
	}
	want := map[string]time.Duration{}
	for _, name := range []string{"create", "update", "delete", "connect"} { // exec was not run
		want["matching-rules/operations/"+name] = 10 * time.Millisecond
	}
	for name, file := range map[string]*bytes.Buffer{"report.json": &whole, "times.json": &times} {
		got, err := ReadTimes(name, file.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestReadTimesRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ file, want string }{
		"no JSON":         {"{\"schemaVersion\": 1,\n]", "f: line 2, column 1: invalid character"},
		"another file":    {`{"results": []}`, "f: neither a report of Gatehouse nor times of one"},
		"another version": {`{"schemaVersion": 9}`, "f: schemaVersion is 9, and this Gatehouse reads 1"},
		"a wrong type":    {`{"schemaVersion": 1, "results": [{"id": "a", "duration": "1s"}]}`, "f: line 1, column"},
		"a negative time": {`{"schemaVersion": 1, "results": [{"id": "a", "duration": -1}]}`, "f: results[0].duration: -1 is negative"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ReadTimes("f", []byte(tc.file)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}
