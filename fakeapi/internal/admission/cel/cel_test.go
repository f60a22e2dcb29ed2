package cel

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// probe is the input of the tests: the update of a ConfigMap ns/probe, asked for as v1 and seen as v2 of another
// resource.
func probe() *Input {
	object := func(x string) *corev1.ConfigMap {
		return &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: "ns"},
			Data:       map[string]string{"x": x},
			BinaryData: map[string][]byte{"b": []byte("hello")},
		}
	}
	alice := &user.DefaultInfo{Name: "alice", UID: "1", Groups: []string{"g"}, Extra: map[string][]string{"k": {"v"}}}
	attributes := &admission.VersionedAttributes{
		Attributes: admission.NewAttributesRecord(object("new"), object("old"), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
			"ns", "probe", schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "sub", admission.Update,
			&metav1.UpdateOptions{TypeMeta: metav1.TypeMeta{Kind: "UpdateOptions"}}, true, alice),
		VersionedKind: schema.GroupVersionKind{Group: "g", Version: "v2", Kind: "Map"},
	}
	attributes.VersionedObject.Set(object("new"))
	attributes.VersionedOldObject.Set(object("old"))
	return &Input{
		Attributes: attributes,
		Resource:   schema.GroupVersionResource{Group: "g", Version: "v2", Resource: "maps"},
		Authorizer: authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
			if a.GetVerb() == "get" && a.GetResource() == "configmaps" && a.GetSubresource() == "sub" && a.GetName() == "probe" {
				return authorizer.DecisionAllow, "because", nil
			}
			return authorizer.DecisionNoOpinion, "", errors.New("no rule")
		}),
		Namespace: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: "ns", UID: "2", Labels: map[string]string{"env": "test"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}, OwnerReferences: []metav1.OwnerReference{{Name: "o"}},
		}},
		Params: &corev1.Secret{TypeMeta: metav1.TypeMeta{Kind: "Secret"}, Data: map[string][]byte{"s": []byte("hello")}},
	}
}

func TestWhatExpressionsSee(t *testing.T) {
	for _, expression := range []string{
		"object.data.x == 'new' && oldObject.data.x == 'old'",
		"object.binaryData.b == 'aGVsbG8='",
		"object.metadata.namespace == 'ns' && object.kind == 'ConfigMap'",
		"!has(object.metadata.labels) && !has(object.immutable)",
		"request.kind.group + '/' + request.kind.version + '/' + request.kind.kind == 'g/v2/Map'",
		"request.resource.group + '/' + request.resource.version + '/' + request.resource.resource == 'g/v2/maps'",
		"request.requestKind.group + '/' + request.requestKind.version + '/' + request.requestKind.kind == '/v1/ConfigMap'",
		"request.requestResource.version + '/' + request.requestResource.resource == 'v1/configmaps'",
		"request.subResource == 'sub' && request.requestSubResource == 'sub'",
		"request.name == 'probe' && request.namespace == 'ns' && request.operation == 'UPDATE' && request.dryRun",
		"request.userInfo.username == 'alice' && request.userInfo.uid == '1' && request.userInfo.groups == ['g'] && request.userInfo.extra == {'k': ['v']}",
		"request.options.kind == 'UpdateOptions'",
		"!has(dyn(request).uid) || dyn(request).uid == ''",
		"!has(dyn(request).object) || dyn(request).object == null",
		"namespaceObject.metadata.labels == {'env': 'test'}",
		"!has(dyn(namespaceObject).metadata.managedFields) && !has(dyn(namespaceObject).metadata.ownerReferences)",
		"params.kind == 'Secret' && params.data.s == 'aGVsbG8='",
		"authorizer.requestResource.check('get').allowed() && authorizer.requestResource.check('get').reason() == 'because'",
		"authorizer.group('').resource('configmaps').subresource('sub').namespace('ns').name('probe').check('get').allowed()",
		"authorizer.path('/healthz').check('get').errored() && authorizer.path('/healthz').check('get').error() == 'no rule'",
	} {
		t.Run(expression, func(t *testing.T) {
			compiled := Compile(expression, Validation, true, New)
			if compiled.Err != nil {
				t.Fatal(compiled.Err)
			}
			result, err := (*Scope)(nil).Evaluate(t.Context(), probe(), PolicyBudget).Eval(t.Context(), compiled)
			if err != nil || result.Err != nil {
				t.Fatal(err, result.Err)
			}
			if result.Value != types.True {
				t.Errorf("is %v", result.Value)
			}
		})
	}
}

