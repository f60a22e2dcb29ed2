package reports

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// seen is a case as a reader of JUnit sees it.
type seen struct {
	// status is passed, failed, error or skipped, as far as the reader tells them apart; hidden when it drops the case.
	status string
	// text is what the reader shows beside the case.
	text string
	// seconds is how long the case took.
	seconds float64
	// attachment is the file that the reader links.
	attachment string
	// file and line are where the reader points.
	file string
	line int
	// properties are what the reader knows of the case by name, and metrics the means of those that are numbers.
	properties map[string][]string
	metrics    map[string]float64
}

// The readers below do in small what the programs do with a file, as far as it decides what their users see. Each
// returns the cases by the name under which the program keeps their history, and the faults for which the program would
// refuse the file or mix up cases.

// readAsJenkins reads as Jenkins' JUnit plugin does (SuiteResult, CaseResult). A case is a skipped one when it has a
// skipped element, else a failed one when it has an error or failure element; the element's text is the stack trace,
// and a case without stack trace has passed. History is kept by class and name.
func readAsJenkins(root *node) (map[string]seen, []string) {
	cases := map[string]seen{}
	var faults []string
	var suite func(n *node)
	suite = func(n *node) {
		for _, nested := range n.all("testsuite") {
			suite(nested)
		}
		if n.child("error") != nil {
			faults = append(faults, "the suite "+n.attrs["name"]+" failed to load")
		}
		for _, c := range n.all("testcase") {
			class, ok := c.attrs["classname"]
			if !ok {
				class = n.attrs["name"]
			}
			dot := strings.LastIndexByte(class, '.')
			if dot <= 0 || dot == len(class)-1 {
				faults = append(faults, fmt.Sprintf("class %q is shown in the package (root) or without a name", class))
			}
			s := seen{status: "passed"}
			problem := c.child("error")
			if problem == nil {
				problem = c.child("failure")
			}
			if problem != nil {
				s.status, s.text = "failed", problem.attrs["message"]+"\n"+problem.text
			}
			if skipped := c.child("skipped"); skipped != nil {
				s.status, s.text = "skipped", skipped.attrs["message"]
			}
			s.seconds, _ = strconv.ParseFloat(strings.ReplaceAll(c.attrs["time"], ",", ""), 64)
			key := class + "." + c.attrs["name"]
			if _, twice := cases[key]; twice {
				faults = append(faults, key+" is there twice")
			}
			cases[key] = s
		}
	}
	suite(root)
	return cases, faults
}

// hashFromXML is what Ruby on Rails' Hash.from_xml makes of an element: text when it has text (converted by its type
// attribute), else a hash of its attributes and children.
func hashFromXML(n *node) any {
	if strings.TrimSpace(n.text) != "" {
		switch n.attrs["type"] {
		case "symbol", "date", "datetime", "dateTime", "integer", "float", "double", "decimal", "boolean", "string", "yaml",
			"base64Binary", "hexBinary", "file", "duration":
			return fmt.Errorf("converted to %s", n.attrs["type"])
		}
		return n.text
	}
	if n.attrs["type"] == "array" || len(n.attrs)+len(n.children) == 0 {
		return nil
	}
	hash := map[string]any{}
	for name, value := range n.attrs {
		hash[name] = value
	}
	for _, c := range n.children {
		key := strings.ReplaceAll(c.name, "-", "_")
		value := hashFromXML(c)
		if old, ok := hash[key].([]any); ok {
			value = append(old, value)
		} else if old, ok := hash[key]; ok {
			value = []any{old, value}
		}
		hash[key] = value
	}
	return hash
}

var gitLabAttachment = regexp.MustCompile(`\[\[ATTACHMENT\|(.+?)\]\]`)

