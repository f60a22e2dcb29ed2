package resource

import (
	"runtime"
	"sync"
	"weak"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource/crd"
)

// conversions are the custom resources of a version as lists and watches have them. A real API server serves those from a
// cache, which has each object converted once, while it converts for every other request. An object is known as long as
// it is stored, or a watch may still ask for it, and the definition stays the same.
type conversions struct {
	version *crd.Version
	known   sync.Map // from weak.Pointer[unstructured.Unstructured], the stored object, to *unstructured.Unstructured
}

// read returns a stored object in the version. What lies below its metadata is shared and must not be changed.
func (c *conversions) read(stored *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	key := weak.Make(stored)
	if known, ok := c.known.Load(key); ok {
		return shallowCopy(known.(*unstructured.Unstructured)).(*unstructured.Unstructured), nil
	}
	converted, err := c.version.Read(stored)
	if err != nil {
		return nil, err
	}
	if _, loaded := c.known.LoadOrStore(key, converted); !loaded {
		runtime.AddCleanup(stored, func(key weak.Pointer[unstructured.Unstructured]) { c.known.Delete(key) }, key)
	}
	return shallowCopy(converted).(*unstructured.Unstructured), nil
}
