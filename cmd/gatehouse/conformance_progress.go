package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
)

// How often progress is shown besides the changes that are shown at once: the time left goes on in a terminal, and
// elsewhere there is a line now and then.
const (
	terminalInterval = time.Second
	plainInterval    = 5 * time.Second
)

// progress shows how far a run is: in a terminal by a line that is drawn over again, elsewhere by plain lines.
type progress struct {
	out      io.Writer
	terminal bool
	color    bool
	width    int

	total, done, bad int
	current          string
	told             int // what was done when the last plain line was written

	now  func() time.Time
	cost map[string]time.Duration // how long each case is expected to take, by id
	// begun is when the first case began. ahead and behind are the costs of the cases to come and of those that are done.
	begun         time.Time
	ahead, behind time.Duration
}

// newProgress shows the progress of cases, some of which have been timed before.
func newProgress(out io.Writer, cases []*fixtures.LoadedCase, times map[string]time.Duration) *progress {
	p := &progress{out: out, total: len(cases), now: time.Now, cost: map[string]time.Duration{}}
	cost := costs(cases, times)
	for _, c := range cases {
		p.cost[c.ID] = cost(c)
		p.ahead += cost(c)
	}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		options := reports.TerminalOptions(f, os.Getenv)
		p.terminal, p.color, p.width = true, options.Color, cmp.Or(options.Width, 80)
	}
	return p
}

// say writes a line that stays.
func (p *progress) say(text string) {
	p.erase()
	fmt.Fprintln(p.out, text)
	p.draw()
}

// started tells of a case that begins.
func (p *progress) started(id string) {
	if p.begun.IsZero() {
		p.begun = p.now()
	}
	p.current = id
	p.draw()
}

// finished tells of a case's result; failures are shown at once.
func (p *progress) finished(r reports.Result) {
	p.done++
	p.ahead, p.behind = p.ahead-p.cost[r.ID], p.behind+p.cost[r.ID]
	label := ""
	switch r.Outcome {
	case reports.Fail:
		label = "FAIL"
	case reports.Error:
		label = "ERROR"
	}
	if label == "" {
		p.draw()
		return
	}
	p.bad++
	message := ""
	if len(r.Failures) > 0 {
		message = ": " + firstLine(r.Failures[0].Message)
	}
	p.say(p.red(label) + " " + r.ID + message)
}

// lost tells of cases whose process ended without their results.
func (p *progress) lost(ids []string, why string) {
	for _, id := range ids {
		p.ahead -= p.cost[id]
	}
	p.done += len(ids)
	p.bad += len(ids)
	p.say(fmt.Sprintf("%s %s: %d cases have no result", p.red("ERROR"), firstLine(why), len(ids)))
}

func (p *progress) red(text string) string {
	if !p.color {
		return text
	}
	return "\x1b[31m" + text + "\x1b[0m"
}

// interval is the time after which tick is to be called again.
func (p *progress) interval() time.Duration {
	if p.terminal {
		return terminalInterval
	}
	return plainInterval
}

// tick is called from time to time.
func (p *progress) tick() {
	p.draw()
	if !p.terminal && p.done != p.told {
		p.told = p.done
		fmt.Fprintln(p.out, p.status())
	}
}

// end takes the line away.
func (p *progress) end() { p.erase() }

func (p *progress) status() string {
	text := fmt.Sprintf("%d of %d cases", p.done, p.total)
	if p.bad > 0 {
		text += fmt.Sprintf(", %d not as expected", p.bad)
	}
	if left, known := p.left(); known {
		text += fmt.Sprintf(", about %s left", left)
	}
	if area, _, _ := strings.Cut(p.current, "/"); area != "" && !p.terminal {
		text += ", now in " + area
	}
	return text
}

// left is the time that the rest will take if it goes on like this; it is not known at the very beginning.
func (p *progress) left() (time.Duration, bool) {
	if p.behind <= 0 || p.begun.IsZero() {
		return 0, false
	}
	elapsed := p.now().Sub(p.begun)
	if elapsed < time.Second {
		return 0, false
	}
	left := time.Duration(float64(elapsed) * float64(max(p.ahead, 0)) / float64(p.behind))
	return left.Round(time.Second), true
}

func (p *progress) draw() {
	if !p.terminal {
		return
	}
	line := []rune(strings.TrimSpace(p.status() + "  " + p.current))
	if len(line) > p.width-1 {
		line = line[:p.width-1]
	}
	fmt.Fprintf(p.out, "\r\x1b[K%s", string(line))
}

func (p *progress) erase() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
