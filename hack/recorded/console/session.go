package console

import (
	"bytes"
	"fmt"
	"strings"
)

// Session is a file of commands and their output.
type Session struct {
	Commands []*Command
	// lines are those of the file without the recorded output.
	lines []string
}

// Command is a command line and its output.
type Command struct {
	// Number is the number of the command's line in the file.
	Number int
	// Line is what the shell gets.
	Line string
	// Output are the recorded lines, without "< ".
	Output []string
	// Deviation says in what the output of another server may differ; empty when in nothing.
	Deviation string

	// end is how many of the file's lines come before the output.
	end int
}

// Parse reads a file.
func Parse(data []byte) (*Session, error) {
	s := &Session{}
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		mark, rest, _ := strings.Cut(line, " ")
		var last *Command
		if len(s.Commands) > 0 {
			last = s.Commands[len(s.Commands)-1]
		}
		switch {
		case line == "" || mark == "#":
			s.lines = append(s.lines, line)
		case mark == "$":
			s.lines = append(s.lines, line)
			s.Commands = append(s.Commands, &Command{Number: i + 1, Line: rest, end: len(s.lines)})
		case last == nil:
			return nil, fmt.Errorf("line %d: %q comes before the first command", i+1, line)
		case mark == "<":
			last.Output = append(last.Output, rest)
		case mark == "%":
			s.lines = append(s.lines, line)
			last.Deviation, last.end = rest, len(s.lines)
		default:
			return nil, fmt.Errorf("line %d: cannot read %q", i+1, line)
		}
	}
	return s, nil
}

// Bytes writes the file with the output that its commands have.
func (s *Session) Bytes() []byte {
	var out bytes.Buffer
	at := 0
	copyTo := func(end int) {
		for ; at < end; at++ {
			fmt.Fprintln(&out, s.lines[at])
		}
	}
	for _, command := range s.Commands {
		copyTo(command.end)
		for _, line := range command.Output {
			fmt.Fprintln(&out, strings.TrimSuffix("< "+line, " "))
		}
	}
	copyTo(len(s.lines))
	return out.Bytes()
}
