package serve

import (
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/endpoints"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

// discoverer tells clients what is served, as it is at the time of the request.
type discoverer struct {
	catalogue *resource.Catalogue
	addresses discovery.Addresses

	// mu guards the aggregated documents, which are made anew when the catalogue has changed.
	mu         sync.Mutex
	of         []*resource.Resource
	aggregated map[string]aggregatedDocument // by /api, /apis
}

type aggregatedDocument struct {
	list *apidiscoveryv2.APIGroupDiscoveryList
	etag string
}

func newDiscoverer(catalogue *resource.Catalogue, address string) *discoverer {
	return &discoverer{catalogue: catalogue, addresses: discovery.DefaultAddresses{DefaultAddress: address}}
}

// serves tells whether the group version has resources.
func (d *discoverer) serves(gv schema.GroupVersion) bool {
	group, ok := d.group(gv.Group)
	return ok && slices.Contains(group.Versions, gv.Version)
}

func (d *discoverer) group(name string) (resource.Group, bool) {
	groups := d.catalogue.Groups()
	i := slices.IndexFunc(groups, func(g resource.Group) bool { return g.Name == name })
	if i < 0 {
		return resource.Group{}, false
	}
	return groups[i], true
}

// paths lists the paths of groups and versions.
func (d *discoverer) paths() []string {
	var paths []string
	for _, group := range d.catalogue.Groups() {
		root := "/api"
		if group.Name != "" {
			root = "/apis/" + group.Name
			paths = append(paths, root)
		}
		for _, version := range group.Versions {
			paths = append(paths, root+"/"+version)
		}
	}
	return paths
}

// serveVersion answers /api/V and /apis/G/V.
func (d *discoverer) serveVersion(w http.ResponseWriter, req *http.Request, gv schema.GroupVersion) {
	resources := discovery.APIResourceListerFunc(func() []metav1.APIResource { return d.resources(gv) })
	discovery.NewAPIVersionHandler(scheme.Codecs, gv, resources).ServeHTTP(w, req)
}

// serveGroup answers /apis/G.
func (d *discoverer) serveGroup(w http.ResponseWriter, req *http.Request, group resource.Group) {
	discovery.NewAPIGroupHandler(scheme.Codecs, apiGroup(group)).ServeHTTP(w, req)
}

// serveLegacyVersions answers /api.
func (d *discoverer) serveLegacyVersions(w http.ResponseWriter, req *http.Request) {
	if !allowGet(w, req) {
		return
	}
	plain := discovery.NewLegacyRootAPIHandler(d.addresses, scheme.Codecs, "/api")
	aggregated.WrapAggregatedDiscoveryToHandler(plain, d.aggregatedHandler("/api"), nil).ServeHTTP(w, req)
}

// serveGroups answers /apis.
func (d *discoverer) serveGroups(w http.ResponseWriter, req *http.Request) {
	plain := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		list := &metav1.APIGroupList{}
		for _, group := range d.catalogue.Groups() {
			if group.Name != "" {
				list.Groups = append(list.Groups, apiGroup(group))
			}
		}
		responsewriters.WriteObjectNegotiated(scheme.Codecs, negotiation.DefaultEndpointRestrictions,
			schema.GroupVersion{Version: "v1"}, w, req, http.StatusOK, list, false)
	})
	aggregated.WrapAggregatedDiscoveryToHandler(plain, d.aggregatedHandler("/apis"), nil).ServeHTTP(w, req)
}

func apiGroup(group resource.Group) metav1.APIGroup {
	api := metav1.APIGroup{Name: group.Name}
	for _, version := range group.Versions {
		api.Versions = append(api.Versions, metav1.GroupVersionForDiscovery{
			GroupVersion: schema.GroupVersion{Group: group.Name, Version: version}.String(),
			Version:      version,
		})
	}
	api.PreferredVersion = api.Versions[0]
	return api
}

// resources describes the resources and subresources of a group version.
func (d *discoverer) resources(gv schema.GroupVersion) []metav1.APIResource {
	list := []metav1.APIResource{}
	for _, r := range d.catalogue.Resources() {
		if r.GVR.GroupVersion() != gv {
			continue
		}
		api := metav1.APIResource{
			Name:               r.GVR.Resource,
			SingularName:       r.Singular,
			Namespaced:         r.Namespaced,
			Kind:               r.GVK.Kind,
			Verbs:              r.Verbs,
			ShortNames:         r.ShortNames,
			Categories:         r.Categories,
			StorageVersionHash: r.StorageVersionHash,
		}
		if r.Subresource != "" {
			api.Name += "/" + r.Subresource
		}
		if api.Verbs == nil {
			api.Verbs = metav1.Verbs{} // must not be null
		}
		if r.GVK.GroupVersion() != gv {
			api.Group, api.Version = r.GVK.Group, r.GVK.Version
		}
		list = append(list, api)
	}
	return list
}

// aggregatedHandler answers with all groups, versions and resources below /api or /apis in one document.
func (d *discoverer) aggregatedHandler(root string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		document, err := d.document(root)
		if err != nil {
			responsewriters.InternalError(w, req, err)
			return
		}
		// The encoder sets the kind of what it writes, so that each request needs a list of its own.
		list := *document.list
		aggregated.ServeHTTPWithETag(&list, document.etag, apidiscoveryv2.SchemeGroupVersion, discoveryCodecs(), w, req)
	})
}

// document returns the aggregated document of a root. It is made once for each state of the catalogue.
func (d *discoverer) document(root string) (aggregatedDocument, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	resources := d.catalogue.Resources()
	if !sameSlice(d.of, resources) {
		d.of, d.aggregated = resources, map[string]aggregatedDocument{}
	}
	if document, ok := d.aggregated[root]; ok {
		return document, nil
	}
	list := &apidiscoveryv2.APIGroupDiscoveryList{Items: []apidiscoveryv2.APIGroupDiscovery{}}
	for _, group := range d.catalogue.Groups() {
		if (group.Name == "") != (root == "/api") {
			continue
		}
		item := apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: group.Name}}
		for _, version := range group.Versions {
			resources, err := endpoints.ConvertGroupVersionIntoToDiscovery(d.resources(schema.GroupVersion{Group: group.Name, Version: version}))
			if err != nil {
				return aggregatedDocument{}, fmt.Errorf("describing %s/%s: %w", group.Name, version, err)
			}
			item.Versions = append(item.Versions, apidiscoveryv2.APIVersionDiscovery{
				Version: version, Resources: resources, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent,
			})
		}
		list.Items = append(list.Items, item)
	}
	data, err := json.Marshal(list)
	if err != nil {
		return aggregatedDocument{}, fmt.Errorf("encoding the discovery document: %w", err)
	}
	document := aggregatedDocument{list: list, etag: fmt.Sprintf("%X", sha512.Sum512(data))}
	d.aggregated[root] = document
	return document, nil
}

// sameSlice tells whether two slices are the same piece of memory.
func sameSlice[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

var discoveryCodecs = sync.OnceValue(func() runtime.NegotiatedSerializer {
	discoveryScheme := runtime.NewScheme()
	utilruntime.Must(apidiscoveryv2.AddToScheme(discoveryScheme))
	return serializer.NewCodecFactory(discoveryScheme)
})