func TestNothingToSee(t *testing.T) {
	in := probe()
	in.Attributes = &admission.VersionedAttributes{Attributes: in.Attributes.Attributes}
	in.Namespace, in.Params, in.Authorizer = nil, nil, nil
	for expression, want := range map[string]string{
		"object == null && oldObject == null && params == null && namespaceObject == null": "",
		"object.metadata.name == ''":                   "no such key: metadata",
		"params.x == 1":                                "no such key: x",
		"namespaceObject.metadata.name == ''":          "no such key: metadata",
		"authorizer.path('/x').check('get').allowed()": "no such attribute(s): authorizer",
	} {
		t.Run(expression, func(t *testing.T) {
			result, err := (*Scope)(nil).Evaluate(t.Context(), in, PolicyBudget).Eval(t.Context(), Compile(expression, Validation, true, New))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if result.Err != nil {
				got = result.Err.Error()
			}
			if want != "" {
				want = "expression '" + expression + "' resulted in error: " + want
			}
			if got != want {
				t.Errorf("error %q, want %q", got, want)
			}
		})
	}
}

func TestModes(t *testing.T) {
	const newest = "[1].includes(1)" // came with Kubernetes 1.37
	if Compile(newest, Validation, false, New).Err == nil {
		t.Errorf("%s compiles as a new expression", newest)
	}
	if err := Compile(newest, Validation, false, Stored).Err; err != nil {
		t.Errorf("%s does not compile as a stored expression: %v", newest, err)
	}
}

func TestVariables(t *testing.T) {
	for _, tt := range []struct {
		name       string
		variables  []string // name = expression
		expression string
		want       ref.Val
		err        string
	}{
		{name: "composed", variables: []string{"a = object.data.x", "b = [string(variables.a), 'b']"}, expression: "variables.b == ['new', 'b']", want: types.True},
		{name: "not read", variables: []string{"bad = object.data.y"}, expression: "true || variables.bad", want: types.True},
		{
			name: "read", variables: []string{"bad = object.data.y"}, expression: "variables.bad == ''",
			err: `expression 'variables.bad == ''' resulted in error: composited variable "bad" fails to evaluate: no such key: y`,
		},
		{
			name: "does not compile", variables: []string{"bad = nope"}, expression: "variables.bad == ''",
			err: "expression 'variables.bad == ''' resulted in error: composited variable \"bad\" fails to compile: compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')\n | nope\n | ^",
		},
		{
			name: "through another", variables: []string{"bad = object.data.y", "b = variables.bad"}, expression: "variables.b == ''",
			err: `expression 'variables.b == ''' resulted in error: composited variable "b" fails to evaluate: composited variable "bad" fails to evaluate: no such key: y`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			scope := NewScope(false)
			for _, v := range tt.variables {
				name, expression, _ := strings.Cut(v, " = ")
				scope.Declare(name, expression, Stored)
			}
			compiled := scope.Compile(tt.expression, Validation, Stored)
			if compiled.Err != nil {
				t.Fatal(compiled.Err)
			}
			result, err := scope.Evaluate(t.Context(), probe(), PolicyBudget).Eval(t.Context(), compiled)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if result.Err != nil {
				got = result.Err.Error()
			}
			if got != tt.err || result.Value != tt.want {
				t.Errorf("%v, error %q; want %v, error %q", result.Value, got, tt.want, tt.err)
			}
		})
	}
}

