package reports

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// node is an element of an XML document.
type node struct {
	name     string
	attrs    map[string]string
	text     string
	children []*node
}

// all returns the children of that name.
func (n *node) all(name string) []*node {
	var found []*node
	for _, c := range n.children {
		if c.name == name {
			found = append(found, c)
		}
	}
	return found
}

// child returns the first child of that name, or nil.
func (n *node) child(name string) *node {
	if found := n.all(name); len(found) > 0 {
		return found[0]
	}
	return nil
}

// parseXML reads a document strictly: one root, one attribute of a name.
func parseXML(data []byte) (*node, error) {
	top := &node{}
	stack := []*node{top}
	for d := xml.NewDecoder(strings.NewReader(string(data))); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		current := stack[len(stack)-1]
		switch token := token.(type) {
		case xml.StartElement:
			n := &node{name: token.Name.Local, attrs: map[string]string{}}
			for _, a := range token.Attr {
				if _, twice := n.attrs[a.Name.Local]; twice {
					return nil, fmt.Errorf("%s: attribute %s is there twice", n.name, a.Name.Local)
				}
				n.attrs[a.Name.Local] = a.Value
			}
			current.children = append(current.children, n)
			stack = append(stack, n)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			current.text += string(token)
		}
	}
	if len(top.children) != 1 {
		return nil, fmt.Errorf("%d root elements", len(top.children))
	}
	return top.children[0], nil
}

// xsd validates documents by the part of XML Schema that testdata/junit.xsd uses: global elements and types, sequences
// of references with occurrences, attributes, and strings restricted by pattern and length.
type xsd struct {
	elements map[string]*node
	types    map[string]*node
}

func loadXSD(t *testing.T, path string) xsd {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	root, err := parseXML(data)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	schema := xsd{map[string]*node{}, map[string]*node{}}
	for _, c := range root.children {
		if c.name == "element" {
			schema.elements[c.attrs["name"]] = c
		} else {
			schema.types[c.attrs["name"]] = c
		}
	}
	return schema
}

func (s xsd) validate(n *node, path string) []string {
	path += "/" + n.name
	element, ok := s.elements[n.name]
	if !ok {
		return []string{path + ": no such element"}
	}
	definition := element.child("complexType")
	if definition == nil {
		definition = s.types[element.attrs["type"]]
	}
	if definition.name == "simpleType" {
		if len(n.children)+len(n.attrs) > 0 {
			return []string{path + ": must hold text alone"}
		}
		return s.value(definition, n.text, path)
	}
	faults := s.attributes(definition, n, path)
	if strings.TrimSpace(n.text) != "" && definition.attrs["mixed"] != "true" {
		faults = append(faults, fmt.Sprintf("%s: must not hold the text %q", path, n.text))
	}
	return append(faults, s.content(definition.child("sequence"), n, path)...)
}

func (s xsd) attributes(definition, n *node, path string) []string {
	var faults []string
	known := map[string]bool{}
	for _, a := range definition.all("attribute") {
		name := a.attrs["name"]
		known[name] = true
		value, ok := n.attrs[name]
		switch {
		case ok:
			faults = append(faults, s.value(s.types[a.attrs["type"]], value, path+"/@"+name)...)
		case a.attrs["use"] == "required":
			faults = append(faults, path+": attribute "+name+" is missing")
		}
	}
	for name := range n.attrs {
		if !known[name] {
			faults = append(faults, path+": attribute "+name+" is unknown")
		}
	}
	return faults
}

func (s xsd) content(sequence, n *node, path string) []string {
	var faults []string
	rest := n.children
	if sequence != nil {
		for _, ref := range sequence.all("element") {
			name := ref.attrs["ref"]
			count := 0
			for len(rest) > 0 && rest[0].name == name {
				faults = append(faults, s.validate(rest[0], path)...)
				rest = rest[1:]
				count++
			}
			if low, _ := strconv.Atoi(ref.attrs["minOccurs"]); count < low {
				faults = append(faults, fmt.Sprintf("%s: %d %s, want at least %d", path, count, name, low))
			}
			if high, err := strconv.Atoi(ref.attrs["maxOccurs"]); err == nil && count > high {
				faults = append(faults, fmt.Sprintf("%s: %d %s, want at most %d", path, count, name, high))
			}
		}
	}
	for _, c := range rest {
		faults = append(faults, fmt.Sprintf("%s: %s is out of place", path, c.name))
	}
	return faults
}

