package crd

import (
	"fmt"
	"slices"
	"sync"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	schemaobjectmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	structuralpruning "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/crdserverscheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/versioning"
)

// metaScheme holds the types that requests for custom resources have besides them.
var metaScheme = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	v1 := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, v1)
	scheme.AddUnversionedTypes(v1,
		&metav1.Status{}, &metav1.WatchEvent{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
	return scheme
})

// Typer tells the kinds of custom resources, and of the other objects in requests for them.
type Typer struct{}

var _ runtime.ObjectTyper = Typer{}

// ObjectKinds implements runtime.ObjectTyper.
func (Typer) ObjectKinds(object runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	if _, ok := object.(runtime.Unstructured); ok {
		return crdserverscheme.NewUnstructuredObjectTyper().ObjectKinds(object)
	}
	return metaScheme().ObjectKinds(object)
}

// Recognizes implements runtime.ObjectTyper.
func (Typer) Recognizes(gvk schema.GroupVersionKind) bool { return metaScheme().Recognizes(gvk) }

// Creater makes empty custom resources.
type Creater struct{}

// New implements runtime.ObjectCreater.
func (Creater) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object, nil
}

// Default fills in the defaults of an object's version. It implements runtime.ObjectDefaulter.
func (k *Kind) Default(object runtime.Object) {
	u, ok := object.(runtime.Unstructured)
	if !ok || u.GetObjectKind().GroupVersionKind().GroupKind() != k.Stored.GVK.GroupKind() {
		metaScheme().Default(object)
		return
	}
	if schema := k.structural[u.GetObjectKind().GroupVersionKind().Version]; schema != nil {
		structuraldefaulting.Default(u.UnstructuredContent(), schema)
	}
}

// Clean prunes what an object's version does not know and brings its metadata into form, as decoding does. It returns
// the paths of the fields that it dropped when asked to.
func (k *Kind) Clean(u *unstructured.Unstructured, options CleanOptions) (unknown []string, err error) {
	kind, hasKind, err := unstructured.NestedString(u.Object, "kind")
	if err != nil {
		return nil, err
	}
	apiVersion, hasVersion, err := unstructured.NestedString(u.Object, "apiVersion")
	if err != nil {
		return nil, err
	}
	metadata, hasMetadata, dropped, err := schemaobjectmeta.GetObjectMetaWithOptions(u.Object, schemaobjectmeta.ObjectMetaOptions{
		DropMalformedFields: options.DropInvalidMetadata, ReturnUnknownFieldPaths: options.ReportUnknown,
	})
	if err != nil {
		return nil, err
	}
	unknown = append(unknown, dropped...)
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	if version.Group == k.Stored.GVK.Group && kind == k.Stored.GVK.Kind {
		structural := k.structural[version.Version]
		if !k.Definition.Spec.PreserveUnknownFields {
			unknown = append(unknown, structuralpruning.PruneWithOptions(u.Object, structural, true,
				structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: options.ReportUnknown})...)
			structuraldefaulting.PruneNonNullableNullsWithoutDefaults(u.Object, structural)
		}
		fieldErr, paths := schemaobjectmeta.CoerceWithOptions(nil, u.Object, structural, false, schemaobjectmeta.CoerceOptions{
			DropInvalidFields: options.DropInvalidMetadata, ReturnUnknownFieldPaths: options.ReportUnknown,
		})
		if fieldErr != nil {
			return nil, fieldErr
		}
		unknown = append(unknown, paths...)
		if options.DropInvalidMetadata && metadata.Generation == 0 {
			metadata.Generation = 1
		}
	}
	// Pruning may have dropped what every object has.
	if hasKind {
		u.SetKind(kind)
	}
	if hasVersion {
		u.SetAPIVersion(apiVersion)
	}
	if hasMetadata {
		if err := schemaobjectmeta.SetObjectMeta(u.Object, metadata); err != nil {
			return nil, err
		}
	}
	return unknown, nil
}

// CleanOptions say how strict Clean is.
type CleanOptions struct {
	// DropInvalidMetadata drops metadata that is not valid instead of failing, as is done with what was stored.
	DropInvalidMetadata bool
	// ReportUnknown makes Clean return the paths of the fields that it drops.
	ReportUnknown bool
}

// Serializer encodes and decodes custom resources. It implements runtime.NegotiatedSerializer.
type Serializer struct {
	Kind *Kind
}

var _ runtime.NegotiatedSerializer = Serializer{}

// SupportedMediaTypes implements runtime.NegotiatedSerializer. Protobuf is for the other objects of the API, such as
// Status.
func (s Serializer) SupportedMediaTypes() []runtime.SerializerInfo {
	return append(s.ForObjects(), runtime.SerializerInfo{
		MediaType: runtime.ContentTypeProtobuf, MediaTypeType: "application", MediaTypeSubType: "vnd.kubernetes.protobuf",
		Serializer: protobuf.NewSerializer(Creater{}, Typer{}),
		StreamSerializer: &runtime.StreamSerializerInfo{
			Serializer: protobuf.NewRawSerializer(Creater{}, Typer{}), Framer: protobuf.LengthDelimitedFramer,
		},
	})
}

