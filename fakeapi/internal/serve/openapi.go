package serve

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

// openAPI serves documents that name every kind and tell which parameters its patches take, which is what clients ask
// of it before they leave validation and dry runs to the server. Its schemas are open.
type openAPI struct {
	catalogue *resource.Catalogue

	// mu guards the services, which are made anew when the catalogue has changed.
	mu sync.Mutex
	of []*resource.Resource
	v2 http.Handler
	v3 *handler3.OpenAPIService
}

func newOpenAPI(catalogue *resource.Catalogue) *openAPI { return &openAPI{catalogue: catalogue} }

func (o *openAPI) serveV2(w http.ResponseWriter, req *http.Request) {
	v2, _ := o.services()
	v2.ServeHTTP(w, req)
}

func (o *openAPI) serveV3Root(w http.ResponseWriter, req *http.Request) {
	_, v3 := o.services()
	v3.HandleDiscovery(w, req)
}

// serveV3 answers with the document of a group version, named as in its URL: api/v1, apis/apps/v1.
func (o *openAPI) serveV3(w http.ResponseWriter, req *http.Request) {
	_, v3 := o.services()
	v3.HandleGroupVersion(w, req)
}

func (o *openAPI) services() (v2 http.Handler, v3 *handler3.OpenAPIService) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if resources := o.catalogue.Resources(); o.v2 == nil || !sameSlice(o.of, resources) {
		o.of = resources
		paths := pathMap{}
		handler.NewOpenAPIService(swagger(resources)).RegisterOpenAPIVersionedService("/openapi/v2", paths)
		o.v2 = paths["/openapi/v2"]
		o.v3 = handler3.NewOpenAPIService()
		for gv, document := range documents(resources) {
			o.v3.UpdateGroupVersion(strings.TrimPrefix(groupVersionPath(gv), "/"), document)
		}
	}
	return o.v2, o.v3
}

const kindExtension = "x-kubernetes-group-version-kind"

func kindValue(gvk schema.GroupVersionKind) map[string]any {
	return map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind}
}

func groupVersionPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.Group + "/" + gv.Version
}

// objectPath is the path template of one object of a resource.
func objectPath(r *resource.Resource) string {
	path := groupVersionPath(r.GVR.GroupVersion())
	if r.Namespaced {
		path += "/namespaces/{namespace}"
	}
	return path + "/" + r.GVR.Resource + "/{name}"
}

// schemaName names the schema of a kind.
func schemaName(gvk schema.GroupVersionKind) string {
	group := gvk.Group
	if group == "" {
		group = "core"
	}
	return fmt.Sprintf("%s.%s.%s", group, gvk.Version, gvk.Kind)
}

// kindSchema accepts every object of a kind.
func kindSchema(gvk schema.GroupVersionKind) *spec.Schema {
	return &spec.Schema{
		SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}},
		VendorExtensible: spec.VendorExtensible{Extensions: spec.Extensions{
			kindExtension: []any{kindValue(gvk)}, "x-kubernetes-preserve-unknown-fields": true,
		}},
	}
}

// patchExtensions mark an operation as the patch of a kind.
func patchExtensions(gvk schema.GroupVersionKind) spec.VendorExtensible {
	return spec.VendorExtensible{Extensions: spec.Extensions{"x-kubernetes-action": "patch", kindExtension: kindValue(gvk)}}
}

// patchParameters are the parameters that clients look for.
var patchParameters = []string{"dryRun", "fieldManager", "fieldValidation", "force"}

// documents are the OpenAPI v3 documents by group version.
func documents(resources []*resource.Resource) map[schema.GroupVersion]*spec3.OpenAPI {
	all := map[schema.GroupVersion]*spec3.OpenAPI{}
	for _, r := range resources {
		if r.Subresource != "" {
			continue
		}
		gv := r.GVR.GroupVersion()
		document, ok := all[gv]
		if !ok {
			document = &spec3.OpenAPI{
				Version:    "3.0.0",
				Info:       &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes", Version: Version().GitVersion}},
				Paths:      &spec3.Paths{Paths: map[string]*spec3.Path{}},
				Components: &spec3.Components{Schemas: map[string]*spec.Schema{}},
			}
			all[gv] = document
		}
		document.Components.Schemas[schemaName(r.GVK)] = kindSchema(r.GVK)
		patch := &spec3.Operation{VendorExtensible: patchExtensions(r.GVK)}
		for _, name := range patchParameters {
			patch.Parameters = append(patch.Parameters, &spec3.Parameter{ParameterProps: spec3.ParameterProps{
				Name: name, In: "query", Schema: &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"string"}}},
			}})
		}
		document.Paths.Paths[objectPath(r)] = &spec3.Path{PathProps: spec3.PathProps{Patch: patch}}
	}
	return all
}

// swagger is the OpenAPI v2 document.
func swagger(resources []*resource.Resource) *spec.Swagger {
	document := &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger:     "2.0",
		Info:        &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes", Version: Version().GitVersion}},
		Paths:       &spec.Paths{Paths: map[string]spec.PathItem{}},
		Definitions: spec.Definitions{},
	}}
	for _, r := range resources {
		if r.Subresource != "" {
			continue
		}
		document.Definitions[schemaName(r.GVK)] = *kindSchema(r.GVK)
		patch := &spec.Operation{VendorExtensible: patchExtensions(r.GVK)}
		for _, name := range patchParameters {
			patch.Parameters = append(patch.Parameters, spec.Parameter{
				ParamProps:   spec.ParamProps{Name: name, In: "query"},
				SimpleSchema: spec.SimpleSchema{Type: "string"},
			})
		}
		item := spec.PathItem{}
		item.Patch = patch
		document.Paths.Paths[objectPath(r)] = item
	}
	return document
}