func (s xsd) value(simple *node, value, path string) []string {
	restriction := simple.child("restriction")
	var faults []string
	length := utf8.RuneCountInString(value)
	for _, facet := range restriction.children {
		limit, _ := strconv.Atoi(facet.attrs["value"])
		ok := true
		switch facet.name {
		case "pattern":
			ok = regexp.MustCompile("^(" + facet.attrs["value"] + ")$").MatchString(value)
		case "minLength":
			ok = length >= limit
		case "maxLength":
			ok = length <= limit
		}
		if !ok {
			faults = append(faults, fmt.Sprintf("%s: %q is against the %s %s", path, value, facet.name, facet.attrs["value"]))
		}
	}
	return faults
}

// TestXSDRefuses: the validator of this file sees what is wrong.
func TestXSDRefuses(t *testing.T) {
	const (
		head  = `<testsuites name="n" tests="1" failures="0" errors="0" time="0.000000">`
		suite = `<testsuite name="n" tests="1" failures="0" errors="0" skipped="0" time="0.000000" timestamp="2026-03-01T12:00:00">`
		props = `<properties><property name="a" value="b"/></properties>`
		tail  = `</testsuite></testsuites>`
	)
	schema := loadXSD(t, "testdata/junit.xsd")
	for name, tc := range map[string]struct {
		document, want string
	}{
		"right":               {head + suite + props + `<testcase classname="a.b" name="c" time="0.100000"><skipped message="m" type="t">x</skipped></testcase>` + tail, ""},
		"no suites":           {head + `</testsuites>`, "0 testsuite, want at least 1"},
		"an unknown element":  {head + suite + props + `<testcase classname="a.b" name="c" time="0.1"><flaky/></testcase>` + tail, "flaky is out of place"},
		"a wrong order":       {head + suite + `<testcase classname="a.b" name="c" time="0.100000"/>` + props + tail, "0 properties, want at least 1"},
		"two failures":        {head + suite + props + `<testcase classname="a.b" name="c" time="0.100000"><failure message="m" type="t"/><failure message="m" type="t"/></testcase>` + tail, "2 failure, want at most 1"},
		"a missing attribute": {head + suite + props + `<testcase classname="a.b" time="0.100000"/>` + tail, "attribute name is missing"},
		"an unknown one":      {head + suite + props + `<testcase classname="a.b" name="c" time="0.100000" status="run"/>` + tail, "attribute status is unknown"},
		"a class with no dot": {head + suite + props + `<testcase classname="a" name="c" time="0.100000"/>` + tail, `"a" is against the pattern`},
		"a long message":      {head + suite + props + `<testcase classname="a.b" name="c" time="0.100000"><error message="` + strings.Repeat("x", 140) + `" type="t"/></testcase>` + tail, "is against the maxLength 139"},
		"an empty name":       {head + suite + props + `<testcase classname="a.b" name="" time="0.100000"/>` + tail, `"" is against the minLength 1`},
		"stray text":          {head + suite + props + `hello<testcase classname="a.b" name="c" time="0.100000"/>` + tail, `must not hold the text "hello"`},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := parseXML([]byte(tc.document))
			if err != nil {
				t.Fatal(err)
			}
			faults := schema.validate(root, "")
			if tc.want == "" && len(faults) > 0 {
				t.Errorf("got %q, want none", faults)
			}
			if tc.want != "" && !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, tc.want) }) {
				t.Errorf("got %q, want %q", faults, tc.want)
			}
		})
	}
}