// TestBudget spends a budget on expressions that cost 3 each, the first of which reads a variable that costs 3 too.
func TestBudget(t *testing.T) {
	scope := NewScope(false)
	scope.Declare("a", "object.data.x", Stored)
	compiled := scope.Compile("variables.a == 'new'", Validation, Stored)
	if compiled.Err != nil {
		t.Fatal(compiled.Err)
	}
	spend := func(budget int64) (evaluated int, left int64, err error) {
		evaluation := scope.Evaluate(t.Context(), probe(), budget)
		for range 3 {
			if _, err := evaluation.Eval(t.Context(), compiled); err != nil {
				return evaluated, evaluation.Budget(), err
			}
			evaluated++
		}
		return evaluated, evaluation.Budget(), nil
	}
	_, left, err := spend(PolicyBudget)
	if err != nil {
		t.Fatal(err)
	}
	cost := PolicyBudget - left
	const variable = 3 // the selections object.data and data.x, and the variable itself
	each := (cost - variable) / 3
	for _, tt := range []struct {
		budget    int64
		evaluated int
		left      int64
	}{
		{cost, 3, 0},
		{cost + 5, 3, 5},
		{cost - 1, 2, each - 1},
		{variable + each, 1, 0},
		{variable + each - 1, 0, each - 1},
		{variable - 1, 0, variable - 1},
	} {
		evaluated, left, err := spend(tt.budget)
		if evaluated != tt.evaluated || left != tt.left {
			t.Errorf("a budget of %d: %d evaluated, %d left; want %d and %d", tt.budget, evaluated, left, tt.evaluated, tt.left)
		}
		if spent := tt.evaluated < 3; errors.Is(err, apiservercel.ErrOutOfBudget) != spent {
			t.Errorf("a budget of %d: error %v", tt.budget, err)
		}
	}
}

func TestPatchesSeeJSON(t *testing.T) {
	compiled := NewScope(false).Compile("[JSONPatch{op: 'add', path: '/x', value: object.metadata}]", JSONPatch, Stored)
	if compiled.Err != nil {
		t.Fatal(compiled.Err)
	}
	evaluation, err := NewScope(false).EvaluatePatch(t.Context(), probe(), PolicyBudget)
	if err != nil {
		t.Fatal(err)
	}
	if result, err := evaluation.Eval(t.Context(), compiled); err != nil || result.Err != nil {
		t.Fatal(err, result.Err)
	}
	object, ok := evaluation.activation.object.Value().(map[string]any)
	if !ok {
		t.Fatalf("object is a %T", evaluation.activation.object.Value())
	}
	if _, ok := object["metadata"].(map[string]any); !ok {
		t.Errorf("object.metadata is a %T", object["metadata"])
	}
}

func TestCacheDecisions(t *testing.T) {
	asked := 0
	cached := CacheDecisions(authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		asked++
		return authorizer.DecisionAllow, a.GetVerb(), nil
	}))
	bob := &user.DefaultInfo{Name: "bob"}
	for _, a := range []struct {
		attributes authorizer.AttributesRecord
		asked      int
	}{
		{authorizer.AttributesRecord{User: bob, Verb: "get", Resource: "pods", ResourceRequest: true}, 1},
		{authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "bob"}, Verb: "get", Resource: "pods", ResourceRequest: true}, 1},
		{authorizer.AttributesRecord{User: bob, Verb: "list", Resource: "pods", ResourceRequest: true}, 2},
		{authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "eve"}, Verb: "get", Resource: "pods", ResourceRequest: true}, 3},
		{authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "bob", Groups: []string{"g"}}, Verb: "get", Resource: "pods", ResourceRequest: true}, 4},
		{authorizer.AttributesRecord{User: bob, Verb: "get", Path: "/pods"}, 5},
		{authorizer.AttributesRecord{User: bob, Verb: "list", Resource: "pods", ResourceRequest: true}, 5},
		{authorizer.AttributesRecord{User: bob, Verb: "list", Resource: "pods", ResourceRequest: true, LabelSelectorParsingErr: errors.New("bad")}, 6},
	} {
		decision, reason, err := cached.Authorize(t.Context(), a.attributes)
		if decision != authorizer.DecisionAllow || reason != a.attributes.Verb || err != nil {
			t.Errorf("%v: %v, %q, %v", a.attributes, decision, reason, err)
		}
		if asked != a.asked {
			t.Errorf("%v: asked %d times, want %d", a.attributes, asked, a.asked)
		}
	}
	if CacheDecisions(nil) != nil {
		t.Error("nil does not stay nil")
	}
}
