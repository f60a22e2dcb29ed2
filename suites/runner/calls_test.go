package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// called is a call of a server with that request.
func called(t *testing.T, hook, request string) call {
	t.Helper()
	return call{hook: hook, review: map[string]any{"request": parse(t, request)}, headers: map[string]any{}, url: "https://" + hook}
}

func calledInOrder(t *testing.T, hooks ...string) []call {
	t.Helper()
	calls := make([]call, len(hooks))
	for i, hook := range hooks {
		calls[i] = called(t, hook, `{uid: u, kind: {kind: Pod}}`)
	}
	return calls
}

func one(c fixtures.Call) fixtures.CallGroup { return fixtures.CallGroup{c} }

func by(name string) fixtures.Call { return fixtures.Call{Hook: name} }

func optional(name string) fixtures.Call { return fixtures.Call{Hook: name, Optional: true} }

func inOrder(names ...string) fixtures.Calls {
	var calls fixtures.Calls
	for _, name := range names {
		calls = append(calls, one(by(name)))
	}
	return calls
}

func TestCallsInOrder(t *testing.T) {
	anyOrder := func(calls ...fixtures.Call) fixtures.Calls { return fixtures.Calls{calls} }
	for name, test := range map[string]struct {
		expected fixtures.Calls
		calls    []string
		ok       bool
	}{
		"none":                                    {nil, nil, true},
		"one that was not expected":               {nil, []string{"a"}, false},
		"one that did not come":                   {inOrder("a"), nil, false},
		"in order":                                {inOrder("a", "b", "a"), []string{"a", "b", "a"}, true},
		"in another order":                        {inOrder("a", "b"), []string{"b", "a"}, false},
		"one too many":                            {inOrder("a"), []string{"a", "a"}, false},
		"another server":                          {inOrder("a"), []string{"b"}, false},
		"a group in its order":                    {anyOrder(by("a"), by("b")), []string{"a", "b"}, true},
		"a group in another order":                {anyOrder(by("a"), by("b")), []string{"b", "a"}, true},
		"a group with one missing":                {anyOrder(by("a"), by("b")), []string{"b"}, false},
		"a group with one twice":                  {anyOrder(by("a"), by("b")), []string{"a", "a"}, false},
		"groups do not mix":                       {fixtures.Calls{{by("a"), by("b")}, {by("c")}}, []string{"a", "c", "b"}, false},
		"groups one after the other":              {fixtures.Calls{{by("a"), by("b")}, {by("c")}}, []string{"b", "a", "c"}, true},
		"times":                                   {fixtures.Calls{one(fixtures.Call{Hook: "a", Times: 2}), one(by("b"))}, []string{"a", "a", "b"}, true},
		"times, once":                             {fixtures.Calls{one(fixtures.Call{Hook: "a", Times: 2}), one(by("b"))}, []string{"a", "b"}, false},
		"optional that came":                      {fixtures.Calls{one(optional("a")), one(by("b"))}, []string{"a", "b"}, true},
		"optional that did not come":              {fixtures.Calls{one(optional("a")), one(by("b"))}, []string{"b"}, true},
		"optional does not take what is required": {fixtures.Calls{one(optional("a")), one(by("a"))}, []string{"a"}, true},
		"optional alone":                          {fixtures.Calls{one(optional("a"))}, nil, true},
		"optional comes once":                     {fixtures.Calls{one(optional("a"))}, []string{"a", "a"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			failures, err := checkCalls(test.expected, calledInOrder(t, test.calls...))
			if err != nil {
				t.Fatal(err)
			}
			if ok := len(failures) == 0; ok != test.ok {
				t.Errorf("as expected: %v, want %v; failures: %+v", ok, test.ok, failures)
			}
		})
	}
}

