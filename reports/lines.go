package reports

import (
	"fmt"
	"strings"
)

// style says what a line of text is, for writers that show it.
type style int

const (
	plain   style = iota
	faint         // of less interest
	wrong         // an expectation that did not hold
	removed       // a line that was expected
	added         // a line that was there in its place
	good          // a good verdict
	bad           // a bad verdict
)

// textLine is one line of text for people, clean.
type textLine struct {
	style style
	text  string
}

// text is the lines of a description, each clean and without its newline.
type text []textLine

// add adds formatted text, cleaned and indented, line by line.
func (t *text) add(s style, indent int, format string, args ...any) {
	for l := range strings.SplitSeq(strings.TrimRight(clean(fmt.Sprintf(format, args...)), "\n"), "\n") {
		*t = append(*t, textLine{s, strings.TrimRight(strings.Repeat(" ", indent)+l, " ")})
	}
}

// addLines adds lines that are clean already, with a mark before each.
func (t *text) addLines(s style, mark string, lines []string) {
	for _, l := range lines {
		*t = append(*t, textLine{s, mark + l})
	}
}

// String returns the lines without their styles.
func (t text) String() string {
	var b strings.Builder
	for _, l := range t {
		b.WriteString(l.text)
		b.WriteByte('\n')
	}
	return b.String()
}
