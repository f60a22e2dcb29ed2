package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

func answered(t *testing.T, code int, body string, warnings ...string) *answer {
	t.Helper()
	a := &answer{code: code, headers: map[string]any{"content-type": []any{"application/json"}}, warnings: warnings, body: []byte(body)}
	if body != "" && body[0] == '{' {
		a.object = parse(t, body)
	}
	return a
}

const (
	podBody    = `{"kind": "Pod", "metadata": {"name": "x"}}`
	deniedBody = `{"kind": "Status", "status": "Failure", "message": "admission webhook denied: no", "reason": "Forbidden", "code": 403}`
	// invalidBody has three causes, two of them for one field.
	invalidBody = `{"kind": "Status", "message": "a is invalid", "reason": "Invalid", "code": 422, "details": {"name": "a", "kind": "Pod", "causes": [
	  {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.a"},
	  {"reason": "FieldValueInvalid", "message": "Invalid value: 1: too small", "field": "spec.a"},
	  {"reason": "FieldValueInvalid", "message": "Invalid value: 2", "field": "spec.b"}]}}`
)

func TestCheckAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		expect fixtures.Expect
		code   int
		body   string
		warn   []string
		want   []string
	}{
		"success":                 {fixtures.Expect{}, 201, podBody, nil, nil},
		"failure instead":         {fixtures.Expect{}, 403, deniedBody, nil, []string{"expect"}},
		"success instead":         {fixtures.Expect{Error: &fixtures.ExpectError{}}, 201, podBody, nil, []string{"expect.error"}},
		"code":                    {fixtures.Expect{Code: 200}, 201, podBody, nil, []string{"expect.code"}},
		"right code":              {fixtures.Expect{Code: 201}, 201, podBody, nil, nil},
		"object":                  {fixtures.Expect{Object: map[string]any{"kind": "Pod", "metadata": map[string]any{"name": "y"}}}, 200, podBody, nil, []string{"expect.object.metadata.name"}},
		"object without a body":   {fixtures.Expect{Object: map[string]any{}}, 200, "", nil, []string{"expect.object"}},
		"assert":                  {fixtures.Expect{Assert: []string{"object.kind == 'Pod'", "code == 200", "headers['content-type'][0] == 'application/json'", "warnings == []"}}, 200, podBody, nil, nil},
		"assert fails":            {fixtures.Expect{Assert: []string{"object.kind == 'Node'"}}, 200, podBody, nil, []string{"expect.assert[0]"}},
		"assert on nothing":       {fixtures.Expect{Assert: []string{"object.spec.x == 1"}}, 200, podBody, nil, []string{"expect.assert[0]"}},
		"any failure":             {fixtures.Expect{Error: &fixtures.ExpectError{}}, 500, "plain text", nil, nil},
		"error code of no Status": {fixtures.Expect{Error: &fixtures.ExpectError{Code: 500}}, 503, "plain text", nil, []string{"expect.error.code"}},
		"reason of no Status":     {fixtures.Expect{Error: &fixtures.ExpectError{Code: 500, Reason: "InternalError"}}, 500, "plain text", nil, []string{"expect.error"}},
		"error":                   {fixtures.Expect{Error: &fixtures.ExpectError{Code: 403, Reason: "Forbidden", Message: "denied: .o$"}}, 403, deniedBody, nil, nil},
		"error of another kind": {
			fixtures.Expect{Error: &fixtures.ExpectError{Code: 422, Reason: "Invalid", Message: "^denied"}}, 403, deniedBody, nil,
			[]string{"expect.error.code", "expect.error.reason", "expect.error.message"},
		},
		"details": {fixtures.Expect{Error: &fixtures.ExpectError{Details: fixtures.Object{"name": "b", "group": nil}}}, 422, invalidBody, nil, []string{"expect.error.details.name"}},
		"causes": {fixtures.Expect{Error: &fixtures.ExpectError{Causes: []fixtures.Cause{
			{Field: "spec.b", Reason: "FieldValueInvalid"}, {Field: "spec.a"}, {Field: "spec.a", Reason: "FieldValueRequired", Message: "Required"},
		}}}, 422, invalidBody, nil, nil},
		"missing cause": {fixtures.Expect{Error: &fixtures.ExpectError{Causes: []fixtures.Cause{
			{Field: "spec.a", Message: "too small"}, {Field: "spec.a", Message: "too small"},
		}}}, 422, invalidBody, nil, []string{"expect.error.causes[1]"}},
		"only causes": {fixtures.Expect{Error: &fixtures.ExpectError{OnlyCauses: true, Causes: []fixtures.Cause{{Field: "spec.a"}, {Field: "spec.b"}}}}, 422, invalidBody, nil, []string{"expect.error.onlyCauses"}},
		"all causes":  {fixtures.Expect{Error: &fixtures.ExpectError{OnlyCauses: true, Causes: []fixtures.Cause{{Field: "spec.a"}, {Field: "spec.a"}, {Field: "spec.b"}}}}, 422, invalidBody, nil, nil},
		"no causes":   {fixtures.Expect{Error: &fixtures.ExpectError{Causes: []fixtures.Cause{{Field: "spec.a"}}}}, 403, deniedBody, nil, []string{"expect.error.causes[0]"}},

		"warnings do not matter":  {fixtures.Expect{}, 200, podBody, []string{"w"}, nil},
		"no warnings":             {fixtures.Expect{Warnings: []string{}}, 200, podBody, []string{"w"}, []string{"expect.warnings"}},
		"warnings":                {fixtures.Expect{Warnings: []string{"a.*", "b"}}, 200, podBody, []string{"a b c", "b"}, nil},
		"warnings match as whole": {fixtures.Expect{Warnings: []string{"a|b"}}, 200, podBody, []string{"ab"}, []string{"expect.warnings[0]"}},
		"warnings in order":       {fixtures.Expect{Warnings: []string{"a", "b"}}, 200, podBody, []string{"b", "a"}, []string{"expect.warnings[0]", "expect.warnings[1]"}},
	} {
		t.Run(name, func(t *testing.T) {
			failures, err := checkAnswer(test.expect, answered(t, test.code, test.body, test.warn...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, paths(failures)); diff != "" {
				t.Errorf("places that differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckAnswerRefusesBrokenExpectations(t *testing.T) {
	for name, expect := range map[string]fixtures.Expect{
		"message": {Error: &fixtures.ExpectError{Message: "("}},
		"cause":   {Error: &fixtures.ExpectError{Causes: []fixtures.Cause{{Message: "("}}}},
		"warning": {Error: &fixtures.ExpectError{}, Warnings: []string{"("}},
		"assert":  {Error: &fixtures.ExpectError{}, Assert: []string{"object."}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := checkAnswer(expect, answered(t, 403, deniedBody, "w")); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestStoredAs(t *testing.T) {
	for name, test := range map[string]struct {
		expected any
		code     int
		want     []string
	}{
		"is stored":         {true, 200, nil},
		"is not":            {true, 404, []string{"expect.stored"}},
		"should not":        {false, 200, []string{"expect.stored"}},
		"should not, isn't": {false, 404, nil},
		"as":                {map[string]any{"kind": "Pod"}, 200, nil},
		"otherwise":         {map[string]any{"kind": "Node"}, 200, []string{"expect.stored.kind"}},
		"as, is not":        {map[string]any{"kind": "Pod"}, 404, []string{"expect.stored"}},
	} {
		t.Run(name, func(t *testing.T) {
			failures, err := storedAs("/x", test.expected, answered(t, test.code, podBody))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, paths(failures)); diff != "" {
				t.Errorf("places that differ (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := storedAs("/x", false, answered(t, 500, deniedBody)); err == nil {
		t.Error("no error when the server cannot tell what is stored")
	}
}
