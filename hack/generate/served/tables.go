package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// objectsFile holds the objects whose tables are recorded, beside the recording.
const objectsFile = "testdata/objects.yaml"

// printedObject is an object of objectsFile.
type printedObject struct {
	Object map[string]any `yaml:"object"`
	// Status is written after the object was created.
	Status map[string]any `yaml:"status"`
	// Delete marks the object as deleted.
	Delete bool `yaml:"delete"`
}

// recordedTable is a table and what it is of.
type recordedTable struct {
	// Path is what the table was asked of: a collection or an object.
	Path string `json:"path"`
	// Time is when it was asked for, which ages count to.
	Time time.Time         `json:"time"`
	Rows []metav1.TableRow `json:"rows"`
}

// recordTables creates the objects and records the tables of each and of all of their kind, with the objects.
func recordTables(ctx context.Context) (_ []byte, err error) {
	data, err := os.ReadFile(objectsFile)
	if err != nil {
		return nil, err
	}
	var objects []printedObject
	if err := yaml.Unmarshal(data, &objects); err != nil {
		return nil, fmt.Errorf("decode %s: %w", objectsFile, err)
	}
	o, err := startOracle(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.stop()) }()

	paths, collections := []string{"/api/v1/componentstatuses"}, map[string]bool{}
	var refused []error
	for _, object := range objects {
		collection, name, err := o.create(ctx, object)
		if err != nil {
			refused = append(refused, err)
			continue
		}
		paths = append(paths, collection+"/"+name)
		if !collections[collection] {
			collections[collection] = true
			paths = append(paths, collection)
		}
	}
	if err := errors.Join(refused...); err != nil {
		return nil, err
	}
	var tables []recordedTable
	for _, path := range append(paths, otherTables...) {
		table, err := o.table(ctx, path)
		if err != nil {
			return nil, err
		}
		tables = append(tables, table)
	}
	encoded, err := json.MarshalIndent(tables, "", " ")
	if err != nil {
		return nil, err
	}
	return compress(append(encoded, '\n'))
}

// otherTables are of objects that there are anyway, or in other versions.
var otherTables = []string{
	"/apis/autoscaling/v1/horizontalpodautoscalers",
	"/apis/events.k8s.io/v1/events",
	"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
	"/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
	"/apis/rbac.authorization.k8s.io/v1/clusterroles/view",
	"/apis/apps/v1/namespaces/default/deployments/web/scale",
}

// create brings an object about and returns the path of its collection, and its name.
func (o *oracle) create(ctx context.Context, object printedObject) (collection, name string, err error) {
	u := unstructured.Unstructured{Object: object.Object}
	resource, err := o.resourceOf(ctx, u.GetAPIVersion(), u.GetKind())
	if err != nil {
		return "", "", err
	}
	collection = groupVersionPath(u.GetAPIVersion())
	if resource.Namespaced {
		collection += "/namespaces/" + cmp.Or(u.GetNamespace(), metav1.NamespaceDefault)
	}
	collection += "/" + resource.Name
	body, err := json.Marshal(u.Object)
	if err != nil {
		return "", "", err
	}
	if _, err := o.send(ctx, http.MethodPost, collection, "", body); err != nil {
		return "", "", err
	}
	path := collection + "/" + u.GetName()
	if object.Status != nil {
		var created map[string]any
		if err := o.decode(ctx, path, &created); err != nil {
			return "", "", err
		}
		created["status"] = object.Status
		if body, err = json.Marshal(created); err != nil {
			return "", "", err
		}
		if _, err := o.send(ctx, http.MethodPut, path+"/status", "", body); err != nil {
			return "", "", err
		}
	}
	if object.Delete {
		if _, err := o.send(ctx, http.MethodDelete, path, "", nil); err != nil {
			return "", "", err
		}
	}
	return collection, u.GetName(), nil
}

func groupVersionPath(apiVersion string) string {
	if strings.Contains(apiVersion, "/") {
		return "/apis/" + apiVersion
	}
	return "/api/" + apiVersion
}

// resourceOf finds the resource of a kind.
func (o *oracle) resourceOf(ctx context.Context, apiVersion, kind string) (metav1.APIResource, error) {
	var list metav1.APIResourceList
	if err := o.decode(ctx, groupVersionPath(apiVersion), &list); err != nil {
		return metav1.APIResource{}, err
	}
	for _, resource := range list.APIResources {
		if resource.Kind == kind && !strings.Contains(resource.Name, "/") {
			return resource, nil
		}
	}
	return metav1.APIResource{}, fmt.Errorf("%s has no kind %s", apiVersion, kind)
}

// table returns a table and the second in which it was made.
func (o *oracle) table(ctx context.Context, path string) (recordedTable, error) {
	for {
		before := time.Now().UTC().Truncate(time.Second)
		data, err := o.get(ctx, path+"?includeObject=Object", "application/json;as=Table;v=v1;g=meta.k8s.io")
		if err != nil {
			return recordedTable{}, err
		}
		if !time.Now().UTC().Truncate(time.Second).Equal(before) {
			continue
		}
		var table metav1.Table
		if err := json.Unmarshal(data, &table); err != nil {
			return recordedTable{}, fmt.Errorf("table of %s: %w", path, err)
		}
		return recordedTable{Path: path, Time: before, Rows: table.Rows}, nil
	}
}
