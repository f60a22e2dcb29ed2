package resource_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

// TestAnswers sends what was sent to a kube-apiserver v1.37.2 and compares the answers: their code and, of those that
// are errors, the message, reason and details.
func TestAnswers(t *testing.T) {
	data, err := os.ReadFile("testdata/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded []struct {
		Name  string `json:"name"`
		Steps []struct {
			Request string `json:"request"`
			Type    string `json:"type"`
			Body    object `json:"body"`
			Code    int    `json:"code"`
			Answer  object `json:"answer"`
		} `json:"steps"`
	}
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatal(err)
	}
	for _, scenario := range recorded {
		t.Run(scenario.Name, func(t *testing.T) {
			a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
			for _, step := range scenario.Steps {
				method, path, _ := strings.Cut(step.Request, " ")
				contentType := step.Type
				if contentType == "" {
					contentType = "application/json"
				}
				var body any
				if step.Body != nil {
					body = step.Body
				}
				code, answer := a.call(method, path, contentType, body)
				if code != step.Code {
					t.Errorf("%s %v: %d, want %d: %v", step.Request, step.Body, code, step.Code, answer.Object["message"])
					continue
				}
				if code < 400 {
					continue
				}
				got := object{}
				for key, value := range comparable(answer.Object) {
					switch key {
					case "message", "reason", "details":
						got[key] = value
					}
				}
				if diff := cmp.Diff(step.Answer, got); diff != "" {
					t.Errorf("%s %v (-real +ours):\n%s", step.Request, step.Body, diff)
				}
			}
		})
	}
}

var (
	uids  = regexp.MustCompile(`uid-\d+`)
	times = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
)

// comparable gives values that differ from server to server the names that the recording has for them.
func comparable(value any) map[string]any {
	return comparableValue("", value).(map[string]any)
}

func comparableValue(key string, value any) any {
	switch key {
	case "clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort":
		return "IP"
	}
	switch v := value.(type) {
	case map[string]any:
		result := map[string]any{}
		for key, value := range v {
			if key != "managedFields" {
				result[key] = comparableValue(key, value)
			}
		}
		return result
	case []any:
		result := make([]any, len(v))
		for i := range v {
			result[i] = comparableValue("", v[i])
		}
		return result
	case string:
		return times.ReplaceAllString(uids.ReplaceAllString(v, "UID"), "TIME")
	}
	return value
}
