package policy

import (
	"context"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// checkParamKind tells whether the kind of a policy's params is served. Nil is fine.
func checkParamKind(options *Options, kind *admissionregistrationv1.ParamKind) error {
	if kind == nil {
		return nil
	}
	gvk := schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
	if _, served := options.Params.Scope(gvk); !served {
		return fmt.Errorf("failed to find resource referenced by paramKind: '%v'", gvk)
	}
	return nil
}

// params returns the params that a binding selects for a request in the namespace. It is the one param nil where the
// policy takes none or the binding gives none, and none where none are found and the binding allows that.
func params(ctx context.Context, options *Options, kind *admissionregistrationv1.ParamKind, ref *admissionregistrationv1.ParamRef, namespace string) ([]runtime.Object, error) {
	if kind == nil || ref == nil {
		return []runtime.Object{nil}, nil
	}
	gvk := schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
	namespaced, _ := options.Params.Scope(gvk)
	switch {
	case !namespaced && ref.Namespace != "":
		return nil, errors.New("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
	case !namespaced:
		namespace = ""
	case ref.Namespace != "":
		namespace = ref.Namespace
	case namespace == "":
		return nil, errors.New("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
	}
	found, err := lookUp(ctx, options, gvk, namespace, ref)
	if err != nil {
		return nil, err
	}
	if action := ref.ParameterNotFoundAction; len(found) == 0 && action != nil && *action == admissionregistrationv1.DenyAction {
		return nil, errors.New("no params found for policy binding with `Deny` parameterNotFoundAction")
	}
	for i := range found {
		found[i] = withKind(found[i], gvk)
	}
	return found, nil
}

func lookUp(ctx context.Context, options *Options, kind schema.GroupVersionKind, namespace string, ref *admissionregistrationv1.ParamRef) ([]runtime.Object, error) {
	if ref.Name != "" {
		param, err := options.Params.Param(ctx, kind, namespace, ref.Name)
		switch {
		case apierrors.IsNotFound(err):
			return nil, nil
		case err != nil:
			return nil, err
		}
		return []runtime.Object{param}, nil
	}
	if ref.Selector == nil {
		return nil, errors.New("one of name or selector must be provided")
	}
	selector, err := metav1.LabelSelectorAsSelector(ref.Selector)
	if err != nil {
		return nil, err
	}
	return options.Params.ListParams(ctx, kind, namespace, selector)
}

// withKind gives expressions the apiVersion and kind of a param, which Go values often lack.
func withKind(param runtime.Object, kind schema.GroupVersionKind) runtime.Object {
	if !param.GetObjectKind().GroupVersionKind().Empty() {
		return param
	}
	param = param.DeepCopyObject()
	param.GetObjectKind().SetGroupVersionKind(kind)
	return param
}
