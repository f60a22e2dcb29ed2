package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// What is shown of an expected or actual value: so many lines, and so many bytes of each.
const (
	diffLimit     = 500
	diffLineLimit = 4 << 10
)

// difference shows what was expected beside what was: values of several lines line by line.
func difference(expected, actual string) text {
	var t text
	a, b := valueLines(expected), valueLines(actual)
	if len(a) <= 1 && len(b) <= 1 {
		t.addValue(removed, "expected: ", a)
		t.addValue(added, "actual:   ", b)
		return t
	}
	if len(a) == 0 || len(b) == 0 {
		t.addValue(removed, "expected:", a)
		t.addValue(added, "actual:", b)
		return t
	}
	t.add(faint, 2, "expected (-), actual (+):")
	const context = 3
	for i, group := range difflib.NewMatcher(a, b).GetGroupedOpCodes(context) {
		if i > 0 {
			t.add(faint, 2, "  ...")
		}
		for _, op := range group {
			if op.Tag == 'e' {
				t.addLines(plain, "    ", a[op.I1:op.I2])
				continue
			}
			t.addLines(removed, "  - ", a[op.I1:op.I2])
			t.addLines(added, "  + ", b[op.J1:op.J2])
		}
	}
	return t
}

// addValue adds a value that is not compared: one line after its label, several below it.
func (t *text) addValue(s style, label string, lines []string) {
	switch {
	case len(lines) == 1:
		t.addLines(s, "  "+label, lines)
	case len(lines) > 1:
		t.add(faint, 2, "%s", label)
		t.addLines(s, "    ", lines)
	}
}

// valueLines are the lines of a value, clean; of a very long one the beginning.
func valueLines(s string) []string {
	s = strings.TrimRight(clean(s), "\n")
	if s == "" {
		return nil
	}
	lines := strings.Split(s, "\n")
	if len(lines) > diffLimit {
		lines = append(slices.Clip(lines[:diffLimit]), fmt.Sprintf("... %d more lines", len(lines)-diffLimit))
	}
	for i := range lines {
		lines[i] = cut(lines[i], diffLineLimit)
	}
	return lines
}
