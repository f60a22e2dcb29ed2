package cel

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTrace(t *testing.T) {
	scope := NewScope(true)
	scope.Declare("limit", "5", Stored)
	scope.Declare("names", "[string(object.metadata.name), 'other']", Stored)
	for _, tt := range []struct{ source, want string }{
		{"object.data.x == 'old'", `object.data.x == "old": "new" == "old" is false`},
		{"7 <= variables.limit", `7 <= variables.limit: 7 <= 5 is false`},
		{"1 == 2", `1 == 2 is false`},
		{"object.data.x == 'new' && !(size(object.data) > variables.limit - 1)", `
object.data.x == "new": "new" == "new" is true
size(object.data) > variables.limit - 1: 1 > 4 is false
size(object.data): size({"x": "new"}) is 1
variables.limit - 1: 5 - 1 is 4`},
		{"object.data.x == 'old' && object.data.missing == ''", `object.data.x == "old": "new" == "old" is false`},
		{"object.data.missing == ''", `object.data.missing == "" failed: no such key: missing`},
		{"has(object.data.missing) || object.metadata.name.startsWith('x')", `
has(object.data.missing) is false
object.metadata.name.startsWith("x"): "probe".startsWith("x") is false`},
		{"variables.names.all(n, n.size() > variables.limit - 1 && n != 'other')", `
variables.names.all(n, n.size() > variables.limit - 1 && n != "other") is false
n.size() > variables.limit - 1: 5 > 4 is true
n.size(): "other".size() is 5
variables.limit - 1: 5 - 1 is 4
n != "other": "other" != "other" is false`},
		{"has(object.data.x) ? object.data.x == 'old' : object.metadata.name == ''", `
has(object.data.x) is true
object.data.x == "old": "new" == "old" is false`},
		{"object.?data.missing.orValue('none') == oldObject.data['x']", `
object.?data.missing.orValue("none") == oldObject.data["x"]: "none" == "old" is false
object.?data.missing.orValue("none"): none.orValue("none") is "none"`},
		{"duration('1h') > duration('2h') || timestamp('2026-01-01T00:00:00Z') < timestamp('2025-01-01T00:00:00Z')", `
duration("1h") > duration("2h"): 3600s > 7200s is false
duration("1h") is 3600s
duration("2h") is 7200s
timestamp("2026-01-01T00:00:00Z") < timestamp("2025-01-01T00:00:00Z"): 2026-01-01T00:00:00Z < 2025-01-01T00:00:00Z is false
timestamp("2026-01-01T00:00:00Z") is 2026-01-01T00:00:00Z
timestamp("2025-01-01T00:00:00Z") is 2025-01-01T00:00:00Z`},
		{"authorizer.group('').resource('secrets').check('get').allowed()", `
authorizer.group("").resource("secrets").check("get").allowed(): kubernetes.authorization.Decision.allowed() is false
authorizer.group("").resource("secrets").check("get"): kubernetes.authorization.ResourceCheck.check("get") is kubernetes.authorization.Decision
authorizer.group("").resource("secrets"): kubernetes.authorization.GroupCheck.resource("secrets") is kubernetes.authorization.ResourceCheck
authorizer.group(""): kubernetes.authorization.Authorizer.group("") is kubernetes.authorization.GroupCheck`},
		{"object.data.x + '" + strings.Repeat("y", 200) + "' == ''", `
object.data.x + "` + strings.Repeat("y", 200) + `" == "": "new` + strings.Repeat("y", 97) + `..." == "" is false
object.data.x + "` + strings.Repeat("y", 200) + `": "new" + "` + strings.Repeat("y", 200) + `" is "new` + strings.Repeat("y", 97) + `..."`},
	} {
		t.Run(tt.source[:min(len(tt.source), 40)], func(t *testing.T) {
			x := scope.Compile(tt.source, Validation, Stored)
			if x.Err != nil {
				t.Fatal(x.Err)
			}
			evaluation := scope.Evaluate(t.Context(), probe(), PolicyBudget)
			if _, err := evaluation.Eval(t.Context(), x); err != nil {
				t.Fatal(err)
			}
			budget := evaluation.Budget()
			var got []string
			for _, part := range evaluation.Trace(t.Context(), x) {
				line := part.Source
				if part.Filled != "" {
					line += ": " + part.Filled
				}
				if part.Failed {
					line += " failed: " + part.Value
				} else {
					line += " is " + part.Value
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(strings.Split(strings.TrimPrefix(tt.want, "\n"), "\n"), got); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
			if evaluation.Budget() != budget {
				t.Errorf("the budget went from %d to %d", budget, evaluation.Budget())
			}
		})
	}
}

func TestTraceOfWhatDoesNotCompile(t *testing.T) {
	x := Compile("object.", Validation, false, Stored)
	if parts := (*Scope)(nil).Evaluate(t.Context(), probe(), PolicyBudget).Trace(t.Context(), x); parts != nil {
		t.Errorf("parts %v of an expression that does not compile", parts)
	}
}

// BenchmarkTrace compares an evaluation with a trace of the same expression.
func BenchmarkTrace(b *testing.B) {
	x := Compile("object.data.all(k, k.size() < 5) && object.metadata.name == 'other'", Validation, false, Stored)
	for _, what := range []string{"evaluation", "trace"} {
		b.Run(what, func(b *testing.B) {
			evaluation := (*Scope)(nil).Evaluate(b.Context(), probe(), 1<<62)
			for b.Loop() {
				if what == "trace" {
					evaluation.Trace(b.Context(), x)
				} else if _, err := evaluation.Eval(b.Context(), x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
