package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/gatehouse-dev/gatehouse/reports"
)

// progressInterval is how often progress is shown where it is not a terminal.
const progressInterval = 5 * time.Second

// progress shows how far a run is: in a terminal by a line that is drawn over again, elsewhere by plain lines.
type progress struct {
	out      io.Writer
	terminal bool
	color    bool
	width    int

	total, done, bad int
	current          string
	told             int // what was done when the last plain line was written
}

func newProgress(out io.Writer, total int) *progress {
	p := &progress{out: out, total: total}
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
	p.current = id
	p.draw()
}

// finished tells of a case's result; failures are shown at once.
func (p *progress) finished(r reports.Result) {
	p.done++
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
func (p *progress) lost(count int, why string) {
	p.done += count
	p.bad += count
	p.say(fmt.Sprintf("%s %s: %d cases have no result", p.red("ERROR"), firstLine(why), count))
}

func (p *progress) red(text string) string {
	if !p.color {
		return text
	}
	return "\x1b[31m" + text + "\x1b[0m"
}

// tick is called from time to time.
func (p *progress) tick() {
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
	return text
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