func TestCallsContent(t *testing.T) {
	asks := func(hook string, request fixtures.Object, asserts ...string) fixtures.Call {
		return fixtures.Call{Hook: hook, Request: request, Assert: asserts}
	}
	create, update := `{operation: CREATE, object: {metadata: {name: x}}}`, `{operation: UPDATE, object: {metadata: {name: x}}, oldObject: {metadata: {name: x}}}`
	for name, test := range map[string]struct {
		expected fixtures.Calls
		calls    [][2]string // hook and request
		want     []string
	}{
		"request is a subset": {fixtures.Calls{one(asks("a", fixtures.Object{"operation": "CREATE"}))}, [][2]string{{"a", create}}, nil},
		"request differs": {
			fixtures.Calls{one(asks("a", fixtures.Object{"operation": "DELETE", "object": nil}))}, [][2]string{{"a", create}},
			[]string{"expect.calls[0].request.object", "expect.calls[0].request.operation"},
		},
		"second call differs": {
			fixtures.Calls{one(by("a")), one(asks("b", fixtures.Object{"operation": "CREATE"}))}, [][2]string{{"a", create}, {"b", update}},
			[]string{"expect.calls[1].request.operation"},
		},
		"a group's calls are told apart by content": {
			fixtures.Calls{{asks("a", fixtures.Object{"operation": "UPDATE"}), asks("a", fixtures.Object{"operation": "CREATE"})}},
			[][2]string{{"a", create}, {"a", update}}, nil,
		},
		"a group's call that fits none": {
			fixtures.Calls{{asks("a", fixtures.Object{"operation": "UPDATE"}), asks("b", fixtures.Object{"operation": "UPDATE"})}},
			[][2]string{{"b", create}, {"a", update}}, []string{"expect.calls[0][1].request.operation"},
		},
		"an optional call by content": {
			fixtures.Calls{{fixtures.Call{Hook: "a", Optional: true}, asks("a", fixtures.Object{"operation": "CREATE"})}},
			[][2]string{{"a", create}}, nil,
		},
		"an optional call that came must fit": {
			fixtures.Calls{one(fixtures.Call{Hook: "a", Optional: true, Request: fixtures.Object{"operation": "UPDATE"}})},
			[][2]string{{"a", create}}, []string{"expect.calls[0].request.operation"},
		},
		"the way to cut that fits is found": {
			fixtures.Calls{one(fixtures.Call{Hook: "a", Optional: true, Request: fixtures.Object{"operation": "UPDATE"}}), one(asks("a", fixtures.Object{"operation": "CREATE"})), one(optional("a"))},
			[][2]string{{"a", create}, {"a", update}}, nil,
		},
		"every call of times is checked": {
			fixtures.Calls{one(fixtures.Call{Hook: "a", Times: 2, Request: fixtures.Object{"operation": "CREATE"}})},
			[][2]string{{"a", create}, {"a", update}}, []string{"expect.calls[0].request.operation"},
		},
		"asserts hold": {
			fixtures.Calls{one(by("a")), one(asks("b", nil, "object.metadata.name == 'x'", "oldObject.metadata.name == 'x'", "request.operation == 'UPDATE'",
				"review.request == request", "calls.size() == 2 && calls[0].request.operation == 'CREATE'", "url == 'https://b'"))},
			[][2]string{{"a", create}, {"b", update}}, nil,
		},
		"an assert does not hold": {
			fixtures.Calls{one(asks("a", nil, "true", "request.operation == 'UPDATE'"))}, [][2]string{{"a", create}}, []string{"expect.calls[0].assert[1]"},
		},
		"an assert on what is missing does not hold": {
			fixtures.Calls{one(asks("a", nil, "request.missing == 'UPDATE'"))}, [][2]string{{"a", create}}, []string{"expect.calls[0].assert[0]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var calls []call
			for _, c := range test.calls {
				calls = append(calls, called(t, c[0], c[1]))
			}
			failures, err := checkCalls(test.expected, calls)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, paths(failures)); diff != "" {
				t.Errorf("places that differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCallsSayWhatCameInstead(t *testing.T) {
	failures, err := checkCalls(fixtures.Calls{one(by("a")), {by("b"), optional("c")}}, calledInOrder(t, "b", "a"))
	if err != nil || len(failures) != 1 {
		t.Fatalf("failures %+v, error %v; want one failure", failures, err)
	}
	const want = "webhooks should have been called otherwise: expected [a, [b, c?]], got [b, a]"
	if got := failures[0].Message; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

func TestCallsRefuseABrokenAssert(t *testing.T) {
	_, err := checkCalls(fixtures.Calls{one(fixtures.Call{Hook: "a", Assert: []string{"request."}})}, calledInOrder(t, "a"))
	if err == nil {
		t.Error("no error for an assert that cannot be compiled")
	}
}

func TestLastAttempts(t *testing.T) {
	const (
		created = `{operation: CREATE, object: {metadata: {name: x}}, oldObject: null}`
		old1    = `{operation: UPDATE, oldObject: {metadata: {uid: one, resourceVersion: "1"}}}`
		old2    = `{operation: UPDATE, oldObject: {metadata: {uid: one, resourceVersion: "2"}}}`
		other   = `{operation: DELETE, oldObject: {metadata: {uid: two, resourceVersion: "1"}}}`
	)
	for name, test := range map[string]struct{ calls, want [][2]string }{
		"nothing":                         {nil, nil},
		"creations stay":                  {[][2]string{{"a", created}, {"a", created}}, [][2]string{{"a", created}, {"a", created}}},
		"one attempt stays":               {[][2]string{{"a", old1}, {"b", old1}}, [][2]string{{"a", old1}, {"b", old1}}},
		"an attempt that was given up":    {[][2]string{{"a", old1}, {"a", old2}, {"b", old2}}, [][2]string{{"a", old2}, {"b", old2}}},
		"objects of a collection stay":    {[][2]string{{"a", old1}, {"a", other}}, [][2]string{{"a", old1}, {"a", other}}},
		"one object of them was repeated": {[][2]string{{"a", old1}, {"a", other}, {"a", old2}}, [][2]string{{"a", other}, {"a", old2}}},
	} {
		t.Run(name, func(t *testing.T) {
			build := func(list [][2]string) []call {
				calls := []call{}
				for _, c := range list {
					calls = append(calls, called(t, c[0], c[1]))
				}
				return calls
			}
			got := lastAttempts(build(test.calls))
			if diff := cmp.Diff(build(test.want), got, cmp.AllowUnexported(call{})); diff != "" {
				t.Errorf("calls that count (-want +got):\n%s", diff)
			}
		})
	}
}
