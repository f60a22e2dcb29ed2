package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types/ref"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/cel/mutation/dynamic"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	mergeschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// applyConfiguration returns the object with the apply configuration, that an expression evaluated to, merged into it as
// server-side apply would, but without ownership.
func applyConfiguration(configuration ref.Val, object runtime.Object, converter managedfields.TypeConverter) (runtime.Object, error) {
	literal, ok := configuration.(*dynamic.ObjectVal)
	if !ok {
		return nil, fmt.Errorf("unsupported return type from ApplyConfiguration expression: %v", configuration.Type())
	}
	if err := literal.CheckTypeNamesMatchFieldPathNames(); err != nil {
		return nil, mismatched(err)
	}
	content, ok := literal.Value().(map[string]any)
	if !ok {
		return nil, fmt.Errorf("invalid return type: %T", configuration)
	}
	patch := &unstructured.Unstructured{Object: content}
	patch.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
	merged, err := merge(patch, object, converter)
	if err != nil {
		return nil, fmt.Errorf("error applying patch: %w", err)
	}
	return merged, nil
}

func merge(patch *unstructured.Unstructured, object runtime.Object, converter managedfields.TypeConverter) (runtime.Object, error) {
	typedPatch, err := converter.ObjectToTyped(patch)
	if err != nil {
		return nil, fmt.Errorf("failed to convert patch object to typed object: %w", err)
	}
	// To set a part of what can only be set as a whole would drop the rest.
	if atomics := findAtomics(nil, typedPatch.Schema(), typedPatch.TypeRef(), typedPatch.AsValue()); len(atomics) > 0 {
		slices.Sort(atomics)
		return nil, fmt.Errorf("invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: %v", strings.Join(atomics, ", "))
	}
	typedObject, err := converter.ObjectToTyped(object, typed.AllowDuplicates)
	if err != nil {
		return nil, fmt.Errorf("failed to convert original object to typed object: %w", err)
	}
	merged, err := typedObject.Merge(typedPatch)
	if err != nil {
		return nil, fmt.Errorf("failed to merge patch: %w", err)
	}
	result, err := converter.TypedToObject(merged)
	if err != nil {
		return nil, fmt.Errorf("failed to convert typed object to object: %w", err)
	}
	return result, nil
}

// findAtomics returns the paths of the lists, maps and structs in a value that the schema merges as a whole.
func findAtomics(path fieldpath.Path, s *mergeschema.Schema, ref mergeschema.TypeRef, v value.Value) []string {
	atom, ok := s.Resolve(ref)
	if !ok {
		return nil
	}
	var found []string
	if v.IsMap() && atom.Map != nil {
		if atom.Map.ElementRelationship == mergeschema.Atomic {
			found = append(found, path.String())
		}
		v.AsMap().Iterate(func(key string, member value.Value) bool {
			if field, ok := atom.Map.FindField(key); ok {
				at := append(path.Copy(), fieldpath.PathElement{FieldName: &key})
				found = append(found, findAtomics(at, s, field.Type, member)...)
			}
			return true
		})
	}
	if v.IsList() && atom.List != nil {
		if atom.List.ElementRelationship == mergeschema.Atomic {
			found = append(found, path.String())
		}
		elements := v.AsList()
		for i := range elements.Length() {
			at := append(path.Copy(), fieldpath.PathElement{Index: &i})
			found = append(found, findAtomics(at, s, atom.List.ElementType, elements.At(i))...)
		}
	}
	return found
}