// readAsGitLab reads as GitLab's test report parser does (Gitlab::Ci::Parsers::Test::Junit over Hash.from_xml): failure
// before error before skipped, whose text is shown. History is kept by suite, class and name.
func readAsGitLab(root *node) (map[string]seen, []string) {
	cases := map[string]seen{}
	var faults []string
	var walk func(node any, nested bool)
	read := func(c, suite map[string]any) {
		s := seen{status: "passed"}
		for _, problem := range []struct{ key, status string }{{"failure", "failed"}, {"error", "error"}, {"skipped", "skipped"}} {
			value, ok := c[problem.key]
			if !ok {
				continue
			}
			text, ok := value.(string)
			if !ok {
				faults = append(faults, fmt.Sprintf("%v: the %s is no text but %v", c["name"], problem.key, value))
			}
			s.status, s.text = problem.status, text
			if out, ok := c["system_out"].(string); ok && problem.key == "failure" {
				if match := gitLabAttachment.FindStringSubmatch(out); match != nil {
					s.attachment = match[1]
				}
			}
			break
		}
		s.seconds, _ = strconv.ParseFloat(c["time"].(string), 64)
		s.file, _ = c["file"].(string)
		key := fmt.Sprintf("%v_%v_%v", suite["name"], c["classname"], c["name"])
		if _, twice := cases[key]; twice {
			faults = append(faults, key+" is there twice")
		}
		cases[key] = s
	}
	walk = func(n any, nested bool) {
		switch n := n.(type) {
		case []any:
			for _, item := range n {
				walk(item, nested)
			}
		case map[string]any:
			if !nested {
				walk(n["testsuites"], true)
			}
			tests, _ := n["testcase"].([]any)
			if one, ok := n["testcase"].(map[string]any); ok {
				tests = []any{one}
			}
			for _, c := range tests {
				read(c.(map[string]any), n)
			}
			walk(n["testsuite"], true)
		}
	}
	walk(map[string]any{root.name: hashFromXML(root)}, false)
	return cases, faults
}

// readAsTestGrid reads as TestGrid's updater does: a row for each case, named by suite and name without the class. It
// hides skipped cases that give no reason, and cuts what it shows to 140 bytes, of which the first half comes from the
// beginning. The older releases do not know error elements.
func readAsTestGrid(root *node) (map[string]seen, []string) {
	cases := map[string]seen{}
	var faults []string
	for _, suite := range root.all("testsuite") {
		for _, c := range suite.all("testcase") {
			s := seen{status: "passed"}
			for _, problem := range []struct{ element, status string }{{"error", "failed"}, {"failure", "failed"}, {"skipped", "skipped"}} {
				p := c.child(problem.element)
				if p == nil {
					continue
				}
				if s.status == "passed" {
					s.status = problem.status
					s.text = strings.Trim(p.attrs["message"]+"\n"+p.text, "\n")
				}
				if problem.element == "skipped" && strings.TrimSpace(p.text) == "" {
					s.status = "hidden"
				}
			}
			if limit := 140; len(s.text) >= limit {
				s.text = s.text[:limit/2] + "..." + s.text[len(s.text)-limit/2:]
			}
			s.properties, s.metrics = map[string][]string{}, map[string]float64{}
			if list := c.child("properties"); list != nil {
				for _, p := range list.all("property") {
					s.properties[p.attrs["name"]] = append(s.properties[p.attrs["name"]], p.attrs["value"])
				}
			}
			for name, values := range s.properties {
				sum, count := 0.0, 0.0
				for _, value := range values {
					if number, err := strconv.ParseFloat(value, 64); err == nil {
						sum, count = sum+number, count+1
					}
				}
				if count > 0 {
					s.metrics[name] = sum / count
				}
			}
			var err error
			if s.seconds, err = strconv.ParseFloat(c.attrs["time"], 64); err != nil {
				faults = append(faults, err.Error())
			}
			key := suite.attrs["name"] + "." + c.attrs["name"]
			if _, twice := cases[key]; twice {
				faults = append(faults, key+" is there twice")
			}
			cases[key] = s
		}
	}
	return cases, faults
}

// readAsGitHub reads as the actions do that annotate pull requests from JUnit files (mikepenz/action-junit-report): an
// annotation for each failed case at its file and line, titled by both and the case's name. It reads the first failure,
// else the error; a skipped case is not failed. Without a file it takes the last word of the class for one.
func readAsGitHub(root *node) (map[string]seen, []string) {
	cases := map[string]seen{}
	var faults []string
	for _, suite := range root.all("testsuite") {
		for _, c := range suite.all("testcase") {
			s := seen{status: "passed", file: c.attrs["file"]}
			problem := c.child("failure")
			if problem == nil {
				problem = c.child("error")
			}
			if problem != nil {
				s.status, s.text = "failed", strings.TrimSpace(problem.attrs["message"])
			}
			if c.child("skipped") != nil {
				s.status = "skipped"
			}
			s.seconds, _ = strconv.ParseFloat(c.attrs["time"], 64)
			if s.file == "" {
				class := c.attrs["classname"]
				s.file = class[strings.LastIndexByte(class, '.')+1:]
			}
			s.line = 1
			if n, err := strconv.Atoi(c.attrs["line"]); err == nil {
				s.line = n
			}
			key := s.file + "." + c.attrs["name"]
			if _, twice := cases[key]; twice {
				faults = append(faults, key+" is there twice")
			}
			cases[key] = s
		}
	}
	return cases, faults
}
