package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/handler3"
)

// optionalVersions are the group versions that fakeapi can serve besides those that are served by default.
var optionalVersions = []string{"admissionregistration.k8s.io/v1alpha1", "admissionregistration.k8s.io/v1beta1"}

// recordOpenAPI records the documents in an archive:
//
//	v3.json         the list of the documents of version 3, which are v3/api/v1.json and so on
//	v2.json         the document of version 2
//	v2/GROUP/V.json what that has more when the optional group version is served
func recordOpenAPI(ctx context.Context) ([]byte, error) {
	documents, root, err := recordDocuments(ctx)
	if err != nil {
		return nil, err
	}
	more, moreRoot, err := recordDocuments(ctx, optionalVersions...)
	if err != nil {
		return nil, err
	}
	for _, version := range optionalVersions {
		name := "apis/" + version
		documents["v3/"+name+".json"] = more["v3/"+name+".json"]
		root.Paths[name] = moreRoot.Paths[name]
		if documents["v2/"+version+".json"], err = addition(documents["v2.json"], more["v2.json"], name, version); err != nil {
			return nil, err
		}
	}
	if documents["v3.json"], err = json.Marshal(root); err != nil {
		return nil, err
	}
	return archive(documents)
}

// recordDocuments records the documents of an API server.
func recordDocuments(ctx context.Context, groupVersions ...string) (_ map[string][]byte, _ handler3.OpenAPIV3Discovery, err error) {
	var root handler3.OpenAPIV3Discovery
	o, err := startOracle(ctx, groupVersions...)
	if err != nil {
		return nil, root, err
	}
	defer func() { err = errors.Join(err, o.stop()) }()

	documents := map[string][]byte{}
	if documents["v2.json"], err = o.get(ctx, "/openapi/v2", "application/json"); err != nil {
		return nil, root, err
	}
	if err := o.decode(ctx, "/openapi/v3", &root); err != nil {
		return nil, root, err
	}
	for name, document := range root.Paths {
		if !strings.HasPrefix(name, "api") && name != "version" {
			delete(root.Paths, name) // of the issuer of tokens, which fakeapi does not serve
			continue
		}
		if documents["v3/"+name+".json"], err = o.get(ctx, document.ServerRelativeURL, "application/json"); err != nil {
			return nil, root, err
		}
	}
	return documents, root, nil
}

// swagger is as much of a document of version 2 as is taken apart.
type swagger struct {
	Paths       map[string]json.RawMessage `json:"paths"`
	Definitions map[string]json.RawMessage `json:"definitions"`
	Parameters  map[string]json.RawMessage `json:"parameters,omitempty"`
}

// added returns what a document has more than the base.
func added(base, more []byte) (*swagger, error) {
	var from, to swagger
	if err := errors.Join(json.Unmarshal(base, &from), json.Unmarshal(more, &to)); err != nil {
		return nil, fmt.Errorf("decode a document of version 2: %w", err)
	}
	for _, section := range []struct{ from, to map[string]json.RawMessage }{
		{from.Paths, to.Paths}, {from.Definitions, to.Definitions}, {from.Parameters, to.Parameters},
	} {
		for name := range section.from {
			delete(section.to, name)
		}
	}
	return &to, nil
}

// addition returns what a document has more than the base, of a group version and its paths.
func addition(base, more []byte, path, version string) ([]byte, error) {
	all, err := added(base, more)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(all.Paths, func(name string, _ json.RawMessage) bool { return !strings.HasPrefix(name, "/"+path+"/") })
	// Definitions are named by the version of their package.
	part := "." + version[strings.LastIndex(version, "/")+1:] + "."
	maps.DeleteFunc(all.Definitions, func(name string, _ json.RawMessage) bool { return !strings.Contains(name, part) })
	return json.Marshal(all)
}

// archive packs files into a zip file that is the same for the same files.
func archive(files map[string][]byte) ([]byte, error) {
	var packed bytes.Buffer
	writer := zip.NewWriter(&packed)
	writer.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file, err := writer.Create(name)
		if err != nil {
			return nil, err
		}
		if _, err := file.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}
