package reports

import (
	"encoding/xml"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"plain text":             {"admission denied: ü 漢 🎉", "admission denied: ü 漢 🎉"},
		"newlines and tabs":      {"a\n\tb\n", "a\n\tb\n"},
		"line ends of Windows":   {"a\r\nb\r\n", "a\nb\n"},
		"a lone carriage return": {"10%\r20%", "10%␍20%"},
		"colours of a terminal":  {"\x1b[31mred\x1b[0m", "␛[31mred␛[0m"},
		"NUL, BEL, DEL":          {"\x00\a\x7f", "␀␇␡"},
		"C1 controls":            {"a\u0085b\u009bc", "a\ufffdb\ufffdc"},
		"bytes that are no text": {"a\xff\xfeb\xc3", "a\ufffd\ufffdb\ufffd"},
		"no characters":          {"\ufffe\uffff", "\ufffd\ufffd"},
		"a surrogate in UTF-8":   {"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},
		"the end of CDATA":       {"]]>", "]]>"},
		"an attachment":          {"[[ATTACHMENT|/etc/passwd]]", "[ [ATTACHMENT|/etc/passwd]]"},
		"a nested attachment":    {"[[[ATTACHMENT|x]]]", "[[ [ATTACHMENT|x]]]"},
	} {
		if got := clean(tc.in); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tc := range []struct {
		in    string
		limit int
		want  string
	}{
		{"short", 5, "short"},
		{"longer", 5, "lo…"},
		{"words at end", 9, "words…"},
		{"üüü", 5, "ü…"},
		{"ü漢漢漢", 8, "ü漢…"},
		{"漢漢", 5, "…"},
		{"a漢漢", 6, "a…"},
		{"", 3, ""},
	} {
		if got := cut(tc.in, tc.limit); got != tc.want || len(got) > tc.limit {
			t.Errorf("%q at %d: got %q (%d bytes), want %q", tc.in, tc.limit, got, len(got), tc.want)
		}
	}
}

// FuzzClean: whatever a server sends, what is written is what an XML reader gets, and nothing that does harm.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{"", "plain", "\x1b[2J", "\xff\xfe", "a\r\n\rb", "]]><![CDATA[", "&#0;", "[[ATTACHMENT|x]]", "[[[[ATTACHMENT", "\ufffe\u0085\u2028"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := clean(s)
		if !utf8.ValidString(got) {
			t.Errorf("%q: %q is not UTF-8", s, got)
		}
		for _, r := range got {
			if r < ' ' && r != '\n' && r != '\t' || 0x7f <= r && r < 0xa0 {
				t.Errorf("%q: %q holds %U", s, got, r)
			}
		}
		if again := clean(got); again != got {
			t.Errorf("%q: cleaned once %q, twice %q", s, got, again)
		}
		if strings.Contains(got, "[[ATTACHMENT|") {
			t.Errorf("%q: %q has an attachment", s, got)
		}
		var back struct {
			Text string `xml:",chardata"`
		}
		written, err := xml.Marshal(junitProperty{"attr", got})
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		var property junitProperty
		if err := xml.Unmarshal(written, &property); err != nil || property.Value != got {
			t.Errorf("%q: wrote the attribute %q, read %q, %v", s, got, property.Value, err)
		}
		if err := xml.Unmarshal([]byte("<e>"+escaped(got)+"</e>"), &back); err != nil || back.Text != got {
			t.Errorf("%q: wrote the text %q, read %q, %v", s, got, back.Text, err)
		}
		if message := cut(line(s), messageLimit); len(message) > messageLimit || strings.ContainsAny(message, "\n\t") {
			t.Errorf("%q: the message %q is too long or not one line", s, message)
		}
	})
}
