package openapi

import (
	"crypto/sha512"
	"fmt"
	"sync"
)

// Document is an OpenAPI document. It is not changed.
type Document struct {
	json, protobuf func() ([]byte, error)
	etag           func() (string, error)
}

// newDocument returns a document that is made by one function and translated to protobuf by the other, each of which is
// called once at most.
func newDocument(json func() ([]byte, error), toProtobuf func(json []byte) ([]byte, error)) *Document {
	d := &Document{json: sync.OnceValues(json)}
	d.protobuf = sync.OnceValues(func() ([]byte, error) {
		data, err := d.json()
		if err != nil {
			return nil, err
		}
		return toProtobuf(data)
	})
	d.etag = sync.OnceValues(func() (string, error) {
		data, err := d.json()
		return fmt.Sprintf("%X", sha512.Sum512(data)), err
	})
	return d
}

// JSON returns the document as JSON. It must not be changed.
func (d *Document) JSON() ([]byte, error) { return d.json() }

// Protobuf returns the document as a message of the gnostic project. It must not be changed.
func (d *Document) Protobuf() ([]byte, error) { return d.protobuf() }

// ETag returns a hash of the document, the same for both forms.
func (d *Document) ETag() (string, error) { return d.etag() }
