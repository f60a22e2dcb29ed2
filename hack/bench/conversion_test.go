package bench

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"
)

// converted is how many custom resources the list has.
const converted = 500

// BenchmarkConversion measures creating, reading and listing a custom resource in a version that is not stored, through a
// conversion webhook that changes its shape.
func BenchmarkConversion(b *testing.B) {
	for _, s := range subjects {
		b.Run("server="+s.name, func(b *testing.B) {
			started, typed := run(b, s.start)
			defer func() {
				if err := started.stop(); err != nil {
					b.Error(err)
				}
			}()
			if err := firstCreate(b.Context(), typed); err != nil {
				b.Fatal(err)
			}
			webhook := httptest.NewUnstartedServer(http.HandlerFunc(convert))
			webhook.EnableHTTP2 = true
			webhook.StartTLS()
			defer webhook.Close()
			client, err := dynamic.NewForConfig(started.config)
			if err != nil {
				b.Fatal(err)
			}
			define(b, client, webhook)
			namespace := makeNamespace(b, typed)
			boxes := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v2", Resource: "boxes"}).Namespace(namespace)
			create := func() *unstructured.Unstructured {
				created, err := boxes.Create(b.Context(), box(), metav1.CreateOptions{})
				if err != nil {
					b.Fatal(err)
				}
				return created
			}
			var last string
			b.Run("create", func(b *testing.B) {
				each := measure(b, started, "per converted create", s.name, func() { last = create().GetName() })
				note("converted creates", s.name, 1/each.Seconds())
			})
			b.Run("get", func(b *testing.B) {
				if last == "" {
					last = create().GetName()
				}
				each := measure(b, started, "per converted read", s.name, func() {
					if _, err := boxes.Get(b.Context(), last, metav1.GetOptions{}); err != nil {
						b.Fatal(err)
					}
				})
				note("converted reads", s.name, 1/each.Seconds())
			})
			b.Run("list", func(b *testing.B) {
				if err := boxes.DeleteCollection(b.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
					b.Fatal(err)
				}
				for range converted {
					create()
				}
				each := measure(b, started, "per converted list", s.name, func() {
					list, err := boxes.List(b.Context(), metav1.ListOptions{})
					if err != nil || len(list.Items) != converted {
						b.Fatalf("%d objects, %v", len(list.Items), err)
					}
				})
				note("list of 500 converted", s.name, milliseconds(each))
			})
		})
	}
}

// define makes the server serve boxes, which are stored at v1, and waits until it does.
func define(b *testing.B, client dynamic.Interface, webhook *httptest.Server) {
	b.Helper()
	spec := func(fields map[string]apiextensionsv1.JSONSchemaProps) *apiextensionsv1.CustomResourceValidation {
		return &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
			Type:       "object",
			Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object", Properties: fields}},
		}}
	}
	integer := apiextensionsv1.JSONSchemaProps{Type: "integer"}
	definition := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "boxes.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "boxes", Singular: "box", Kind: "Box", ListKind: "BoxList"},
			Conversion: &apiextensionsv1.CustomResourceConversion{
				Strategy: apiextensionsv1.WebhookConverter,
				Webhook: &apiextensionsv1.WebhookConversion{
					ConversionReviewVersions: []string{"v1"},
					ClientConfig: &apiextensionsv1.WebhookClientConfig{
						URL:      ptr.To(webhook.URL + "/convert"),
						CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw}),
					},
				},
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{Name: "v1", Served: true, Storage: true, Schema: spec(map[string]apiextensionsv1.JSONSchemaProps{"size": integer})},
				{Name: "v2", Served: true, Schema: spec(map[string]apiextensionsv1.JSONSchemaProps{
					"dimensions": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"width": integer}},
				})},
			},
		},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(definition)
	if err != nil {
		b.Fatal(err)
	}
	definitions := client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	if _, err := definitions.Create(b.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	probe := box()
	probe.SetNamespace("default")
	for range 3000 {
		_, err = client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v2", Resource: "boxes"}).
			Namespace("default").Create(b.Context(), probe, metav1.CreateOptions{})
		if err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.Fatal(err)
}

func box() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v2", "kind": "Box",
		"metadata": map[string]any{"generateName": "probe-"},
		"spec":     map[string]any{"dimensions": map[string]any{"width": int64(3)}},
	}}
}

// convert is a conversion webhook: spec.size of v1 is spec.dimensions.width of v2.
func convert(w http.ResponseWriter, r *http.Request) {
	var review struct {
		metav1.TypeMeta
		Request *struct {
			UID               string
			DesiredAPIVersion string
			Objects           []map[string]any
		} `json:",omitempty"`
		Response struct {
			UID              string           `json:"uid"`
			ConvertedObjects []map[string]any `json:"convertedObjects"`
			Result           metav1.Status    `json:"result"`
		} `json:"response"`
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, object := range review.Request.Objects {
		object["apiVersion"] = review.Request.DesiredAPIVersion
		if spec, ok := object["spec"].(map[string]any); ok {
			if dimensions, ok := spec["dimensions"].(map[string]any); ok {
				object["spec"] = map[string]any{"size": dimensions["width"]}
			} else {
				object["spec"] = map[string]any{"dimensions": map[string]any{"width": spec["size"]}}
			}
		}
	}
	review.Response.UID, review.Response.ConvertedObjects = review.Request.UID, review.Request.Objects
	review.Response.Result.Status = metav1.StatusSuccess
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}