// ForObjects are the media types that custom resources themselves are served in.
func (s Serializer) ForObjects() []runtime.SerializerInfo {
	serializer := func(options json.SerializerOptions) *json.Serializer {
		return json.NewSerializerWithOptions(json.DefaultMetaFactory, Creater{}, Typer{}, options)
	}
	return []runtime.SerializerInfo{
		{
			MediaType: runtime.ContentTypeJSON, MediaTypeType: "application", MediaTypeSubType: "json", EncodesAsText: true,
			Serializer:       serializer(json.SerializerOptions{}),
			PrettySerializer: serializer(json.SerializerOptions{Pretty: true}),
			StrictSerializer: serializer(json.SerializerOptions{Strict: true}),
			StreamSerializer: &runtime.StreamSerializerInfo{
				EncodesAsText: true, Serializer: serializer(json.SerializerOptions{}), Framer: json.Framer,
			},
		},
		{
			MediaType: runtime.ContentTypeYAML, MediaTypeType: "application", MediaTypeSubType: "yaml", EncodesAsText: true,
			Serializer:       serializer(json.SerializerOptions{Yaml: true}),
			StrictSerializer: serializer(json.SerializerOptions{Yaml: true, Strict: true}),
		},
	}
}

// EncoderForVersion implements runtime.NegotiatedSerializer.
func (s Serializer) EncoderForVersion(encoder runtime.Encoder, gv runtime.GroupVersioner) runtime.Encoder {
	scheme := metaScheme()
	return versioning.NewCodec(encoder, nil, listConvertor{s.Kind.Convertor}, scheme, scheme, scheme, gv, nil, "customResources")
}

// listConvertor leaves lists alone that are all in the version already, which a convertor would copy with all that is in
// them.
type listConvertor struct {
	runtime.ObjectConvertor
}

// ConvertToVersion implements runtime.ObjectConvertor.
func (c listConvertor) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	if list, ok := in.(*unstructured.UnstructuredList); ok && inVersion(list, target) {
		return list, nil
	}
	return c.ObjectConvertor.ConvertToVersion(in, target)
}

// inVersion tells whether a list and its items are in the version.
func inVersion(list *unstructured.UnstructuredList, target runtime.GroupVersioner) bool {
	kind := list.GroupVersionKind()
	if wanted, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{kind}); !ok || wanted != kind {
		return false
	}
	other := func(item unstructured.Unstructured) bool { return item.GetAPIVersion() != list.GetAPIVersion() }
	return !slices.ContainsFunc(list.Items, other)
}

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (s Serializer) DecoderToVersion(decoder runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	strict := false
	if serializer, ok := decoder.(*json.Serializer); ok {
		strict = serializer.IsStrict()
	}
	scheme := metaScheme()
	return versioning.NewCodec(nil, cleaningDecoder{decoder, s.Kind, strict}, runtime.UnsafeObjectConvertor(scheme), scheme, scheme, s.Kind, nil, gv, "customResources")
}

// cleaningDecoder prunes what it decodes. A strict one reports what it pruned.
type cleaningDecoder struct {
	runtime.Decoder
	kind   *Kind
	strict bool
}

// Decode implements runtime.Decoder.
func (d cleaningDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	object, gvk, err := d.Decoder.Decode(data, defaults, into)
	var faults []error
	if err != nil {
		strictErr, ok := runtime.AsStrictDecodingError(err)
		if !ok || object == nil {
			return nil, gvk, err
		}
		faults = strictErr.Errors()
	}
	if u, ok := object.(*unstructured.Unstructured); ok {
		unknown, err := d.kind.Clean(u, CleanOptions{ReportUnknown: d.strict})
		if err != nil {
			return nil, gvk, err
		}
		for _, path := range unknown {
			faults = append(faults, fmt.Errorf("unknown field %q", path))
		}
	}
	if d.strict && len(faults) > 0 {
		return object, gvk, runtime.NewStrictDecodingError(faults)
	}
	return object, gvk, nil
}

// Read returns an object as it was stored in the version, pruned and defaulted by today's schema. The stored object is
// left alone.
func (v *Version) Read(stored *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	object := stored.DeepCopy()
	if _, err := v.Kind.Clean(object, CleanOptions{DropInvalidMetadata: true}); err != nil {
		return nil, err
	}
	v.Kind.Default(object)
	return v.convert(object)
}

// Write returns an object of any version as it is to be stored. The object may be changed and returned.
func (k *Kind) Write(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	stored, err := k.Stored.convert(object)
	if err != nil {
		return nil, err
	}
	// Admission may have added what the schema does not know.
	if _, err := k.Clean(stored, CleanOptions{DropInvalidMetadata: true}); err != nil {
		return nil, err
	}
	k.Default(stored)
	return stored, nil
}

// convert returns an object in the version; it may change it.
func (v *Version) convert(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if object.GroupVersionKind() == v.GVK {
		return object, nil
	}
	converted, err := v.Kind.UnsafeConvertor.ConvertToVersion(object, v.GVK.GroupVersion())
	if err != nil {
		return nil, err
	}
	u, ok := converted.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("conversion to %s made a %T", v.GVK, converted)
	}
	if _, err := v.Kind.Clean(u, CleanOptions{}); err != nil {
		return nil, err
	}
	return u, nil
}
