package reports

import (
	"strings"
	"testing"
)

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

func TestDifferenceOfLongLines(t *testing.T) {
	got := difference(strings.Repeat("x", 1<<20), "y")
	if len(got) != 2 || len(got[0].text) > diffLineLimit+20 || !strings.HasSuffix(got[0].text, "…") {
		t.Errorf("%d lines, the first of %d bytes", len(got), len(got[0].text))
	}
}
