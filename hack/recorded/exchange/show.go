package exchange

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

// find returns the values at a JSONPath; none when there is no such field.
func find(object any, path string) ([]any, error) {
	query := jsonpath.New("show").AllowMissingKeys(true)
	if err := query.Parse("{" + path + "}"); err != nil {
		return nil, err
	}
	results, err := query.FindResults(object)
	if err != nil {
		return nil, err
	}
	var values []any
	for _, result := range results {
		for _, value := range result {
			if value.IsValid() {
				values = append(values, value.Interface())
			}
		}
	}
	return values, nil
}

// names gives what differs from run to run a name, the same for the same value.
type names struct {
	// versions are the resource versions that answers have had.
	versions map[string]bool
	// named are the names by value, counts how many there are by kind.
	named  map[string]string
	counts map[string]int
}

func newNames() *names {
	return &names{versions: map[string]bool{}, named: map[string]string{}, counts: map[string]int{}}
}

func (n *names) name(kind, value string) string {
	if _, ok := n.named[value]; !ok {
		n.counts[kind]++
		n.named[value] = fmt.Sprintf("<%s%d>", kind, n.counts[kind])
	}
	return n.named[value]
}

// learn collects the resource versions in an answer.
func (n *names) learn(value any) {
	switch v := value.(type) {
	case map[string]any:
		if version, ok := v["resourceVersion"].(string); ok && len(version) > 2 {
			n.versions[version] = true
		}
		for _, child := range v {
			n.learn(child)
		}
	case []any:
		for _, child := range v {
			n.learn(child)
		}
	}
}

// sortManagers puts the managed fields in objects in order of their managers; in answers they are in that of their times,
// which count in seconds.
func sortManagers(value any) {
	switch v := value.(type) {
	case map[string]any:
		if entries, ok := v["managedFields"].([]any); ok {
			slices.SortStableFunc(entries, func(a, b any) int { return strings.Compare(managerOf(a), managerOf(b)) })
		}
		for _, child := range v {
			sortManagers(child)
		}
	case []any:
		for _, child := range v {
			sortManagers(child)
		}
	}
}

func managerOf(entry any) string {
	fields, _ := entry.(map[string]any)
	return fmt.Sprint(fields["manager"], " ", fields["operation"], " ", fields["subresource"], " ", fields["apiVersion"])
}

var (
	uidPattern    = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	timePattern   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	numberPattern = regexp.MustCompile(`\d{3,}`)
	// currentPattern is where messages tell the latest or oldest resource version that the server has.
	currentPattern = regexp.MustCompile(`(too old resource version: \d+ \(|Too large resource version: \d+, current: )\d+`)
	tokenPattern   = regexp.MustCompile(`[A-Za-z0-9_-]{40,}`)
)

// text replaces what differs from run to run in a text.
func (n *names) text(text string) string {
	text = currentPattern.ReplaceAllString(text, "$1<current>")
	text = tokenPattern.ReplaceAllStringFunc(text, n.token)
	text = uidPattern.ReplaceAllStringFunc(text, func(uid string) string { return n.name("uid", uid) })
	text = timePattern.ReplaceAllString(text, "<time>")
	return numberPattern.ReplaceAllStringFunc(text, func(number string) string {
		if n.versions[number] {
			return n.name("rv", number)
		}
		return number
	})
}

// token shows where a list goes on.
func (n *names) token(token string) string {
	data, err := base64.RawURLEncoding.DecodeString(token)
	var decoded struct {
		Version int64  `json:"rv"`
		Start   string `json:"start"`
	}
	if err != nil || json.Unmarshal(data, &decoded) != nil || decoded.Start == "" {
		return token
	}
	return fmt.Sprintf("<continue at %q>", strings.TrimSuffix(decoded.Start, "\x00"))
}

// show shows the values at paths, each on a line of its own.
func (n *names) show(object any, paths []string) ([]string, error) {
	var lines []string
	for _, path := range paths {
		values, err := find(object, path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		var texts []string
		for _, value := range values {
			text, err := encode(value)
			if err != nil {
				return nil, err
			}
			texts = append(texts, n.text(text))
		}
		lines = append(lines, strings.TrimSpace(path+" "+strings.Join(texts, " ")))
	}
	return lines, nil
}

// status shows a Status, and nothing of other objects.
func (n *names) status(object map[string]any) ([]string, error) {
	if object["kind"] != "Status" || object["apiVersion"] != "v1" {
		return nil, nil
	}
	line := n.text(strings.TrimSpace(fmt.Sprint(orEmpty(object["status"]), " ", orEmpty(object["reason"]))))
	if message := orEmpty(object["message"]); message != "" {
		line += ": " + strings.ReplaceAll(n.text(message), "\n", `\n`)
	}
	lines := []string{line}
	if details, ok := object["details"]; ok {
		text, err := encode(details)
		if err != nil {
			return nil, err
		}
		lines = append(lines, n.text(text))
	}
	return lines, nil
}

func orEmpty(value any) string {
	text, _ := value.(string)
	return text
}

// encode shows a string as it is and anything else as JSON.
func encode(value any) (string, error) {
	if text, ok := value.(string); ok {
		return text, nil
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSpace(out.String()), err
}
