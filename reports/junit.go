package reports

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// The parts of a JUnit file. They are those that all readers know, in the order in which they are written.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Timestamp  string          `xml:"timestamp,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitProperties struct {
		Properties []junitProperty `xml:"property"`
	}
	// junitCase is a case. File, Line and Properties are of some flavours alone.
	junitCase struct {
		ClassName  string           `xml:"classname,attr"`
		Name       string           `xml:"name,attr"`
		Time       string           `xml:"time,attr"`
		File       string           `xml:"file,attr,omitempty"`
		Line       int              `xml:"line,attr,omitempty"`
		Properties *junitProperties `xml:"properties"`
		Failure    *junitProblem    `xml:"failure"`
		Error      *junitProblem    `xml:"error"`
		Skipped    *junitProblem    `xml:"skipped"`
		SystemOut  *junitText       `xml:"system-out"`
	}
	// junitProblem is why a case did not pass. Its type is no name of an XML or Ruby type: GitLab's reader would
	// convert the text to it.
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",innerxml"`
	}
	junitText struct {
		Text string `xml:",innerxml"`
	}
)

const (
	// messageLimit is the length in bytes up to which TestGrid shows a message whole, and so of every message.
	messageLimit = 139
	// bodyLimit is the length in bytes up to which a request's or an answer's body is written to system-out.
	bodyLimit = 8 << 10
	// verdictName is the name of the case that stands for the verdict.
	verdictName = "verdict"
	// classPrefix begins every class name.
	classPrefix = "gatehouse"
)

// WriteJUnit writes the report as a JUnit XML file that Jenkins, GitLab and TestGrid read alike: a suite for each area,
// a case for each result, and first a case named verdict, which has a failure exactly when the exit status is 1 and an
// error exactly when it is 3. Known failures are skipped cases. A flavour adds what its reader alone knows.
func WriteJUnit(w io.Writer, r Report, o JUnitOptions) error {
	j := &junitWriter{report: r, options: o, statements: r.statements(), levels: map[string]fixtures.Level{}, names: uniqueNames{}}
	for _, b := range r.Behaviors {
		j.levels[b.ID] = b.Level
	}
	out := junitSuites{Name: classPrefix, Time: seconds(r.End.Sub(r.Start))}
	out.Suites = append(out.Suites, j.verdictSuite())
	for _, area := range r.Areas {
		if s, ok := j.areaSuite(area); ok {
			out.Suites = append(out.Suites, s)
		}
	}
	for _, s := range out.Suites {
		out.Tests += s.Tests
		out.Failures += s.Failures
		out.Errors += s.Errors
	}
	data, err := xml.MarshalIndent(out, "", "  ")
	if err != nil {
		return fmt.Errorf("writing JUnit: %w", err)
	}
	_, err = io.WriteString(w, xml.Header+string(data)+"\n")
	return err
}

// junitWriter is what the suites and cases of a file are made of.
type junitWriter struct {
	report     Report
	options    JUnitOptions
	statements map[string]string
	levels     map[string]fixtures.Level
	names      uniqueNames
}

// verdictSuite holds the case that stands for the verdict, and what the run was.
func (j *junitWriter) verdictSuite() junitSuite {
	r := j.report
	c := junitCase{ClassName: classPrefix + "." + verdictName, Name: j.names.unique(verdictName), Time: seconds(0)}
	problem := &junitProblem{
		Message: cut(line(verdictLine(r)), messageLimit),
		Type:    verdictName,
		Text:    escaped(verdictText(r).String()),
	}
	switch r.ExitStatus {
	case 0:
		c.SystemOut = systemOut(verdictText(r))
	case 1:
		c.Failure = problem
	default:
		c.Error = problem
	}
	j.adornVerdict(&c)
	s := newSuite(verdictName, r.Start, []junitCase{c}, 0)
	s.Properties = append(properties(
		junitProperty{"verdict", string(r.Verdict)},
		junitProperty{"exit-status", strconv.Itoa(r.ExitStatus)},
		junitProperty{"gatehouse-version", r.Suite},
		junitProperty{"target", r.Target.Name},
		junitProperty{"kubernetes-version", r.Target.Version},
		junitProperty{"server", r.Target.Server},
		junitProperty{"server-flags", strings.Join(r.Target.Flags, " ")},
		junitProperty{"selection", r.Selection.String()},
		junitProperty{"interrupted", r.Interrupted},
	), policyProperties(r.PolicyTests)...)
	return s
}

// policyProperties are the expression coverage of policy tests, as a whole and of each expression.
func policyProperties(t *PolicyTests) []junitProperty {
	if t == nil || len(t.Policies) == 0 {
		return nil
	}
	covered, all := t.Covered()
	found := []junitProperty{{"expression-coverage", fmt.Sprintf("%d%%: %d of %d outcomes", percent(covered, all), covered, all)}}
	for _, p := range t.Policies {
		for _, e := range p.Expressions {
			name := strings.Join([]string{"expression", p.Kind, p.Name, strings.TrimPrefix(e.Path, "spec.")}, "/")
			value := e.tally()
			if missing := e.missing(); missing != "" {
				value = missing + ": " + value
			}
			found = append(found, junitProperty{line(name), fmt.Sprintf("%s (%s)", value, place(p.File, e.Line))})
		}
	}
	return properties(found...)
}

// properties returns those that have a value, clean.
func properties(all ...junitProperty) []junitProperty {
	var set []junitProperty
	for _, p := range all {
		if p.Value = line(p.Value); p.Value != "" {
			set = append(set, p)
		}
	}
	return set
}

// areaSuite returns the suite of an area; ok is false when the area has no cases.
func (j *junitWriter) areaSuite(area Area) (suite junitSuite, ok bool) {
	r := j.report
	var cases []junitCase
	var sum time.Duration
	var start time.Time
	for _, result := range r.Results {
		if result.Area != area.ID {
			continue
		}
		if start.IsZero() || !result.Start.IsZero() && result.Start.Before(start) {
			start = result.Start
		}
		sum += max(result.Duration, 0)
		cases = append(cases, j.newCase(result))
	}
	if len(cases) == 0 {
		return junitSuite{}, false
	}
	if start.IsZero() {
		start = r.Start
	}
	s := newSuite(cmp.Or(line(area.ID), "cases"), start, cases, sum)
	b := area.BehaviorCounts
	s.Properties = properties(
		junitProperty{"title", area.Title},
		junitProperty{"target", r.Target.Name},
		junitProperty{"kubernetes-version", r.Target.Version},
		junitProperty{"behaviors-held", strconv.Itoa(b.Held)},
		junitProperty{"behaviors-failed", strconv.Itoa(b.Failed)},
		junitProperty{"behaviors-unproven", strconv.Itoa(b.Unproven)},
		junitProperty{"behaviors-not-applicable", strconv.Itoa(b.NotApplicable)},
	)
	return s, true
}

func newSuite(name string, start time.Time, cases []junitCase, sum time.Duration) junitSuite {
	s := junitSuite{
		Name:      name,
		Tests:     len(cases),
		Time:      seconds(sum),
		Timestamp: start.UTC().Format("2006-01-02T15:04:05"),
		Cases:     cases,
	}
	for _, c := range cases {
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
	return s
}

func (j *junitWriter) newCase(r Result) junitCase {
	c := junitCase{
		ClassName: className(r.ID),
		Name:      j.names.unique(cmp.Or(line(r.ID), "case")),
		Time:      seconds(r.Duration),
		SystemOut: systemOut(transcript(r)),
	}
	problem := func(kind string) *junitProblem {
		return &junitProblem{
			Message: cut(summary(r), messageLimit),
			Type:    kind,
			Text:    escaped(summary(r) + "\n" + detail(r, j.statements).String()),
		}
	}
	switch r.Outcome {
	case Pass:
		c.SystemOut = systemOut(append(decided(r), leftOut(r)...))
	case Fail:
		c.Failure = problem("expectation")
		c.Failure.Text += escaped(again(j.report, r).String())
	case KnownFail:
		c.Skipped = problem("known-failure")
	case Warn:
		c.Skipped = problem("warning")
	case NotRun:
		c.Skipped = problem("not-run")
	default:
		c.Error = problem("environment")
		c.Error.Text += escaped(again(j.report, r).String())
	}
	j.adorn(&c, r)
	return c
}

// systemOut returns nil for no text.
func systemOut(t text) *junitText {
	if len(t) == 0 {
		return nil
	}
	return &junitText{escaped(t.String())}
}

// escaped returns clean text as XML. The encoder would write its newlines as references, which people cannot read.
func escaped(s string) string { return xmlEscapes.Replace(s) }

var xmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// className is the dotted path of the case's fixture file below the product's name.
func className(id string) string {
	parts := strings.FieldsFunc(line(path.Dir(id)), func(r rune) bool { return r == '/' || r == '.' || r == ' ' })
	if len(parts) == 0 {
		parts = []string{"cases"}
	}
	return classPrefix + "." + strings.Join(parts, ".")
}

// seconds is a duration as JUnit has it.
func seconds(d time.Duration) string { return strconv.FormatFloat(max(d, 0).Seconds(), 'f', 6, 64) }

// uniqueNames are the names that are taken. Readers put cases of one name together, and a report of contradicting
// results may have two of one id.
type uniqueNames map[string]bool

func (u uniqueNames) unique(name string) string {
	unique := name
	for n := 2; u[unique]; n++ {
		unique = fmt.Sprintf("%s (%d)", name, n)
	}
	u[unique] = true
	return unique
}
