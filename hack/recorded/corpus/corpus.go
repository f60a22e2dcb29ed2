// Package corpus sends a collection of manifests to an API server and makes the answers comparable with those of another
// server. What a real kube-apiserver answered is recorded once; a test of fakeapi compares.
package corpus

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"sigs.k8s.io/yaml"
)

// Case is an object that is created, and what is done with it then. Each case has a namespace of its own.
type Case struct {
	// Name is unique in the file. Load puts the name of the file before it, as in "pods/minimal".
	Name string `json:"name"`
	// Given are objects that must be there first.
	Given []map[string]any `json:"given,omitempty"`
	// Create is the object. It needs neither a name, which is "probe" unless it says otherwise, nor a namespace.
	Create map[string]any `json:"create"`
	// Then are requests about the object, in order.
	Then []Step `json:"then,omitempty"`
}

// Step is a request about the object of a case: exactly one of its fields is set.
type Step struct {
	// Update replaces the object. "${resourceVersion}" stands for the current resource version.
	Update map[string]any `json:"update,omitempty"`
	// Patch is a JSON merge patch of the object.
	Patch map[string]any `json:"patch,omitempty"`
	// Status is a JSON merge patch of the object's status subresource.
	Status map[string]any `json:"status,omitempty"`
	// Apply is the object as a server-side apply sends it.
	Apply map[string]any `json:"apply,omitempty"`
}

// Load reads the cases of all *.yaml files of a directory. Each file is a list of cases.
func Load(files fs.FS) ([]Case, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, err
	}
	var cases []Case
	seen := map[string]bool{}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		var file []Case
		if err := yaml.UnmarshalStrict(data, &file); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, c := range file {
			c.Name = strings.TrimSuffix(path.Base(name), ".yaml") + "/" + c.Name
			if seen[c.Name] {
				return nil, fmt.Errorf("%s: two cases %s", name, c.Name)
			}
			seen[c.Name] = true
			if err := c.complete(); err != nil {
				return nil, fmt.Errorf("%s: case %s: %w", name, c.Name, err)
			}
			cases = append(cases, c)
		}
	}
	return cases, nil
}

// complete checks a case and names its object.
func (c *Case) complete() error {
	if c.Create == nil {
		return fmt.Errorf("it creates nothing")
	}
	metadata, ok := c.Create["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		c.Create["metadata"] = metadata
	}
	if metadata["name"] == nil && metadata["generateName"] == nil {
		metadata["name"] = "probe"
	}
	for i, step := range c.Then {
		if _, _, err := step.request(); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

// request tells which of the fields is set.
func (s Step) request() (verb string, body map[string]any, err error) {
	for _, field := range []struct {
		verb string
		body map[string]any
	}{{"update", s.Update}, {"patch", s.Patch}, {"status", s.Status}, {"apply", s.Apply}} {
		switch {
		case field.body == nil:
		case verb != "":
			return "", nil, fmt.Errorf("both %s and %s", verb, field.verb)
		default:
			verb, body = field.verb, field.body
		}
	}
	if verb == "" {
		return "", nil, fmt.Errorf("no request")
	}
	return verb, body, nil
}
