package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// recordColumns records the columns of the tables of all resources that can be listed, by the names of the resources.
func recordColumns(ctx context.Context) (_ []byte, err error) {
	o, err := startOracle(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.stop()) }()

	paths, err := o.groupVersionPaths(ctx)
	if err != nil {
		return nil, err
	}
	columns := map[string][]metav1.TableColumnDefinition{}
	for _, path := range paths {
		var list metav1.APIResourceList
		if err := o.decode(ctx, path, &list); err != nil {
			return nil, err
		}
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") {
				continue
			}
			data, err := o.get(ctx, path+"/"+resource.Name, "application/json;as=Table;v=v1;g=meta.k8s.io")
			if err != nil {
				return nil, err
			}
			var table metav1.Table
			if err := json.Unmarshal(data, &table); err != nil {
				return nil, fmt.Errorf("table of %s: %w", resource.Name, err)
			}
			name := gv.WithResource(resource.Name).GroupResource().String()
			if other, ok := columns[name]; ok && !reflect.DeepEqual(other, table.ColumnDefinitions) {
				return nil, fmt.Errorf("the versions of %s have different columns", name)
			}
			columns[name] = table.ColumnDefinitions
		}
	}
	data, err := json.MarshalIndent(columns, "", " ")
	if err != nil {
		return nil, err
	}
	return compress(append(data, '\n'))
}
