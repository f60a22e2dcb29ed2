// Package versions gives the objects of an admission request in the versions that webhooks and policies ask for.
//
// The API promises that object and oldObject come in the version that the matching rule names, with apiVersion and kind
// set, and that what a mutating webhook or policy changes in one version is seen by the next one in its own version and
// is stored. Each version is made and encoded once, as long as nothing changes the object.
package versions

import (
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

// Objects are the objects of one request in all the versions asked for so far. They belong to one goroutine.
type Objects struct {
	attributes admission.Attributes
	interfaces admission.ObjectInterfaces
	versions   map[schema.GroupVersionKind]*Version
	// latest is the version that was last replaced; nil while the object is that of the attributes.
	latest *Version
	// changes counts the replacements; a version made before the last one is out of date.
	changes int
	// unwritten tells that the attributes' object lacks the changes of latest.
	unwritten bool
}

// Version is the objects in one version.
type Version struct {
	// VersionedAttributes are the attributes of the request with the objects in the version. Objects must not be
	// changed in place.
	*admission.VersionedAttributes

	changes             int
	objectJSON, oldJSON []byte
}

// Of returns the objects of a request.
func Of(a admission.Attributes, o admission.ObjectInterfaces) *Objects {
	return &Objects{attributes: a, interfaces: o}
}

// Attributes are the request's attributes with the object as it is after all replacements, in whatever version.
func (s *Objects) Attributes() admission.Attributes {
	if s.latest != nil {
		return s.latest.VersionedAttributes
	}
	return s.attributes
}

// In returns the objects in the version of the kind.
func (s *Objects) In(kind schema.GroupVersionKind) (*Version, error) {
	v, ok := s.versions[kind]
	if ok && v.changes == s.changes {
		return v, nil
	}
	if !ok {
		v = &Version{VersionedAttributes: &admission.VersionedAttributes{Attributes: s.attributes, VersionedKind: kind}}
		if old := s.attributes.GetOldObject(); old != nil {
			converted, err := s.convert(old, kind)
			if err != nil {
				return nil, err
			}
			v.VersionedOldObject.Set(converted)
		}
	}
	if err := s.WriteBack(); err != nil {
		return nil, err
	}
	if obj := s.attributes.GetObject(); obj != nil {
		converted, err := s.convert(obj, kind)
		if err != nil {
			return nil, err
		}
		v.VersionedObject.Set(converted)
	}
	v.objectJSON, v.changes = nil, s.changes
	if s.versions == nil {
		s.versions = map[schema.GroupVersionKind]*Version{}
	}
	s.versions[kind] = v
	return v, nil
}

// Replace puts a new object in the place of v's, which must be up to date; all other versions are now out of date.
func (s *Objects) Replace(v *Version, obj runtime.Object) {
	v.UpdateObject(obj)
	s.changes++
	v.objectJSON, v.changes = nil, s.changes
	s.latest, s.unwritten = v, true
}

// WriteBack carries the replacements over into the object of the request's attributes, whose kind stays as it is; a
// custom resource keeps a kind that a patch gave it, for its validation to refuse.
func (s *Objects) WriteBack() error {
	if !s.unwritten {
		return nil
	}
	from, to := s.latest.VersionedObject.Object(), s.attributes.GetObject()
	kind := to.GetObjectKind().GroupVersionKind()
	if !assign(to, from) {
		if err := s.interfaces.GetObjectConvertor().Convert(from, to, nil); err != nil {
			return err
		}
	}
	if _, ok := to.(*unstructured.Unstructured); !ok {
		to.GetObjectKind().SetGroupVersionKind(kind)
	}
	s.unwritten = false
	return nil
}

// convert returns the object in the version of the kind, which may be the object itself.
func (s *Objects) convert(obj runtime.Object, kind schema.GroupVersionKind) (runtime.Object, error) {
	if obj.GetObjectKind().GroupVersionKind() == kind {
		return obj, nil
	}
	converted, err := s.interfaces.GetObjectCreater().New(kind)
	if err != nil {
		return nil, err
	}
	if _, ok := obj.(*unstructured.Unstructured); ok || reflect.TypeOf(obj) != reflect.TypeOf(converted) {
		if err := s.interfaces.GetObjectConvertor().Convert(obj, converted, nil); err != nil {
			return nil, err
		}
	} else {
		converted = shallowCopy(obj)
	}
	converted.GetObjectKind().SetGroupVersionKind(kind)
	return converted, nil
}

// assign makes to equal to from where both are of the same type and version, and tells whether they were.
func assign(to, from runtime.Object) bool {
	if reflect.TypeOf(to) != reflect.TypeOf(from) {
		return false
	}
	if _, ok := to.(*unstructured.Unstructured); ok && to.GetObjectKind().GroupVersionKind() != from.GetObjectKind().GroupVersionKind() {
		return false
	}
	reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from).Elem())
	return true
}

func shallowCopy(obj runtime.Object) runtime.Object {
	source := reflect.ValueOf(obj).Elem()
	target := reflect.New(source.Type())
	target.Elem().Set(source)
	return target.Interface().(runtime.Object)
}

// ObjectJSON is the object as a review request carries it; null when there is none. It must not be changed.
func (v *Version) ObjectJSON() ([]byte, error) {
	return encodeOnce(&v.objectJSON, v.VersionedObject.Object())
}

// OldObjectJSON is the old object as a review request carries it; null when there is none. It must not be changed.
func (v *Version) OldObjectJSON() ([]byte, error) {
	return encodeOnce(&v.oldJSON, v.VersionedOldObject.Object())
}

func encodeOnce(kept *[]byte, obj runtime.Object) ([]byte, error) {
	if *kept == nil {
		encoded, err := json.Marshal(obj)
		if err != nil {
			return nil, err
		}
		*kept = encoded
	}
	return *kept, nil
}
