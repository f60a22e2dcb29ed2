package corpus

import (
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strings"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// Difference is a value that two servers answer differently.
type Difference struct {
	Case, Step string
	// Field is the path of the value in the answered object, as in "spec.ports[0].name"; it is "code" when one server
	// refused and the other did not, "message" when both refused but not for the same, and "warnings" of warnings.
	Field string
	// Real and Ours are the values.
	Real, Ours string
}

func (d Difference) String() string {
	return fmt.Sprintf("%s, %s, %s:\n\treal: %s\n\tours: %s", d.Case, d.Step, d.Field, d.Real, d.Ours)
}

// Compare tells how two answers to the same request differ, field by field.
func Compare(real, ours Answer) []Difference {
	if refused(real) != refused(ours) {
		return []Difference{{real.Case, real.Step, "code", outcome(real), outcome(ours)}}
	}
	if refused(real) && real.Object["message"] != ours.Object["message"] {
		return []Difference{{real.Case, real.Step, "message", outcome(real), outcome(ours)}}
	}
	var found reporter
	cmp.Equal(real.Object, ours.Object, cmp.Reporter(&found))
	if !cmp.Equal(real.Warnings, ours.Warnings) {
		found.differences = append(found.differences, Difference{
			Field: "warnings", Real: fmt.Sprintf("%q", real.Warnings), Ours: fmt.Sprintf("%q", ours.Warnings),
		})
	}
	for i := range found.differences {
		found.differences[i].Case, found.differences[i].Step = real.Case, real.Step
	}
	return found.differences
}

func refused(a Answer) bool { return a.Code >= http.StatusBadRequest }

func outcome(a Answer) string {
	if refused(a) {
		return fmt.Sprintf("%d %v", a.Code, a.Object["message"])
	}
	return fmt.Sprint(a.Code)
}

// reporter collects what go-cmp finds.
type reporter struct {
	path        cmp.Path
	differences []Difference
}

func (r *reporter) PushStep(step cmp.PathStep) { r.path = append(r.path, step) }

func (r *reporter) PopStep() { r.path = r.path[:len(r.path)-1] }

func (r *reporter) Report(result cmp.Result) {
	if result.Equal() {
		return
	}
	real, ours := r.path.Last().Values()
	r.differences = append(r.differences, Difference{Field: fieldName(r.path), Real: show(real), Ours: show(ours)})
}

func show(value reflect.Value) string {
	if !value.IsValid() {
		return "(none)"
	}
	return fmt.Sprintf("%v", value)
}

// fieldName writes a path in the way of the API's error messages.
func fieldName(path cmp.Path) string {
	var name strings.Builder
	for _, step := range path {
		switch s := step.(type) {
		case cmp.MapIndex:
			switch key := s.Key().String(); {
			case strings.ContainsAny(key, "./"):
				fmt.Fprintf(&name, "[%s]", key)
			case name.Len() == 0:
				name.WriteString(key)
			default:
				name.WriteString("." + key)
			}
		case cmp.SliceIndex:
			index, other := s.SplitKeys()
			fmt.Fprintf(&name, "[%d]", max(index, other))
		}
	}
	return name.String()
}

// Known are differences that are there for a reason.
type Known struct {
	Reason string  `json:"reason"`
	At     []Place `json:"at"`
}

// Place is where differences are. In its patterns * stands for any text; an empty one matches everything.
type Place struct {
	Case  string `json:"case,omitempty"`
	Step  string `json:"step,omitempty"`
	Field string `json:"field,omitempty"`
}

// ReadKnown reads a list of known differences.
func ReadKnown(data []byte) ([]Known, error) {
	var known []Known
	if err := yaml.UnmarshalStrict(data, &known); err != nil {
		return nil, fmt.Errorf("known differences: %w", err)
	}
	return known, nil
}

// Unexplained returns the differences that are not known, and the places of known ones where there is none.
func Unexplained(differences []Difference, known []Known) (unknown []Difference, gone []Place) {
	explained := make([]bool, len(differences))
	for _, k := range known {
		for _, place := range k.At {
			found := false
			for i, d := range differences {
				if place.holds(d) {
					explained[i], found = true, true
				}
			}
			if !found {
				gone = append(gone, place)
			}
		}
	}
	for i, d := range differences {
		if !explained[i] {
			unknown = append(unknown, d)
		}
	}
	return unknown, gone
}

func (p Place) holds(d Difference) bool {
	return like(p.Case, d.Case) && like(p.Step, d.Step) && like(p.Field, d.Field)
}

func like(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	expression := "^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$"
	return regexp.MustCompile(expression).MatchString(text)
}
