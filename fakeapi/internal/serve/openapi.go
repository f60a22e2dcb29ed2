package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/NYTimes/gziphandler"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/kube-openapi/pkg/handler3"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/openapi"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

const openAPIV3Path = "/openapi/v3/"

// openAPI serves the OpenAPI documents of what is served at the time of the request.
type openAPI struct {
	catalogue *resource.Catalogue

	// mu guards the documents, which are put together anew when the catalogue has changed.
	mu        sync.Mutex
	of        []*resource.Resource
	documents documents
	// custom are those of custom resources by their definitions.
	custom map[*apiextensionsv1.CustomResourceDefinition]*openapi.Custom
}

// documents are those of one state of the catalogue. They are not changed.
type documents struct {
	v2 *openapi.Document
	v3 map[string]*openapi.Document
}

func newOpenAPI(catalogue *resource.Catalogue) *openAPI { return &openAPI{catalogue: catalogue} }

// current returns the documents of what is served now.
func (o *openAPI) current() (documents, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	resources := o.catalogue.Resources()
	if o.documents.v2 != nil && sameSlice(o.of, resources) {
		return o.documents, nil
	}
	recorded, err := openapi.V3()
	if err != nil {
		return documents{}, err
	}
	names := []string{"api", "apis", "version"}
	var served []schema.GroupVersion
	for _, group := range o.catalogue.Groups() {
		names = append(names, "apis/"+group.Name)
		for _, version := range group.Versions {
			gv := schema.GroupVersion{Group: group.Name, Version: version}
			served = append(served, gv)
			names = append(names, openapi.DocumentName(gv))
		}
	}
	custom := o.customDocuments()
	v3 := openapi.V3OfCustom(custom)
	for _, name := range names {
		if document, ok := recorded[name]; ok {
			v3[name] = document
		}
	}
	v2, err := openapi.V2(served, custom)
	if err != nil {
		return documents{}, err
	}
	o.of, o.documents = resources, documents{v2, v3}
	return o.documents, nil
}

// customDocuments returns the documents of the definitions that are served, in order of name. Those that were there
// before are kept.
func (o *openAPI) customDocuments() []*openapi.Custom {
	known := map[*apiextensionsv1.CustomResourceDefinition]*openapi.Custom{}
	var list []*openapi.Custom
	for _, definition := range o.catalogue.CustomResourceDefinitions() {
		if !apihelpers.IsCRDConditionTrue(definition, apiextensionsv1.Established) {
			continue
		}
		custom, ok := o.custom[definition]
		if !ok {
			custom = openapi.NewCustom(definition)
		}
		known[definition] = custom
		list = append(list, custom)
	}
	o.custom = known
	return list
}

// serveV2 answers with the document of version 2, compressed if the client likes.
func (o *openAPI) serveV2(w http.ResponseWriter, req *http.Request) {
	gziphandler.GzipHandler(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		current, err := o.current()
		if err != nil {
			responsewriters.InternalError(w, req, err)
			return
		}
		serveDocument(w, req, current.v2, "v2", nil)
	})).ServeHTTP(w, req)
}

// serveV3Root answers with the list of the documents of version 3.
func (o *openAPI) serveV3Root(w http.ResponseWriter, req *http.Request) {
	list, err := o.list()
	if err != nil {
		responsewriters.InternalError(w, req, err)
		return
	}
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(list))
}

func (o *openAPI) list() ([]byte, error) {
	current, err := o.current()
	if err != nil {
		return nil, err
	}
	list := handler3.OpenAPIV3Discovery{Paths: map[string]handler3.OpenAPIV3DiscoveryGroupVersion{}}
	for name, document := range current.v3 {
		etag, err := document.ETag()
		if err != nil {
			continue // the others are listed nevertheless; who asks for this one is told the error
		}
		list.Paths[name] = handler3.OpenAPIV3DiscoveryGroupVersion{ServerRelativeURL: documentURL(name, etag)}
	}
	return json.Marshal(list)
}

// documentURL is where a document is that never changes: another one has another hash.
func documentURL(name, etag string) string {
	location := url.URL{Path: openAPIV3Path + name, RawQuery: url.Values{"hash": {etag}}.Encode()}
	return location.String()
}

// serveV3 answers with a document of version 3, named as in its URL: api/v1, apis/apps/v1.
func (o *openAPI) serveV3(w http.ResponseWriter, req *http.Request) {
	current, err := o.current()
	if err != nil {
		responsewriters.InternalError(w, req, err)
		return
	}
	name := strings.TrimPrefix(req.URL.Path, openAPIV3Path)
	document, ok := current.v3[name]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	serveDocument(w, req, document, "v3", func(etag string) (redirected bool) {
		switch req.URL.Query().Get("hash") {
		case "":
			return false
		case etag:
			w.Header().Set("Cache-Control", "public, immutable")
			w.Header().Set("Expires", time.Now().AddDate(1, 0, 0).Format(time.RFC1123))
			return false
		}
		http.Redirect(w, req, documentURL(name, etag), http.StatusMovedPermanently)
		return true
	})
}

// serveDocument answers with a document of an OpenAPI version in the form that the client accepts. Before it does, it asks
// whether the client was sent elsewhere.
func serveDocument(w http.ResponseWriter, req *http.Request, document *openapi.Document, version string, redirect func(etag string) bool) {
	w.Header().Add("Vary", "Accept")
	accepted, ok := negotiation.NegotiateMediaTypeOptions(req.Header.Get("Accept"), openAPIForms(version), negotiation.DefaultEndpointRestrictions)
	if !ok {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	encode, contentType := document.JSON, accepted.Accepted.MediaType
	if contentType != runtime.ContentTypeJSON {
		encode, contentType = document.Protobuf, openAPIProtobuf(version, ".")
	}
	etag, err := document.ETag()
	if err != nil {
		responsewriters.InternalError(w, req, err)
		return
	}
	data, err := encode()
	if err != nil {
		responsewriters.InternalError(w, req, err)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Etag", strconv.Quote(etag))
	if redirect != nil && redirect(etag) {
		return
	}
	http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(data))
}

// openAPIForms are the media types of documents. Protobuf has an older name that clients still ask for.
func openAPIForms(version string) []runtime.SerializerInfo {
	var forms []runtime.SerializerInfo
	for _, mediaType := range []string{runtime.ContentTypeJSON, openAPIProtobuf(version, "."), openAPIProtobuf(version, "@")} {
		kind, subtype, _ := strings.Cut(mediaType, "/")
		forms = append(forms, runtime.SerializerInfo{MediaType: mediaType, MediaTypeType: kind, MediaTypeSubType: subtype})
	}
	return forms
}

func openAPIProtobuf(version, separator string) string {
	return fmt.Sprintf("application/com.github.proto-openapi.spec.%s%sv1.0+protobuf", version, separator)
}
