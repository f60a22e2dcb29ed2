package cel

import (
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/library"
)

// activation holds the values of the variables in one evaluation.
type activation struct {
	object, oldObject, request, namespace, params ref.Val
	authorizer, requestResource                   ref.Val // nil: not bound
	variables                                     ref.Val // nil: not bound
}

func newActivation(in *Input, request *admissionv1.AdmissionRequest) *activation {
	a := &activation{
		object:    objectValue(in.Attributes.VersionedObject.Object()),
		oldObject: objectValue(in.Attributes.VersionedOldObject.Object()),
		request:   common.SchemalessTypedToVal(request),
		namespace: common.SchemalessTypedToVal(in.namespaceObject()),
		params:    objectValue(in.Params),
	}
	if in.Authorizer != nil {
		a.authorizer = library.NewAuthorizerVal(in.Attributes.GetUserInfo(), in.Authorizer)
		a.requestResource = library.NewResourceAuthorizerVal(in.Attributes.GetUserInfo(), in.Authorizer, in.Attributes)
	}
	return a
}

// objectValue is an object as expressions see it: like its JSON, read from the Go value when asked for.
func objectValue(object runtime.Object) ref.Val {
	if u, ok := object.(*unstructured.Unstructured); ok {
		return types.DefaultTypeAdapter.NativeToValue(u.Object)
	}
	return common.SchemalessTypedToVal(object)
}

// convertObjects gives the objects the form of JSON, whose parts can become parts of a patch.
func (a *activation) convertObjects(in *Input) error {
	for _, c := range []struct {
		name  string
		from  runtime.Object
		value *ref.Val
	}{
		{objectVar, in.Attributes.VersionedObject.Object(), &a.object},
		{oldObjectVar, in.Attributes.VersionedOldObject.Object(), &a.oldObject},
	} {
		if _, ok := c.from.(*unstructured.Unstructured); ok || c.from == nil {
			continue
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c.from)
		if err != nil {
			return fmt.Errorf("failed to prepare %s variable for evaluation: %w", c.name, err)
		}
		*c.value = types.DefaultTypeAdapter.NativeToValue(content)
	}
	return nil
}

// ResolveName implements interpreter.Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	switch name {
	case objectVar:
		return a.object, true
	case oldObjectVar:
		return a.oldObject, true
	case requestVar:
		return a.request, true
	case namespaceVar:
		return a.namespace, true
	case paramsVar:
		return a.params, true
	case authorizerVar:
		return a.authorizer, a.authorizer != nil
	case requestResourceVar:
		return a.requestResource, a.requestResource != nil
	case variablesVar:
		return a.variables, a.variables != nil
	default:
		return nil, false
	}
}

// Parent implements interpreter.Activation.
func (a *activation) Parent() interpreter.Activation { return nil }
