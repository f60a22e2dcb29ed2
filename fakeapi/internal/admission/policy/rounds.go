package policy

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"gomodules.xyz/jsonpatch/v2"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
)

// invocationKey is what the API tracks reinvocation by.
type invocationKey struct{ policy, binding, namespace, param string }

func keyOf(c *candidate[*mutations], param runtime.Object) invocationKey {
	key := invocationKey{policy: c.policy.name, binding: c.binding.name}
	if accessor, err := meta.Accessor(param); err == nil {
		key.namespace, key.param = accessor.GetNamespace(), accessor.GetName()
	}
	return key
}

// rounds remembers from the first round of the mutating half what decides which policies run again in the second: those
// with reinvocationPolicy IfNeeded that ran, once the object was changed. The API does not ask whether it changed after
// they ran: a policy's own mutation makes it run again.
type rounds struct {
	second bool
	// ran are the IfNeeded invocations of the first round, and due those of them to be run again.
	ran, due map[invocationKey]bool
	// output is the object as the policies left it in the first round; nil where nothing asks for it.
	output runtime.Object
}

// roundsOf returns what the request's attributes keep from round to round.
func roundsOf(a admission.Attributes) *rounds {
	context := a.GetReinvocationContext()
	r, ok := context.Value(mutatingPlugin).(*rounds)
	if !ok {
		r = &rounds{ran: map[invocationKey]bool{}, due: map[invocationKey]bool{}}
		context.SetValue(mutatingPlugin, r)
	}
	r.second = context.IsReinvoke()
	if r.second && r.output != nil && !apiequality.Semantic.DeepEqual(r.output, a.GetObject()) {
		r.due = r.ran
	}
	return r
}

// notDue says why an invocation is not made; it is empty where it is.
func (r *rounds) notDue(key invocationKey, reinvoke bool) string {
	switch {
	case !r.second || r.due[key]:
		return ""
	case !reinvoke:
		return "this is the second round, and its reinvocationPolicy is Never"
	default:
		return "this is the second round, and it did not run in the first or nothing changed the object since"
	}
}

func (r *rounds) invoked(key invocationKey, reinvoke bool) {
	if reinvoke && !r.second {
		r.ran[key] = true
	}
}

// end ends a round with the object as the policies left it.
func (r *rounds) end(object runtime.Object, mutated bool) {
	switch {
	case r.second || len(r.ran) == 0:
	case mutated:
		r.due = r.ran
	case object != nil:
		r.output = object.DeepCopyObject()
	}
}

// changes describes what was done to an object, one operation of a JSON patch a line.
func changes(before, after runtime.Object) []string {
	if apiequality.Semantic.DeepEqual(before, after) {
		return nil
	}
	beforeJSON, beforeErr := json.Marshal(before)
	afterJSON, afterErr := json.Marshal(after)
	operations, err := jsonpatch.CreatePatch(beforeJSON, afterJSON)
	if errors.Join(beforeErr, afterErr, err) != nil {
		return []string{"the object changed"}
	}
	slices.SortStableFunc(operations, func(a, b jsonpatch.Operation) int { return cmp.Compare(a.Path, b.Path) })
	lines := make([]string, 0, len(operations))
	for _, operation := range operations {
		line := operation.Operation + " " + operation.Path
		if value, err := json.Marshal(operation.Value); err == nil && operation.Operation != "remove" {
			line += " " + string(value)
		}
		lines = append(lines, line)
	}
	return lines
}
