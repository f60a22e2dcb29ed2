package openapi

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
)

//go:generate go run ../../../hack/generate/served openapi recorded.zip
//go:generate go run ../../../hack/generate/served custom testdata/custom.json.gz

//go:embed recorded.zip
var archive []byte

// read returns a file of the archive.
func read(name string) ([]byte, error) {
	files, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, fmt.Errorf("recorded OpenAPI documents: %w", err)
	}
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, fmt.Errorf("recorded OpenAPI documents: %w", err)
	}
	return data, nil
}

// V3 returns the recorded documents of version 3 by their names, which are the paths that they describe: api/v1, apis/apps,
// apis/apps/v1. Those of group versions that are not served by default are among them. The map must not be changed.
func V3() (map[string]*Document, error) { return recordedV3() }

var recordedV3 = sync.OnceValues(func() (map[string]*Document, error) {
	data, err := read("v3.json")
	if err != nil {
		return nil, err
	}
	var list handler3.OpenAPIV3Discovery
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("list of the recorded OpenAPI documents: %w", err)
	}
	documents := map[string]*Document{}
	for name, listed := range list.Paths {
		// The hash is in the list, so that listing documents reads none.
		location, err := url.Parse(listed.ServerRelativeURL)
		if err != nil {
			return nil, fmt.Errorf("list of the recorded OpenAPI documents: %w", err)
		}
		document := newDocument(func() ([]byte, error) { return read("v3/" + name + ".json") }, handler3.ToV3ProtoBinary)
		document.etag = func() (string, error) { return location.Query().Get("hash"), nil }
		documents[name] = document
	}
	return documents, nil
})

// recordedV2 is the recorded document of version 2.
var recordedV2 = sync.OnceValue(func() *Document {
	return newDocument(func() ([]byte, error) { return read("v2.json") }, handler.ToProtoBinary)
})

// V2 returns the document of version 2 of a server that serves, besides what is served by default, other built-in group
// versions and custom resources.
func V2(served []schema.GroupVersion, custom []*Custom) (*Document, error) {
	var optional [][]byte
	for _, gv := range served {
		addition, err := read("v2/" + gv.String() + ".json")
		switch {
		case errors.Is(err, fs.ErrNotExist): // served by default
		case err != nil:
			return nil, err
		default:
			optional = append(optional, addition)
		}
	}
	if len(optional)+len(custom) == 0 {
		return recordedV2(), nil
	}
	return newDocument(func() ([]byte, error) {
		base, err := recordedV2().JSON()
		if err != nil {
			return nil, err
		}
		more := slices.Clone(optional)
		for _, c := range custom {
			documents, err := c.v2()
			if err != nil {
				continue // the others are described nevertheless; its document of version 3 tells the error
			}
			more = append(more, documents...)
		}
		return merge(base, more)
	}, handler.ToProtoBinary), nil
}
