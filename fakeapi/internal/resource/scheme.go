package resource

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	apiextensionsinternal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/admission/config"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/openapi"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource/apiregistration"
)

// machinery is what all catalogues of a process share: the types, and how they are encoded, converted and defaulted.
type machinery struct {
	scheme     *runtime.Scheme
	codecs     serializer.CodecFactory
	parameters runtime.ParameterCodec
	rows       []row
	// together names kinds that are served in several groups.
	together map[schema.GroupKind]string
	// types are those of the built-in kinds in the expressions of policies.
	types *config.Types
}

// sharedMachinery is built once a process and not changed after.
var sharedMachinery struct {
	once  sync.Once
	value *machinery
}

// shared returns the machinery. The rows refer to code that asks for it, so that it cannot be a variable's initial value.
func shared() *machinery {
	sharedMachinery.once.Do(func() { sharedMachinery.value = newMachinery() })
	return sharedMachinery.value
}

func newMachinery() *machinery {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsinternal.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	utilruntime.Must(apiregistration.AddToScheme(scheme))

	rows := builtinRows()
	for _, row := range rows {
		if row.strategy.defaults != nil {
			object, err := scheme.New(row.storageKind())
			utilruntime.Must(err)
			scheme.AddTypeDefaultingFunc(object, func(o any) { row.strategy.defaults(o.(runtime.Object)) })
			for _, version := range row.versions() {
				if version.GroupVersion != row.stored {
					utilruntime.Must(addDefaultsThroughStored(scheme, &row, version))
				}
			}
		}
		if row.strategy.fields != nil {
			for _, gvk := range row.kinds() {
				object, err := scheme.New(row.storageKind())
				utilruntime.Must(err)
				utilruntime.Must(scheme.AddFieldLabelConversionFunc(gvk, knownFields(&row, gvk, row.strategy.fields(object))))
			}
		}
	}
	scheme.AddTypeDefaultingFunc(&authenticationv1.TokenRequest{}, defaultTokenRequest)
	utilruntime.Must(addSameShapeConversions(scheme))
	utilruntime.Must(addHandWrittenConversions(scheme))
	utilruntime.Must(addQueryConversions(scheme))
	return &machinery{
		scheme: scheme,
		codecs: serializer.NewCodecFactory(scheme,
			serializer.WithStreamingCollectionEncodingToJSON(), serializer.WithStreamingCollectionEncodingToProtobuf()),
		parameters: runtime.NewParameterCodec(scheme),
		rows:       rows,
		together:   kindsTogether(rows),
		types:      config.NewTypes(openapi.Schema),
	}
}

// addDefaultsThroughStored defaults a version by what is defaulted in the stored one.
func addDefaultsThroughStored(scheme *runtime.Scheme, row *row, version servedVersion) error {
	object, err := scheme.New(version.WithKind(row.kind))
	if err != nil {
		return err
	}
	scheme.AddTypeDefaultingFunc(object, func(o any) {
		stored, err := scheme.New(row.storageKind())
		utilruntime.Must(err)
		kind := o.(runtime.Object).GetObjectKind().GroupVersionKind()
		if scheme.Convert(o, stored, nil) != nil {
			return // what cannot be converted is refused elsewhere
		}
		if version.defaults != nil {
			version.defaults(stored)
		}
		row.strategy.defaults(stored)
		defaulted := mustNew(scheme, version.WithKind(row.kind))
		if scheme.Convert(stored, defaulted, nil) != nil {
			return
		}
		defaulted.GetObjectKind().SetGroupVersionKind(kind)
		object := reflect.ValueOf(o).Elem()
		if status := object.FieldByName("Status"); status.IsValid() { // has no defaults, and need not be the same after conversion
			reflect.ValueOf(defaulted).Elem().FieldByName("Status").Set(status)
		}
		object.Set(reflect.ValueOf(defaulted).Elem())
	})
	return nil
}

// addSameShapeConversions lets the versions of a kind be converted through JSON. It is right where the versions have the
// same fields; hand-written functions take precedence.
func addSameShapeConversions(scheme *runtime.Scheme) error {
	versions := map[schema.GroupKind][]runtime.Object{}
	for gvk := range scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal || gvk.Group == "" {
			continue
		}
		object, err := scheme.New(gvk)
		if err != nil {
			return err
		}
		versions[gvk.GroupKind()] = append(versions[gvk.GroupKind()], object)
	}
	for _, objects := range versions {
		for _, from := range objects {
			for _, to := range objects {
				if reflect.TypeOf(from) == reflect.TypeOf(to) {
					continue // such as ListOptions, which every group version has
				}
				if err := scheme.AddGeneratedConversionFunc(from, to, throughJSON); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func throughJSON(from, to any, _ conversion.Scope) error {
	data, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("converting %T to %T: %w", from, to, err)
	}
	target := to.(runtime.Object)
	if err := json.Unmarshal(data, target); err != nil {
		return fmt.Errorf("converting %T to %T: %w", from, to, err)
	}
	// The source's version is in the JSON; who converts sets the target's.
	target.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return nil
}

// Scheme returns the Go types of the built-in kinds, with the defaults and conversions of all versions, also of those
// that are served only when asked. It is shared and must not be changed.
func Scheme() *runtime.Scheme { return shared().scheme }
