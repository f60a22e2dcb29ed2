package console

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

const recorded = `# A session.
$ echo one; echo two >&2

$ false
% it may print more
< exit status 1
`

func TestParse(t *testing.T) {
	session, err := Parse([]byte(recorded))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(recorded, string(session.Bytes())); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	if got := session.Commands[1]; got.Number != 4 || got.Deviation != "it may print more" || !slices.Equal(got.Output, []string{"exit status 1"}) {
		t.Errorf("second command: %+v", got)
	}
	for _, wrong := range []string{"< output", "$ true\nnothing", "% deviation"} {
		if _, err := Parse([]byte(wrong)); err == nil {
			t.Errorf("%q is read", wrong)
		}
	}
}

func TestPlay(t *testing.T) {
	session, err := Parse([]byte(recorded))
	if err != nil {
		t.Fatal(err)
	}
	outputs, err := Player{Kubectl: "/nowhere/kubectl", Config: &rest.Config{Host: "https://host"}, Directory: t.TempDir()}.Play(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"one", "two"}, {"exit status 1"}}, outputs); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestComparable(t *testing.T) {
	for output, want := range map[string]string{
		"NAME   AGE    NODE\nweb    12s    a\n":                              "NAME  AGE  NODE\nweb  AGE  a",
		"web   1/1   Running   3 (5m2s ago)   2d":                            "web  1/1  Running  3 (AGE ago)  AGE",
		"  uid: 01234567-89ab-cdef-0123-456789abcdef":                        "  uid: UID",
		`  resourceVersion: "17"`:                                            `  resourceVersion: "VERSION"`,
		"CreationTimestamp:  Mon, 06 May 2024 07:08:09 +0000":                "CreationTimestamp:  TIME",
		"time: 2024-05-06T07:08:09Z":                                         "time: TIME",
		"--- /tmp/home/LIVE-123/v1.ConfigMap\t2024-05-06 07:08:09.123 +0000": "--- HOME/LIVE/v1.ConfigMap\tTIME",
		"Unable to reach https://host/api":                                   "Unable to reach SERVER/api",
	} {
		got := strings.Join(comparable(output, "https://host", "/tmp/home"), "\n")
		if got != want {
			t.Errorf("%q is compared as %q, want %q", output, got, want)
		}
	}
}
