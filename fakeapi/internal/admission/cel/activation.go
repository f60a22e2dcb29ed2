package cel

import (
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/library"
)

// activation holds the values of the variables in one evaluation, each made when it is first read: most expressions read
// few of them.
type activation struct {
	in   *Input
	bind func() ref.Val // makes variables; nil where there are none

	object, oldObject, request, namespace, params ref.Val // nil: not read yet
	authorizer, requestResource, variables        ref.Val // nil: not read yet
}

// objectValue is an object as expressions see it: like its JSON, read from the Go value when asked for.
func objectValue(object runtime.Object) ref.Val {
	if u, ok := object.(*unstructured.Unstructured); ok {
		return types.DefaultTypeAdapter.NativeToValue(u.Object)
	}
	return common.SchemalessTypedToVal(object)
}

// convertObjects gives the objects the form of JSON, whose parts can become parts of a patch.
func (a *activation) convertObjects() error {
	for _, c := range []struct {
		name  string
		from  runtime.Object
		value *ref.Val
	}{
		{objectVar, a.in.Attributes.VersionedObject.Object(), &a.object},
		{oldObjectVar, a.in.Attributes.VersionedOldObject.Object(), &a.oldObject},
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
	in := a.in
	switch name {
	case objectVar:
		return once(&a.object, func() ref.Val { return objectValue(in.Attributes.VersionedObject.Object()) }), true
	case oldObjectVar:
		return once(&a.oldObject, func() ref.Val { return objectValue(in.Attributes.VersionedOldObject.Object()) }), true
	case requestVar:
		return once(&a.request, func() ref.Val { return common.SchemalessTypedToVal(in.request()) }), true
	case namespaceVar:
		return once(&a.namespace, func() ref.Val { return common.SchemalessTypedToVal(in.namespaceObject()) }), true
	case paramsVar:
		return once(&a.params, func() ref.Val { return objectValue(in.Params) }), true
	case variablesVar:
		if a.bind == nil {
			return nil, false
		}
		return once(&a.variables, a.bind), true
	}
	if in.Authorizer == nil {
		return nil, false
	}
	switch name {
	case authorizerVar:
		return once(&a.authorizer, func() ref.Val {
			return library.NewAuthorizerVal(in.Attributes.GetUserInfo(), in.Authorizer)
		}), true
	case requestResourceVar:
		return once(&a.requestResource, func() ref.Val {
			return library.NewResourceAuthorizerVal(in.Attributes.GetUserInfo(), in.Authorizer, in.Attributes)
		}), true
	default:
		return nil, false
	}
}

// once makes a value when it is first asked for.
func once(value *ref.Val, make func() ref.Val) ref.Val {
	if *value == nil {
		*value = make()
	}
	return *value
}

// Parent implements interpreter.Activation.
func (a *activation) Parent() interpreter.Activation { return nil }
