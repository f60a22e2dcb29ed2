// Package printers makes the tables that kubectl shows of the built-in kinds. The columns are those that a kube-apiserver
// was recorded to have; what stands in them is computed here, by a function a kind.
package printers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Options are what a convertor needs of its surroundings.
type Options struct {
	// Now tells the time that ages are counted to.
	Now func() time.Time
	// Stored returns an object in the version that the functions here take; nil where it always is in that.
	Stored func(object runtime.Object) (runtime.Object, error)
}

// New returns what makes the tables of a built-in resource. Those that have no columns of their own show the name and the
// time of creation.
func New(resource schema.GroupResource, options Options) rest.TableConvertor {
	rows, ok := printers()[resource]
	if !ok {
		return rest.NewDefaultTableConvertor(resource)
	}
	columns := func() ([]metav1.TableColumnDefinition, error) { return columnsOf(resource) }
	return convertor{columns: columns, rows: rows, options: options}
}

// NewScale returns what makes the tables of scales.
func NewScale(now func() time.Time) rest.TableConvertor {
	columns := func() ([]metav1.TableColumnDefinition, error) { return scaleColumns(), nil }
	return convertor{columns: columns, rows: each(scaleCells), options: Options{Now: now}}
}

// rowsFunc makes the rows of objects, which are a list or one object alone.
type rowsFunc func(objects []runtime.Object, list bool, now time.Time) []metav1.TableRow

// each makes the rows of a kind from a function that makes the cells of one.
func each[T runtime.Object](cells func(object T, now time.Time) []any) rowsFunc {
	return func(objects []runtime.Object, _ bool, now time.Time) []metav1.TableRow {
		rows := make([]metav1.TableRow, len(objects))
		for i, object := range objects {
			rows[i].Cells = cells(object.(T), now)
			rows[i].Object.Object = object
		}
		return rows
	}
}

// convertor makes tables of a resource.
type convertor struct {
	columns func() ([]metav1.TableColumnDefinition, error)
	rows    rowsFunc
	options Options
}

// ConvertToTable implements rest.TableConvertor.
func (c convertor) ConvertToTable(_ context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{}
	objects, list := []runtime.Object{object}, meta.IsListType(object)
	if list {
		metadata, err := meta.ListAccessor(object)
		if err != nil {
			return nil, fmt.Errorf("table of %T: %w", object, err)
		}
		table.ResourceVersion, table.Continue = metadata.GetResourceVersion(), metadata.GetContinue()
		table.RemainingItemCount = metadata.GetRemainingItemCount()
		if objects, err = meta.ExtractList(object); err != nil {
			return nil, fmt.Errorf("table of %T: %w", object, err)
		}
	} else if metadata, err := meta.CommonAccessor(object); err == nil {
		table.ResourceVersion = metadata.GetResourceVersion()
	}
	var err error
	if table.Rows, err = c.rowsOf(objects, list); err != nil {
		return nil, fmt.Errorf("table of %T: %w", object, err)
	}
	if options, ok := tableOptions.(*metav1.TableOptions); !ok || !options.NoHeaders {
		if table.ColumnDefinitions, err = c.columns(); err != nil {
			return nil, err
		}
	}
	return table, nil
}

// rowsOf makes the rows of objects of the served version, which are kept in them.
func (c convertor) rowsOf(objects []runtime.Object, list bool) ([]metav1.TableRow, error) {
	if c.options.Stored == nil {
		return c.rows(objects, list, c.options.Now()), nil
	}
	stored := make([]runtime.Object, len(objects))
	served := map[runtime.Object]runtime.Object{}
	for i, object := range objects {
		var err error
		if stored[i], err = c.options.Stored(object); err != nil {
			return nil, err
		}
		served[stored[i]] = object
	}
	rows := c.rows(stored, list, c.options.Now())
	for i := range rows {
		rows[i].Object.Object = served[rows[i].Object.Object]
	}
	return rows, nil
}
