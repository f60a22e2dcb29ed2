package resource_test

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

// TestDefaults creates what was created, as a dry run, on a kube-apiserver v1.37.2, and compares the answers.
func TestDefaults(t *testing.T) {
	data, err := os.ReadFile("testdata/defaults.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded []struct {
		Request object `json:"request"`
		Answer  object `json:"answer"`
	}
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatal(err)
	}
	for i, probe := range recorded {
		request := unstructured.Unstructured{Object: probe.Request}
		t.Run(fmt.Sprintf("%d-%s", i, request.GetKind()), func(t *testing.T) {
			a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
			answer := a.do("POST", collectionPath(t, a.catalogue, &request)+"?dryRun=All", probe.Request)
			if diff := cmp.Diff(probe.Answer, comparable(answer.Object)); diff != "" {
				t.Errorf("answer (-real +ours):\n%s", diff)
			}
		})
	}
}

// collectionPath is where objects of a kind are created, in the namespace default if anywhere.
func collectionPath(t *testing.T, c *resource.Catalogue, u *unstructured.Unstructured) string {
	t.Helper()
	found, ok := c.ForKind(u.GroupVersionKind())
	if !ok {
		t.Fatalf("kind %s is not served", u.GroupVersionKind())
	}
	prefix := "/apis/"
	if found.GVR.Group == "" {
		prefix = "/api/"
	}
	if found.Namespaced {
		return prefix + found.GVR.GroupVersion().String() + "/namespaces/default/" + found.GVR.Resource
	}
	return prefix + found.GVR.GroupVersion().String() + "/" + found.GVR.Resource
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
