package runner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/fixtures/expr"
	"github.com/gatehouse-dev/gatehouse/reports"
)

// call is a webhook call that came in, in the form that expectations read: decoded JSON.
type call struct {
	hook    string
	review  map[string]any
	headers map[string]any // lower-case names to lists of values
	url     string
	// protocol and serverName are of the connection that the call came over.
	protocol, serverName string
}

func (c call) request() map[string]any {
	request, _ := c.review["request"].(map[string]any)
	return request
}

// lastAttempts leaves out the calls of attempts that the server gave up. A server that began an update or a deletion
// with an outdated object repeats the whole attempt, webhooks included, with the object as it is stored; only the last
// attempt counts. The attempts on one object (request.oldObject.metadata.uid) differ in
// request.oldObject.metadata.resourceVersion. Calls without an oldObject are never left out.
func lastAttempts(calls []call) []call {
	last := map[string]string{}
	for _, c := range calls {
		if uid, version := oldVersion(c); uid != "" {
			last[uid] = version
		}
	}
	return slices.DeleteFunc(slices.Clone(calls), func(c call) bool {
		uid, version := oldVersion(c)
		return uid != "" && last[uid] != version
	})
}

func oldVersion(c call) (uid, version string) {
	old, _ := c.request()["oldObject"].(map[string]any)
	metadata, _ := old["metadata"].(map[string]any)
	uid, _ = metadata["uid"].(string)
	version, _ = metadata["resourceVersion"].(string)
	return uid, version
}

// expectedCall is one call that a group asks for.
type expectedCall struct {
	fixtures.Call
	path string
}

// checkCalls compares the calls that came in during a step with the expected sequence. Calls of one group may come in
// any order; groups come one after the other.
func checkCalls(expected fixtures.Calls, calls []call) ([]reports.Failure, error) {
	groups := expand(expected)
	var fallback []segment
	var unmet error
	matched := segments(groups, calls, func(cut []segment) bool {
		if fallback == nil {
			fallback = slices.Clone(cut)
		}
		failures, err := checkSegments(cut, calls)
		if err != nil {
			unmet = err
		}
		return len(failures) == 0 && err == nil
	})
	switch {
	case matched:
		return nil, nil
	case unmet != nil:
		return nil, unmet
	case fallback != nil:
		return checkSegments(fallback, calls)
	}
	names := make([]any, len(calls))
	for i, c := range calls {
		names[i] = c.hook
	}
	message := "webhooks should have been called otherwise"
	switch {
	case len(calls) == 0:
		message = "no webhook was called"
	case len(expected) == 0:
		message = "no webhook should have been called"
	}
	return []reports.Failure{{
		Path: "expect.calls", Message: fmt.Sprintf("%s: expected %s, got %s", message, describe(groups), inline(names)),
		Expected: toYAML(sketch(groups)), Actual: toYAML(names),
	}}, nil
}

// expand writes out the calls that are expected several times.
func expand(expected fixtures.Calls) [][]expectedCall {
	groups := make([][]expectedCall, len(expected))
	for i, group := range expected {
		for j, c := range group {
			path := fmt.Sprintf("expect.calls[%d]", i)
			if len(group) > 1 {
				path += fmt.Sprintf("[%d]", j)
			}
			for range max(c.Times, 1) {
				groups[i] = append(groups[i], expectedCall{Call: c, path: path})
			}
		}
	}
	return groups
}

// segment is a group of expected calls and the calls, from index start to end, that stand for it.
type segment struct {
	group      []expectedCall
	start, end int
}

// segments cuts the calls into one segment a group, by the names of the servers alone, in every way there is, until
// accept likes one.
func segments(groups [][]expectedCall, calls []call, accept func([]segment) bool) bool {
	var cut []segment
	var search func(start int) bool
	search = func(start int) bool {
		if len(cut) == len(groups) {
			return start == len(calls) && accept(cut)
		}
		group := groups[len(cut)]
		for end := min(start+len(group), len(calls)); end >= start; end-- {
			if !covers(group, calls[start:end]) {
				continue
			}
			cut = append(cut, segment{group: group, start: start, end: end})
			if search(end) {
				return true
			}
			cut = cut[:len(cut)-1]
		}
		return false
	}
	return search(0)
}

// covers reports whether the calls are, by name, all that the group requires and nothing that it does not name.
func covers(group []expectedCall, calls []call) bool {
	required, allowed := map[string]int{}, map[string]int{}
	for _, want := range group {
		allowed[want.Hook]++
		if !want.Optional {
			required[want.Hook]++
		}
	}
	for _, got := range calls {
		allowed[got.hook]--
		required[got.hook]--
		if allowed[got.hook] < 0 {
			return false
		}
	}
	for _, missing := range required {
		if missing > 0 {
			return false
		}
	}
	return true
}

