package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/cel"
)

// maxCheckedTypes is at how many types that a rule names the API stops looking for more, in later rules too.
const maxCheckedTypes = 10

// Kinds are those that are served.
type Kinds interface {
	// KindsOf returns the kinds of a resource, by its plural or singular name; of every group where the group is empty.
	KindsOf(resource schema.GroupVersionResource) []schema.GroupVersionKind
	// Types returns the types of a kind; nil where it is not served.
	Types(kind schema.GroupVersionKind) *Types
}

// Types are the types of kinds in expressions, each made when it is first needed. They may be used by many goroutines.
type Types struct {
	schema func(schema.GroupVersionKind) (*spec.Schema, error)
	made   sync.Map // from a typeKey to a func() (cel.Type, error)
}

type typeKey struct {
	kind schema.GroupVersionKind
	name string
}

// NewTypes returns the types that schemas describe, which must be without references. An error says that there is none for
// the kind.
func NewTypes(schema func(schema.GroupVersionKind) (*spec.Schema, error)) *Types {
	return &Types{schema: schema}
}

func (t *Types) get(kind schema.GroupVersionKind, name string) (cel.Type, error) {
	if t == nil {
		return cel.Type{}, resolver.ErrSchemaNotFound
	}
	made, _ := t.made.LoadOrStore(typeKey{kind, name}, sync.OnceValues(func() (cel.Type, error) {
		s, err := t.schema(kind)
		if err != nil {
			return cel.Type{}, err
		}
		return cel.TypeOf(s, name), nil
	}))
	return made.(func() (cel.Type, error))()
}

// CheckTypes checks the validations of a policy, which are compiled for objects of any type, against the types that its
// rules and its paramKind name. It returns status.typeChecking.expressionWarnings: they refuse nothing.
func CheckTypes(policy *admissionregistrationv1.ValidatingAdmissionPolicy, kinds Kinds) []admissionregistrationv1.ExpressionWarning {
	checks := typeChecks(policy, kinds)
	var warnings []admissionregistrationv1.ExpressionWarning
	check := func(expression string, path *field.Path) {
		var faults []string
		for _, c := range checks {
			if fault := c.Check(expression); fault != "" {
				faults = append(faults, fmt.Sprintf("%s: %s\n", c.kind, fault))
			}
		}
		if len(faults) > 0 {
			warnings = append(warnings, admissionregistrationv1.ExpressionWarning{FieldRef: path.String(), Warning: strings.Join(faults, "\n")})
		}
	}
	for i, v := range policy.Spec.Validations {
		path := field.NewPath("spec", "validations").Index(i)
		check(v.Expression, path.Child("expression"))
		if v.MessageExpression != "" {
			check(v.MessageExpression, path.Child("messageExpression"))
		}
	}
	return warnings
}

// typeCheck checks expressions for objects of one kind.
type typeCheck struct {
	kind schema.GroupVersionKind
	*cel.Checker
}

// typeChecks returns a check for each kind that has a schema, with the policy's variables declared.
func typeChecks(policy *admissionregistrationv1.ValidatingAdmissionPolicy, kinds Kinds) []typeCheck {
	// The API numbers the names of types by the clock, so that those of params differ from those of objects.
	const objects, params = "1", "2"
	var paramType *cel.Type
	if kind := policy.Spec.ParamKind; kind != nil {
		gvk := schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
		typ, _ := kinds.Types(gvk).get(gvk, gvk.Kind+params) // any where there is no schema
		paramType = &typ
	}
	var checks []typeCheck
	for _, kind := range checkedKinds(policy.Spec.MatchConstraints, kinds) {
		typ, err := kinds.Types(kind).get(kind, kind.Kind+objects)
		if err != nil {
			continue
		}
		checker, err := cel.NewChecker(typ, paramType)
		if err != nil {
			continue
		}
		for _, v := range policy.Spec.Variables {
			checker.Declare(v.Name, v.Expression)
		}
		checks = append(checks, typeCheck{kind, checker})
	}
	return checks
}

// checkedKinds returns the kinds that the rules name without a wildcard, in order of group, version and kind.
func checkedKinds(constraints *admissionregistrationv1.MatchResources, kinds Kinds) []schema.GroupVersionKind {
	found := sets.New[schema.GroupVersionKind]()
	if constraints != nil {
		for i := range constraints.ResourceRules {
			named := kindsNamed(&constraints.ResourceRules[i].Rule, kinds)
			found.Insert(named...)
			if len(named) == maxCheckedTypes {
				break
			}
		}
	}
	return slices.SortedFunc(slices.Values(found.UnsortedList()), func(a, b schema.GroupVersionKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
	})
}

// kindsNamed returns the kinds that a rule names, in order of the names in it and maxCheckedTypes at most. A rule with a
// wildcard for the group or the version names none; wildcards for resources, and subresources, are passed over.
func kindsNamed(rule *admissionregistrationv1.Rule, kinds Kinds) []schema.GroupVersionKind {
	wild := func(name string) bool { return strings.Contains(name, "*") }
	if slices.ContainsFunc(rule.APIGroups, wild) || slices.ContainsFunc(rule.APIVersions, wild) {
		return nil
	}
	var named []schema.GroupVersionKind
	for _, group := range slices.Sorted(slices.Values(rule.APIGroups)) {
		for _, version := range slices.Sorted(slices.Values(rule.APIVersions)) {
			for _, resource := range slices.Sorted(slices.Values(rule.Resources)) {
				if strings.ContainsAny(resource, "*/") {
					continue
				}
				named = append(named, kinds.KindsOf(schema.GroupVersionResource{Group: group, Version: version, Resource: resource})...)
				if len(named) >= maxCheckedTypes {
					return named[:maxCheckedTypes]
				}
			}
		}
	}
	return named
}
