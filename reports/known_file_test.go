package reports

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadKnown(t *testing.T) {
	got, err := ReadKnown("known.yaml", []byte(`
- id: a/b/c
  reason: >
    Answers 500.
  expires: 2026-12-31
- {id: a/b/d, reason: "No: never", link: "https://example.com/7", expires: "2027-01-01"}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []KnownFailure{
		{ID: "a/b/c", Reason: "Answers 500.", Expires: "2026-12-31"},
		{ID: "a/b/d", Reason: "No: never", Link: "https://example.com/7", Expires: "2027-01-01"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := ReadKnown("known.yaml", []byte("[]\n")); err != nil || len(got) != 0 {
		t.Errorf("an empty list: %v, %v", got, err)
	}
}

func TestReadKnownRefuses(t *testing.T) {
	const good = "- {id: a/b/c, reason: because, expires: 2026-12-31}\n"
	for name, tc := range map[string]struct{ file, want string }{
		"nothing":           {"# none\n", "known.yaml: the file is empty"},
		"no YAML":           {"- {id: a", "known.yaml: YAML syntax: did not find expected ',' or '}'"},
		"a mapping":         {"id: a/b/c\n", "known.yaml:1:1: got a mapping, want a list of known failures: each with id, reason, link and expires"},
		"a list of ids":     {"- a/b/c\n", `known.yaml:1:3: [0]: got the string "a/b/c", want a mapping of id, reason, link, expires`},
		"an unknown field":  {good + "- {id: a/b/d, raeson: x, expires: 2026-12-31}\n", "known.yaml:2:3: \"reason\" is missing; it is required\nknown.yaml:2:15: unknown field \"raeson\"; did you mean \"reason\"?"},
		"a duplicate field": {"- {id: a/b/c, id: a/b/d, reason: x, expires: 2026-12-31}\n", `known.yaml:1:15: duplicate key "id"; it stands at line 1 already`},
		"no expiry":         {"- {id: a/b/c, reason: because}\n", `known.yaml:1:3: "expires" is missing; it is required`},
		"another date":      {"- {id: a/b/c, reason: because, expires: 31.12.2026}\n", `known.yaml:1:41: expires: got "31.12.2026", want the last day on which the entry counts, such as 2026-12-31`},
		"no day":            {"- {id: a/b/c, reason: because, expires: 2026-02-30}\n", `known.yaml:1:41: expires: got "2026-02-30", want the last day on which the entry counts, such as 2026-12-31`},
		"a number":          {"- {id: a/b/c, reason: because, expires: 2026}\n", `known.yaml:1:41: expires: got 2026, want a string; write "2026" in quotes`},
		"a file's id":       {"- {id: a/b, reason: because, expires: 2026-12-31}\n", `known.yaml:1:8: id: got "a/b", want the id of a case: AREA/FILE/NAME`},
		"a case twice":      {good + good, "known.yaml:2:8: id: the case a/b/c is listed at line 1 already"},
		"a blank reason":    {"- {id: a/b/c, reason: \" \", expires: 2026-12-31}\n", `known.yaml:1:23: reason: got "", want one line that says why the case fails`},
		"a long reason":     {"- id: a/b/c\n  reason: |\n    x\n    y\n  expires: 2026-12-31\n", `known.yaml:2:11: reason: got "x\ny", want one line that says why the case fails`},
		"a link that is no URL": {
			"- {id: a/b/c, reason: because, link: \"#7\", expires: 2026-12-31}\n",
			`known.yaml:1:38: link: got "#7", want the URL of the page where the failure is tracked`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			known, err := ReadKnown("known.yaml", []byte(tc.file))
			if err == nil {
				t.Fatalf("got %v and no error", known)
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
