package corpus

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type object = map[string]any

// What stands for values that the server made up and that differ from one server, or run, to the next.
const (
	someUID     = "${uid}"
	someVersion = "${resourceVersion}"
	someTime    = "${time}"
	someAddress = "${address}"
	somePort    = "${port}"
	someSuffix  = "${suffix}"
	someDigest  = "X509SHA256=${digest}"
)

// seen is what is known of a case when its answers are read.
type seen struct {
	// given are the scalars of the case's requests, which an answer repeats as they are.
	given map[string]bool
	// made is the name that the server made, madeAs what stands for it.
	made, madeAs string
}

func newSeen(c Case) *seen {
	s := &seen{given: map[string]bool{}}
	s.give(c.Create)
	for _, step := range c.Then {
		_, body, _ := step.request() // Load has checked it
		s.give(body)
	}
	return s
}

func (s *seen) give(value any) {
	switch v := value.(type) {
	case object:
		for _, value := range v {
			s.give(value)
		}
	case []any:
		for _, value := range v {
			s.give(value)
		}
	default:
		s.given[fmt.Sprint(v)] = true
	}
}

// comparable returns an answer with what the server made up replaced by names, and in an order that does not depend on
// the time of day.
func (s *seen) comparable(answer object) object {
	u := &unstructured.Unstructured{Object: answer}
	if base := u.GetGenerateName(); base != "" {
		s.made, s.madeAs = u.GetName(), base+someSuffix
	}
	result := s.value("", answer).(object)
	if metadata, ok := result["metadata"].(object); ok {
		sortManagedFields(metadata)
	}
	return result
}

var (
	timestamp = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)
	uid       = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	digest    = regexp.MustCompile(`X509SHA256=[0-9a-f]{64}`)
)

func (s *seen) value(key string, value any) any {
	switch v := value.(type) {
	case object:
		result := object{}
		for key, value := range v {
			result[s.text(key)] = s.value(key, value)
		}
		return result
	case []any:
		result := make([]any, len(v))
		for i := range v {
			result[i] = s.value(key, v[i])
		}
		return result
	case string:
		return s.scalar(key, v)
	case float64:
		if (key == "nodePort" || key == "healthCheckNodePort") && !s.given[fmt.Sprint(v)] {
			return somePort
		}
	}
	return value
}

func (s *seen) scalar(key, value string) string {
	switch {
	case s.given[value]:
		return value
	case key == "resourceVersion":
		return someVersion
	case timestamp.MatchString(value):
		return someTime
	}
	if _, err := netip.ParseAddr(value); err == nil {
		return someAddress
	}
	return s.text(value)
}

// text replaces what the server made inside a longer text.
func (s *seen) text(text string) string {
	if s.made != "" {
		text = strings.ReplaceAll(text, s.made, s.madeAs)
	}
	text = digest.ReplaceAllString(text, strings.ReplaceAll(someDigest, "$", "$$"))
	return uid.ReplaceAllStringFunc(text, func(found string) string {
		if s.given[found] {
			return found
		}
		return someUID
	})
}

// sortManagedFields orders the entries by everything but their times, by which servers do.
func sortManagedFields(metadata object) {
	entries, ok := metadata["managedFields"].([]any)
	if !ok {
		return
	}
	key := func(entry any) string {
		e, _ := entry.(object)
		data, _ := json.Marshal([]any{e["operation"], e["manager"], e["subresource"], e["apiVersion"]}) // of strings
		return string(data)
	}
	slices.SortStableFunc(entries, func(a, b any) int { return strings.Compare(key(a), key(b)) })
}
