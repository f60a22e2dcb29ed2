package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/gatehouse-dev/gatehouse/reports"
)

// parse reads a YAML value as the decoder of answers gives it.
func parse(t *testing.T, text string) any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	v, err := decodeJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// paths are the places of failures.
func paths(failures []reports.Failure) []string {
	var list []string
	for _, f := range failures {
		list = append(list, f.Path)
	}
	return list
}

func TestSubset(t *testing.T) {
	for name, test := range map[string]struct {
		expected, actual string
		want             []string
	}{
		"equal scalars":                  {`a`, `a`, nil},
		"other string":                   {`a`, `b`, []string{"o"}},
		"string and number":              {`"1"`, `1`, []string{"o"}},
		"bool and string":                {`true`, `"true"`, []string{"o"}},
		"integer and float of one value": {`{x: 1}`, `{x: 1.0}`, nil},
		"float and integer":              {`{x: 1.5}`, `{x: 1}`, []string{"o.x"}},
		"integers that differ where floats cannot tell": {`9007199254740993`, `9007199254740992`, []string{"o"}},
		"further fields do not matter":                  {`{a: 1}`, `{a: 1, b: 2}`, nil},
		"missing field":                                 {`{a: 1, c: 3}`, `{a: 1, b: 2}`, []string{"o.c"}},
		"every difference is told":                      {`{a: 1, b: 2, c: {d: 3}}`, `{a: 0, c: {d: 4}}`, []string{"o.a", "o.b", "o.c.d"}},
		"null means absent":                             {`{a: null}`, `{b: 1}`, nil},
		"null and a field that is there":                {`{a: null}`, `{a: 0}`, []string{"o.a"}},
		"null and a field that is null":                 {`{a: null}`, `{a: null}`, nil},
		"a field that is null is no value":              {`{a: ""}`, `{a: null}`, []string{"o.a"}},
		"empty map must be there":                       {`{a: {}}`, `{b: 1}`, []string{"o.a"}},
		"empty map is a subset of any":                  {`{a: {}}`, `{a: {b: 1}}`, nil},
		"map and list":                                  {`{a: {}}`, `{a: []}`, []string{"o.a"}},
		"list and map":                                  {`{a: []}`, `{a: {}}`, []string{"o.a"}},
		"list and nothing":                              {`{a: []}`, `{}`, []string{"o.a"}},
		"scalar and map":                                {`{a: x}`, `{a: {x: 1}}`, []string{"o.a"}},
		"elements are subsets":                          {`[{a: 1}, {b: 2}]`, `[{a: 1, x: 0}, {b: 2, y: 0}]`, nil},
		"elements in another order":                     {`[a, b]`, `[b, a]`, []string{"o[0]", "o[1]"}},
		"list of another length":                        {`[a]`, `[a, b]`, []string{"o"}},
		"empty list and elements":                       {`[]`, `[a]`, []string{"o"}},
		"key that is no name":                           {`{example.com/a: 1}`, `{example.com/a: 2}`, []string{`o["example.com/a"]`}},
		"key with a hyphen":                             {`{a-b: 1}`, `{a-b: 2}`, []string{"o.a-b"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := paths(subset("o", parse(t, test.expected), parse(t, test.actual)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("places that differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSubsetShowsBothSides(t *testing.T) {
	got := subset("object", parse(t, `{spec: {replicas: 3}}`), parse(t, `{spec: {replicas: {x: 1}}}`))
	want := []reports.Failure{{Path: "object.spec.replicas", Message: "has another value", Expected: "3", Actual: "x: 1"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

func TestNormalizeGivesTheNumbersOfAnswers(t *testing.T) {
	got, err := normalize(map[string]any{"a": uint64(1), "b": 2, "c": 1.5, "d": []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"a": int64(1), "b": int64(2), "c": 1.5, "d": []any{"x"}}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("normalize (-want +got):\n%s", diff)
	}
}