func checkSegments(cut []segment, calls []call) ([]reports.Failure, error) {
	var failures []reports.Failure
	for _, s := range cut {
		found, err := checkGroup(s, calls)
		if err != nil {
			return nil, err
		}
		failures = append(failures, found...)
	}
	return failures, nil
}

// checkGroup pairs the calls of a segment with the group's expectations so that everything holds, and where no such
// pairing exists reports the differences of the pairing in order.
func checkGroup(s segment, calls []call) ([]reports.Failure, error) {
	group := slices.Clone(s.group)
	// required expectations come first, so that assign serves them first
	slices.SortStableFunc(group, func(a, b expectedCall) int {
		switch {
		case a.Optional == b.Optional:
			return 0
		case b.Optional:
			return -1
		}
		return 1
	})
	count := s.end - s.start
	differences := make([][][]reports.Failure, len(group)) // by expectation, then by call
	for i, want := range group {
		differences[i] = make([][]reports.Failure, count)
		for j := range count {
			if calls[s.start+j].hook != want.Hook {
				continue
			}
			found, err := checkCall(want, calls, s.start+j)
			if err != nil {
				return nil, err
			}
			differences[i][j] = found
		}
	}
	sameName := func(i, j int) bool { return calls[s.start+j].hook == group[i].Hook }
	given := assign(len(group), count, func(i, j int) bool { return sameName(i, j) && len(differences[i][j]) == 0 })
	if fulfilled(group, given, count) {
		return nil, nil
	}
	var failures []reports.Failure
	for i, j := range assign(len(group), count, sameName) {
		if j >= 0 {
			failures = append(failures, differences[i][j]...)
		}
	}
	return failures, nil
}

// fulfilled reports whether every required expectation was given a call and no call is left over.
func fulfilled(group []expectedCall, given []int, calls int) bool {
	for i, j := range given {
		if j >= 0 {
			calls--
		} else if !group[i].Optional {
			return false
		}
	}
	return calls == 0
}

// checkCall compares the call with that index with what is expected of it. An error says that a condition is broken.
func checkCall(want expectedCall, calls []call, index int) ([]reports.Failure, error) {
	got := calls[index]
	var failures []reports.Failure
	if want.Request != nil {
		expected, err := normalize(want.Request)
		if err != nil {
			return nil, fmt.Errorf("%s.request: %w", want.path, err)
		}
		failures = subset(want.path+".request", expected, anyMap(got.request()))
	}
	if len(want.Assert) == 0 {
		return failures, nil
	}
	reviews := make([]any, index+1)
	for i := range reviews {
		reviews[i] = calls[i].review
	}
	variables := map[string]any{
		"review": got.review, "request": anyMap(got.request()), "headers": got.headers, "url": got.url, "calls": reviews,
		"protocol": got.protocol, "serverName": got.serverName,
		"object": got.request()["object"], "oldObject": got.request()["oldObject"], "options": got.request()["options"],
	}
	unmet, err := checkAsserts(want.path+".assert", expr.Call, want.Assert, variables, got.review)
	return append(failures, unmet...), err
}

// checkAsserts evaluates conditions; shown is what a failure shows as the actual value. An error says that a condition
// cannot be compiled. A condition whose evaluation fails, for instance because a field is missing, does not hold.
func checkAsserts(path string, scope expr.Scope, conditions []string, variables map[string]any, shown any) ([]reports.Failure, error) {
	var failures []reports.Failure
	for i, condition := range conditions {
		at := fmt.Sprintf("%s[%d]", path, i)
		compiled, err := expr.Compile(scope, condition)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", at, condition, err)
		}
		holds, err := compiled.Holds(variables)
		switch {
		case err != nil:
			failures = append(failures, reports.Failure{Path: at, Message: "cannot be evaluated: " + err.Error(), Expected: condition, Actual: toYAML(shown)})
		case !holds:
			failures = append(failures, reports.Failure{Path: at, Message: "does not hold: " + condition, Expected: condition, Actual: toYAML(shown)})
		}
	}
	return failures, nil
}

// anyMap turns a nil map into a nil value, so that it reads as absent.
func anyMap(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}

// sketch is the expected sequence as a fixture writes it, by names.
func sketch(groups [][]expectedCall) []any {
	list := []any{}
	for _, group := range groups {
		names := []any{}
		for _, c := range group {
			name := c.Hook
			if c.Optional {
				name += "?"
			}
			names = append(names, name)
		}
		if len(names) == 1 {
			list = append(list, names[0])
		} else {
			list = append(list, names)
		}
	}
	return list
}

func describe(groups [][]expectedCall) string { return inline(sketch(groups)) }

// inline writes nested lists of names in one line.
func inline(list []any) string {
	parts := make([]string, len(list))
	for i, entry := range list {
		if nested, ok := entry.([]any); ok {
			parts[i] = inline(nested)
		} else {
			parts[i] = fmt.Sprint(entry)
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
