package reports

import (
	"strings"
	"unicode/utf8"
)

// clean returns text that every reader can show, whatever bytes a server sent: valid UTF-8 of characters that XML 1.0
// allows, without control characters but newline and tab. Control characters become their visible pictures, line ends
// become newlines, and what is no character becomes U+FFFD. The marks by which readers of JUnit find attachments are
// broken, so that a server cannot have files linked. Cleaning clean text changes nothing.
func clean(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.Map(cleanRune, s)
	return strings.ReplaceAll(s, "[[ATTACHMENT", "[ [ATTACHMENT")
}

// cleanRune replaces a rune. strings.Map gives it utf8.RuneError for bytes that are not UTF-8.
func cleanRune(r rune) rune {
	const pictures = '\u2400' // of U+0000; the others follow in order
	switch {
	case r == '\n' || r == '\t':
		return r
	case r < ' ':
		return pictures + r
	case r == 0x7f:
		return '\u2421'
	case 0x80 <= r && r < 0xa0, r == 0xfffe, r == 0xffff:
		return utf8.RuneError
	default:
		return r
	}
}

// line returns text cleaned and on one line: white space, newlines included, becomes single spaces.
func line(s string) string { return strings.Join(strings.Fields(clean(s)), " ") }

// cut returns at most limit bytes of text, which end in an ellipsis when something was cut off.
func cut(s string, limit int) string {
	const ellipsis = "…"
	if len(s) <= limit {
		return s
	}
	end := limit - len(ellipsis)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.TrimRight(s[:end], " ") + ellipsis
}
