package reports

import (
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// JUnitFlavor says for which reader a JUnit file is written: what it has beyond that which all readers know.
type JUnitFlavor string

const (
	// JUnitPortable has what the common schema of Jenkins and xUnit has, and nothing else.
	JUnitPortable JUnitFlavor = "portable"
	// JUnitGitLab adds what GitLab's test report shows: the file of a case, and a link to the bundle of a failed one.
	JUnitGitLab JUnitFlavor = "gitlab"
	// JUnitGitHub adds what actions that annotate pull requests read: the file and the line at which a case failed, and
	// properties of the case.
	JUnitGitHub JUnitFlavor = "github"
	// JUnitTestGrid adds properties of the case, those of its latency as numbers, which TestGrid draws as metrics.
	JUnitTestGrid JUnitFlavor = "testgrid"
)

// Values returns the closed list of flavours.
func (JUnitFlavor) Values() []string {
	return []string{string(JUnitPortable), string(JUnitGitLab), string(JUnitGitHub), string(JUnitTestGrid)}
}

// JUnitOptions say how WriteJUnit writes.
type JUnitOptions struct {
	// Flavor is the reader that the file is for; portable when empty.
	Flavor JUnitFlavor
	// Bundles is the directory that holds the bundles of the failed cases (see Bundle), as GitLab is to find it: relative
	// to the project. Without it, nothing is linked.
	Bundles string
}

// The names of properties of cases. Those that end in -seconds are numbers.
const (
	propertyArea       = "area"
	propertyBehavior   = "behavior"
	propertyLevel      = "level"
	propertyKubernetes = "kubernetes-version"
	propertyDuration   = "duration-seconds"
	propertySlowest    = "slowest-request-seconds"
)

// adorn adds to a case what the flavour's reader knows.
func (j *junitWriter) adorn(c *junitCase, r Result) {
	switch j.options.Flavor {
	case JUnitGitLab:
		c.File = line(r.File)
		if j.options.Bundles != "" && hasBundle(r) {
			c.SystemOut = withAttachment(c.SystemOut, path.Join(j.options.Bundles, BundlePath(r.ID), bundleReadme))
		}
	case JUnitGitHub:
		c.File, c.Line = line(r.File), failureLine(r)
		c.setProperties(j.caseProperties(r))
	case JUnitTestGrid:
		c.setProperties(append(j.caseProperties(r), latency(r)...))
	}
}

// adornVerdict adds to the case that stands for the verdict what the flavour's reader knows: the latency of all cases.
func (j *junitWriter) adornVerdict(c *junitCase) {
	switch j.options.Flavor {
	case JUnitGitHub:
		c.setProperties([]junitProperty{{propertyKubernetes, j.report.Target.Version}})
	case JUnitTestGrid:
		c.setProperties(append([]junitProperty{{propertyKubernetes, j.report.Target.Version}}, percentiles(j.report)...))
	}
}

func (c *junitCase) setProperties(all []junitProperty) {
	if set := properties(all...); len(set) > 0 {
		c.Properties = &junitProperties{set}
	}
}

// caseProperties say what a case is about.
func (j *junitWriter) caseProperties(r Result) []junitProperty {
	set := []junitProperty{{propertyArea, r.Area}}
	for _, id := range r.Behaviors {
		set = append(set, junitProperty{propertyBehavior, id})
	}
	return append(set, junitProperty{propertyLevel, string(j.level(r))}, junitProperty{propertyKubernetes, j.report.Target.Version})
}

// level is that of the behaviours of a case that is guaranteed most.
func (j *junitWriter) level(r Result) fixtures.Level {
	for _, level := range []fixtures.Level{fixtures.Must, fixtures.Should, fixtures.May} {
		if slices.ContainsFunc(r.Behaviors, func(id string) bool { return j.levels[id] == level }) {
			return level
		}
	}
	return ""
}

// latency are the times of a case that was run.
func latency(r Result) []junitProperty {
	if r.Outcome == NotRun {
		return nil
	}
	set := []junitProperty{{propertyDuration, seconds(r.Duration)}}
	if len(r.Transcript) > 0 {
		slowest := slices.MaxFunc(r.Transcript, func(a, b Step) int { return int(a.Duration - b.Duration) })
		set = append(set, junitProperty{propertySlowest, seconds(slowest.Duration)})
	}
	return set
}

// percentiles are the times within which half, 90 and 99 of a hundred, and all of the cases that ran were done.
func percentiles(r Report) []junitProperty {
	var times []time.Duration
	for _, result := range r.Results {
		if result.Outcome != NotRun {
			times = append(times, result.Duration)
		}
	}
	if len(times) == 0 {
		return nil
	}
	slices.Sort(times)
	set := []junitProperty{{propertyDuration, seconds(r.End.Sub(r.Start))}}
	for _, p := range []int{50, 90, 99, 100} {
		nearest := (p*len(times)+99)/100 - 1
		set = append(set, junitProperty{"case-p" + strconv.Itoa(p) + "-seconds", seconds(times[nearest])})
	}
	return set
}

// failureLine is the line of the fixture where the case failed; that of its row when it did not.
func failureLine(r Result) int {
	for _, f := range r.Failures {
		if f.Line > 0 {
			return f.Line
		}
	}
	return r.Line
}

// withAttachment returns the text after a line by which GitLab links a file of the job's artifacts.
func withAttachment(out *junitText, file string) *junitText {
	text := "[[ATTACHMENT|" + escaped(line(file)) + "]]\n"
	if out != nil {
		text += out.Text
	}
	return &junitText{text}
}
