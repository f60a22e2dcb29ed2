package reports

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
)

// WriteReplay tells people what came of running the case of a bundle again: then is the bundle's report, on is the
// server of the second run, and now its result.
func WriteReplay(w io.Writer, then Report, on TargetInfo, now Result, o TextOptions) error {
	o.Width = cmp.Or(o.Width, 100)
	p := &printer{out: bufio.NewWriter(w), TextOptions: o}
	p.lines(0, replay(then, on, now))
	return p.out.Flush()
}

func replay(then Report, on TargetInfo, now Result) text {
	before := then.Results[0]
	var t text
	t.add(plain, 0, "%s", line(before.ID))
	t.add(plain, 0, "%s", line(before.Title))
	t.add(plain, 2, "then, on %s %s: %s: %s", then.Target.Name, then.Target.Version, before.Outcome, summary(before))
	if now.Outcome == Pass {
		t.add(plain, 2, "now, on %s %s: %s", on.Name, on.Version, now.Outcome)
	} else {
		t.add(plain, 2, "now, on %s %s: %s: %s", on.Name, on.Version, now.Outcome, summary(now))
	}
	t = append(t, otherAnswers(before, now)...)
	if now.Outcome == Fail || now.Outcome == Error {
		t = append(t, detail(now, then.statements())...)
		t = append(t, steps(now)...)
	}
	s, words := replayVerdict(before, now)
	t.add(s, 0, "%s", words)
	return t
}

// replayVerdict says in words how the second run compares with the first.
func replayVerdict(then, now Result) (style, string) {
	switch {
	case now.Outcome == Pass:
		return good, "it passes now"
	case now.Outcome == NotRun:
		return bad, "it was not run"
	case now.Outcome == then.Outcome && slices.EqualFunc(then.Failures, now.Failures, sameFailure):
		return bad, "it is as it was"
	case now.Outcome == Error:
		return bad, "it ends in an error now"
	default:
		return bad, "it fails, but otherwise than it did"
	}
}

// sameFailure compares what failed. The texts are not compared: names are different in every run.
func sameFailure(a, b Failure) bool { return a.Step == b.Step && a.Path == b.Path }

// otherAnswers names the steps that both runs took and that were answered with another status code.
func otherAnswers(then, now Result) text {
	codes := map[string]int{}
	for _, s := range then.Transcript {
		codes[s.Step] = s.Code
	}
	var t text
	for _, s := range now.Transcript {
		if was, took := codes[s.Step]; took && was != s.Code {
			t.add(plain, 4, "%s (code %d then)", requestLine(s), was)
		}
	}
	if len(t) > 0 {
		t = slices.Concat(text{{plain, fmt.Sprintf("  %s answered otherwise:", plural(len(t), "step was", "steps were"))}}, t)
	}
	return t
}
