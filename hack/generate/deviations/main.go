// Command deviations writes fakeapi/DEVIATIONS.md: in what fakeapi differs from a real kube-apiserver. It gathers what the
// recorded comparisons mark, and the list of what they cannot show, testdata/deviations.yaml. It is run by go generate in
// the directory fakeapi.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gatehouse-dev/gatehouse/hack/recorded/console"
	"github.com/gatehouse-dev/gatehouse/hack/recorded/corpus"
	"github.com/gatehouse-dev/gatehouse/hack/recorded/exchange"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: deviations FILE")
		os.Exit(2)
	}
	page, err := page("testdata")
	if err == nil {
		err = os.WriteFile(os.Args[1], page, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "deviations:", err)
		os.Exit(1)
	}
}

// area is a section of the hand-kept list.
type area struct {
	Area  string `json:"area"`
	Items []struct {
		What string `json:"what"`
		Why  string `json:"why"`
	} `json:"items"`
}

// page writes the page from the files of a testdata directory.
func page(testdata string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(testdata, "deviations.yaml"))
	if err != nil {
		return nil, err
	}
	var areas []area
	if err := yaml.UnmarshalStrict(data, &areas); err != nil {
		return nil, fmt.Errorf("deviations.yaml: %w", err)
	}
	out := &bytes.Buffer{}
	out.WriteString("# Deviations\n\nIn what fakeapi differs from a kube-apiserver v1.37.2, and why. This page is written by `make generate`, from\n" +
		"`testdata/deviations.yaml` and from what the comparisons with the real server's recorded answers mark as different.\n")
	for _, a := range areas {
		fmt.Fprintf(out, "\n## %s\n\n", a.Area)
		for _, item := range a.Items {
			fmt.Fprintf(out, "- %s *%s*\n", item.What, item.Why)
		}
	}
	for _, section := range []struct {
		title string
		read  func(string) ([]string, error)
	}{
		{"In the corpus of manifests", corpusDeviations},
		{"In the recorded exchanges", exchangeDeviations},
		{"In the recorded sessions of kubectl", kubectlDeviations},
	} {
		lines, err := section.read(testdata)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(out, "\n## %s\n\n", section.title)
		for _, line := range lines {
			fmt.Fprintf(out, "- %s\n", line)
		}
	}
	return out.Bytes(), nil
}

// corpusDeviations are the listed differences of the corpus, with where they show.
func corpusDeviations(testdata string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(testdata, "corpus", "differences.yaml"))
	if err != nil {
		return nil, err
	}
	known, err := corpus.ReadKnown(data)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, k := range known {
		var places []string
		for _, at := range k.At {
			place := "`" + strings.TrimSpace(at.Case+" "+at.Step) + "`"
			if !slices.Contains(places, place) {
				places = append(places, place)
			}
		}
		lines = append(lines, k.Reason+" "+strings.Join(places, ", "))
	}
	return lines, nil
}

func exchangeDeviations(testdata string) ([]string, error) {
	return marked(filepath.Join(testdata, "exchanges", "*.txt"), func(data []byte, mark func(deviation, place string)) error {
		file, err := exchange.Parse(data)
		if err != nil {
			return err
		}
		for _, c := range file.Cases {
			for _, step := range c.Steps {
				mark(step.Deviation, c.Name)
			}
		}
		return nil
	})
}

func kubectlDeviations(testdata string) ([]string, error) {
	return marked(filepath.Join(testdata, "kubectl", "*.txt"), func(data []byte, mark func(deviation, place string)) error {
		session, err := console.Parse(data)
		if err != nil {
			return err
		}
		for _, command := range session.Commands {
			mark(command.Deviation, command.Line)
		}
		return nil
	})
}

// marked gathers the deviations that files mark, each with the places where it shows.
func marked(pattern string, read func(data []byte, mark func(deviation, place string)) error) ([]string, error) {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no file matches %s", pattern)
	}
	var order []string
	places := map[string][]string{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		err = read(data, func(deviation, place string) {
			if deviation == "" {
				return
			}
			if places[deviation] == nil {
				order = append(order, deviation)
			}
			if place = "`" + name + ": " + place + "`"; !slices.Contains(places[deviation], place) {
				places[deviation] = append(places[deviation], place)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	var lines []string
	for _, deviation := range order {
		lines = append(lines, strings.ToUpper(deviation[:1])+deviation[1:]+": "+strings.Join(places[deviation], ", "))
	}
	return lines, nil
}
