package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	serializerjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apiserver/pkg/admission"
	celmutation "k8s.io/apiserver/pkg/cel/mutation"
	"k8s.io/apiserver/pkg/cel/mutation/dynamic"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/versions"
)

// applyJSONPatch returns the object as the patch that an expression evaluated to leaves it. Where a test operation fails
// the object stays as it is. A status error says that the patch made something that is no object of the kind.
func applyJSONPatch(value ref.Val, version *versions.Version, o admission.ObjectInterfaces) (runtime.Object, error) {
	patch, err := patchOf(value)
	if err != nil {
		return nil, err
	}
	original := version.VersionedObject.Object()
	document, err := version.ObjectJSON()
	if err != nil {
		return nil, fmt.Errorf("failed to create JSON patch: %w", err)
	}
	patched, err := patch.Apply(document)
	if errors.Is(err, jsonpatch.ErrTestFailed) {
		return original, nil
	}
	if err != nil {
		return nil, fmt.Errorf("JSON Patch: %w", err)
	}
	var into runtime.Object = &unstructured.Unstructured{}
	if _, ok := original.(*unstructured.Unstructured); !ok {
		if into, err = o.GetObjectCreater().New(version.VersionedKind); err != nil {
			return nil, apierrors.NewInternalError(err)
		}
	}
	strict := serializerjson.NewSerializerWithOptions(serializerjson.DefaultMetaFactory, o.GetObjectCreater(), o.GetObjectTyper(),
		serializerjson.SerializerOptions{Strict: true})
	decoded, _, err := strict.Decode(patched, nil, into)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return decoded, nil
}

// patchOf turns a list of JSONPatch values into the patch that they mean.
func patchOf(value ref.Val) (jsonpatch.Patch, error) {
	list, ok := value.(traits.Lister)
	if !ok {
		return nil, fmt.Errorf("type mismatch: JSONPatchType.expression should evaluate to array")
	}
	patch := jsonpatch.Patch{}
	for it := list.Iterator(); it.HasNext() == types.True; {
		operation, ok := it.Next().(*celmutation.JSONPatchVal)
		if !ok {
			return nil, fmt.Errorf("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch")
		}
		members := map[string]any{"op": operation.Op, "path": operation.Path}
		if operation.From != "" {
			members["from"] = operation.From
		}
		if operation.Val != nil {
			var err error
			if members["value"], err = jsonOf(operation.Val); err != nil {
				return nil, err
			}
		}
		encoded := jsonpatch.Operation{}
		for name, member := range members {
			text, err := json.Marshal(member)
			if err != nil {
				return nil, err
			}
			encoded[name] = (*json.RawMessage)(&text)
		}
		patch = append(patch, encoded)
	}
	return patch, nil
}

// jsonOf is the JSON form of a value: a scalar, list, map or Object literal.
func jsonOf(value ref.Val) (any, error) {
	if object, ok := value.(*dynamic.ObjectVal); ok {
		if err := object.CheckTypeNamesMatchFieldPathNames(); err != nil {
			return nil, mismatched(err)
		}
	}
	native, err := value.ConvertToNative(reflect.TypeFor[*structpb.Value]())
	if err != nil {
		return nil, fmt.Errorf("JSONPath valueExpression evaluated to a type that could not marshal to JSON: %w", err)
	}
	return native, nil
}
