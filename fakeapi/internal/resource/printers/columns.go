package printers

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:generate go run ../../../../hack/generate/served columns columns.json.gz
//go:generate go run ../../../../hack/generate/served tables testdata/tables.json.gz

//go:embed columns.json.gz
var compressed []byte

// recorded are the columns of the tables of a kube-apiserver by resources, such as deployments.apps.
var recorded = sync.OnceValues(func() (map[string][]metav1.TableColumnDefinition, error) {
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("recorded columns: %w", err)
	}
	var columns map[string][]metav1.TableColumnDefinition
	if err := json.NewDecoder(reader).Decode(&columns); err != nil {
		return nil, fmt.Errorf("recorded columns: %w", err)
	}
	return columns, nil
})

func columnsOf(resource schema.GroupResource) ([]metav1.TableColumnDefinition, error) {
	columns, err := recorded()
	if err != nil {
		return nil, err
	}
	if columns[resource.String()] == nil {
		return nil, fmt.Errorf("no columns of %s were recorded", resource)
	}
	return columns[resource.String()], nil
}
