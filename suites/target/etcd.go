package target

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/restmapper"
)

// rawStore writes objects into the etcd of a kube-apiserver, through etcd's JSON gateway.
type rawStore struct {
	etcdURL string
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

// put stores a JSON object under the key where the API server looks for it. The API server reads JSON although it writes
// protobuf, in any version that it can convert. What every stored object has is added: uid and creationTimestamp.
func (s *rawStore) put(ctx context.Context, data []byte) error {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(data); err != nil {
		return fmt.Errorf("object for the store: %w", err)
	}
	mapping, err := s.mapping(object.GroupVersionKind().GroupKind())
	if err != nil {
		return fmt.Errorf("store %s %q: %w", object.GetKind(), object.GetName(), err)
	}
	key := storageKey(mapping, object.GetNamespace(), object.GetName())
	if object.GetUID() == "" {
		object.SetUID(uuid.NewUUID())
	}
	if created := object.GetCreationTimestamp(); created.IsZero() {
		object.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
	}
	value, err := object.MarshalJSON()
	if err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	body, err := json.Marshal(struct {
		Key   []byte `json:"key"`
		Value []byte `json:"value"`
	}{[]byte(key), value}) // []byte is base64 in JSON, as the gateway wants it
	if err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.etcdURL+"/v3/kv/put", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("store %s: %w", key, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("store %s: etcd answers %s: %s", key, response.Status, answer)
	}
	return nil
}

// mapping finds the resource of a kind, whatever the version, for the object's may no longer be served.
func (s *rawStore) mapping(kind schema.GroupKind) (*meta.RESTMapping, error) {
	mapping, err := s.mapper.RESTMapping(kind)
	if meta.IsNoMatchError(err) { // a custom resource that is newer than what was discovered
		s.mapper.Reset()
		mapping, err = s.mapper.RESTMapping(kind)
	}
	return mapping, err
}

// storageKey is where kube-apiserver stores an object: under the resource for the built-in groups, else under group and
// resource.
func storageKey(mapping *meta.RESTMapping, namespace, name string) string {
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		namespace = ""
	}
	resource := mapping.Resource.GroupResource()
	prefix, special := specialPrefixes[resource]
	switch {
	case special:
	case isBuiltIn(resource.Group):
		prefix = resource.Resource
	default:
		prefix = path.Join(resource.Group, resource.Resource)
	}
	return path.Join("/registry", prefix, namespace, name)
}

// isBuiltIn tells whether the API server itself serves a group: those of client-go's scheme, to which others may have added
// theirs.
func isBuiltIn(group string) bool {
	named := !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
	return named && group != apiextensionsv1.GroupName && scheme.Scheme.IsGroupRegistered(group)
}

// specialPrefixes are the resources that kube-apiserver stores under older names.
var specialPrefixes = map[schema.GroupResource]string{
	{Resource: "replicationcontrollers"}:                "controllers",
	{Resource: "endpoints"}:                             "services/endpoints",
	{Resource: "nodes"}:                                 "minions",
	{Resource: "services"}:                              "services/specs",
	{Group: "networking.k8s.io", Resource: "ingresses"}: "ingress",
}
