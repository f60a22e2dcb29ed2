package exchange

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// File is a file of exchanges.
type File struct {
	Cases []*Case
	// lines are those of the file without the recorded answers.
	lines []string
}

// Case is a sequence of requests that belong together.
type Case struct {
	Name  string
	Steps []*Step
}

// Namespace is the namespace of the case, $ns.
func (c *Case) Namespace() string {
	return strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(c.Name), "-"), "-")
}

// Step is a request and its answer.
type Step struct {
	// Line is the number of the request's line in the file.
	Line int
	// Answer are the recorded lines, without "< ".
	Answer []string
	// Deviation says in what another server may differ, all but the code; empty when in nothing.
	Deviation string

	method, path string
	watch        bool
	headers      http.Header
	yaml, raw    []string
	show         []string
	captures     []capture
	events       int // of a watch; 0 for all
	until        string

	// end is how many of the file's lines come before the answer.
	end int
}

// capture sets a variable from an answer.
type capture struct{ name, path string }

// patches are the methods that stand for a PATCH of some type.
var patches = map[string]types.PatchType{
	"MERGE": types.MergePatchType, "STRATEGIC": types.StrategicMergePatchType,
	"JSONPATCH": types.JSONPatchType, "APPLY": types.ApplyYAMLPatchType,
}

var (
	requestLine = regexp.MustCompile(`^([A-Z]+) (/\S*)$`)
	headerLine  = regexp.MustCompile(`^([A-Za-z-]+): (.*)$`)
	captureLine = regexp.MustCompile(`^\$([a-z0-9]+) = (\.\S+)$`)
)

// Parse reads a file.
func Parse(data []byte) (*File, error) {
	f := &File{}
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		if answer, ok := strings.CutPrefix(line, "<"); ok {
			step := f.step()
			if step == nil {
				return nil, fmt.Errorf("line %d: an answer without a request", i+1)
			}
			step.Answer = append(step.Answer, strings.TrimPrefix(answer, " "))
			continue
		}
		f.lines = append(f.lines, line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := f.parseLine(line, i+1); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if step := f.step(); step != nil {
			step.end = len(f.lines)
		}
	}
	return f, nil
}

// step returns the latest step of the latest case, or nil.
func (f *File) step() *Step {
	if len(f.Cases) == 0 {
		return nil
	}
	steps := f.Cases[len(f.Cases)-1].Steps
	if len(steps) == 0 {
		return nil
	}
	return steps[len(steps)-1]
}

func (f *File) parseLine(line string, number int) error {
	if name, ok := strings.CutPrefix(line, "== "); ok {
		f.Cases = append(f.Cases, &Case{Name: name})
		return nil
	}
	if len(f.Cases) == 0 {
		return fmt.Errorf("%q comes before the first case", line)
	}
	if match := requestLine.FindStringSubmatch(line); match != nil {
		step := &Step{Line: number, method: match[1], path: match[2], headers: http.Header{}}
		if patch, ok := patches[step.method]; ok {
			step.method = http.MethodPatch
			step.headers.Set("Content-Type", string(patch))
		}
		if step.method == "WATCH" {
			step.method, step.watch = http.MethodGet, true
		}
		c := f.Cases[len(f.Cases)-1]
		c.Steps = append(c.Steps, step)
		return nil
	}
	step := f.step()
	if step == nil {
		return fmt.Errorf("%q comes before the first request", line)
	}
	return step.parseLine(line)
}

// parseLine reads a line that says more about a request.
func (s *Step) parseLine(line string) error {
	mark, rest, _ := strings.Cut(line, " ")
	switch match := captureLine.FindStringSubmatch(line); {
	case mark == "|":
		s.yaml = append(s.yaml, rest)
	case mark == ">":
		s.raw = append(s.raw, rest)
	case mark == "?":
		s.show = append(s.show, strings.Fields(rest)...)
	case mark == "~":
		s.until = rest
	case mark == "%":
		s.Deviation = rest
	case mark == "!":
		count, err := strconv.Atoi(rest)
		if err != nil {
			return err
		}
		s.events = count
	case match != nil:
		s.captures = append(s.captures, capture{match[1], match[2]})
	default:
		header := headerLine.FindStringSubmatch(line)
		if header == nil {
			return fmt.Errorf("cannot read %q", line)
		}
		s.headers.Add(header[1], header[2])
	}
	return nil
}

// Bytes writes the file with the answers that its steps have.
func (f *File) Bytes() []byte {
	var out bytes.Buffer
	at := 0
	copyTo := func(end int) {
		for ; at < end; at++ {
			fmt.Fprintln(&out, f.lines[at])
		}
	}
	for _, c := range f.Cases {
		for _, step := range c.Steps {
			copyTo(step.end)
			for _, line := range step.Answer {
				fmt.Fprintln(&out, "< "+line)
			}
		}
	}
	copyTo(len(f.lines))
	return out.Bytes()
}
