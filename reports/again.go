package reports

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// runAgain is the command that runs a case again as it was run, on the same kind of target. A trial runs as a whole.
func runAgain(r Report, result Result) string {
	command := slices.Clone(r.Command)
	if len(command) == 0 {
		command = likelyCommand(r, result)
	}
	if r.Webhook == nil {
		command = append(command, "--focus", "^"+regexp.QuoteMeta(result.ID)+"$")
	}
	for i, word := range command {
		command[i] = shellQuote(line(word))
	}
	return strings.Join(command, " ")
}

// again tells the command that runs a case again. It is not wrapped, so that it can be copied.
func again(r Report, result Result) text {
	var t text
	t.add(faint, 0, "run it again: %s", runAgain(r, result))
	return t
}

// likelyCommand is the command line that gives such a report when nothing but the target was asked for.
func likelyCommand(r Report, result Result) []string {
	switch {
	case r.Webhook != nil:
		return []string{"gatehouse", "webhook", "--config", r.Webhook.Config}
	case r.PolicyTests != nil:
		return []string{"gatehouse", "policy", "test", path.Dir(result.File)}
	default:
		return []string{"gatehouse", "conformance", "--target", r.Target.Name}
	}
}

// shellQuote quotes a word for a POSIX shell where it needs it.
func shellQuote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_./:=@%+,", c))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
