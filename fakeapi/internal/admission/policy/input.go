package policy

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/cel"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/versions"
)

// input returns what a candidate's expressions see, but for the authorizer and the params. An error is that of looking
// up the request's namespace.
func input(ctx context.Context, options *Options, objects *versions.Objects, kind schema.GroupVersionKind, resource schema.GroupVersionResource) (*cel.Input, error) {
	version, err := objects.In(kind)
	if err != nil {
		return nil, err
	}
	in := &cel.Input{Attributes: version.VersionedAttributes, Resource: resource}
	// A request for a Namespace carries its own name as its namespace.
	if version.GetKind() != namespaceKind && version.GetNamespace() != "" {
		in.Namespace, err = options.Namespaces.Namespace(ctx, version.GetNamespace())
	}
	return in, err
}

var namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
