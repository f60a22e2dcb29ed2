package resource_test

import (
	"compress/gzip"
	"encoding/json"
	"net/http"
	"os"
	"reflect"

	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource/apiregistration"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/store"
)

// recordedTable is a table of a collection or an object, with the objects in its rows.
type recordedTable struct {
	Path string
	Time time.Time
	Rows []metav1.TableRow
}

// TestTables compares tables with those that a kube-apiserver v1.37.2 made of the same objects.
func TestTables(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(start)
	catalogue, err := resource.New(resource.Options{Store: store.New(store.Options{}), Clock: now})
	if err != nil {
		t.Fatal(err)
	}
	infos := request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	decoder := decoderOfAll(t)
	printed := map[schema.GroupResource]bool{}
	for _, recorded := range recordedTables(t) {
		t.Run(recorded.Path, func(t *testing.T) {
			now.SetTime(recorded.Time)
			info := requestInfo(t, infos, recorded.Path)
			gvr := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
			printed[gvr.GroupResource()] = true
			storage := lookup(t, catalogue, gvr, info.Subresource).Storage()

			var objects []runtime.Object
			var want []metav1.TableRow
			for _, row := range recorded.Rows {
				object, _, err := decoder.Decode(row.Object.Raw, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				objects = append(objects, object)
				want = append(want, metav1.TableRow{Cells: row.Cells, Conditions: row.Conditions})
			}
			shown := objects[0]
			if info.Name == "" {
				shown = storage.(rest.Lister).NewList()
				if err := meta.SetList(shown, objects); err != nil {
					t.Fatal(err)
				}
			}
			table, err := storage.(rest.TableConvertor).ConvertToTable(t.Context(), shown, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(table.ColumnDefinitions) == 0 {
				t.Error("the table has no columns")
			}
			var got []metav1.TableRow
			for i, row := range table.Rows {
				if row.Object.Object == nil || reflect.TypeOf(row.Object.Object) != reflect.TypeOf(objects[i]) {
					t.Errorf("row %d is of a %T, not of a %T", i, row.Object.Object, objects[i])
				}
				got = append(got, metav1.TableRow{Cells: throughJSON(t, row.Cells), Conditions: row.Conditions})
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("rows (-real +ours):\n%s", diff)
			}
		})
	}
	for _, r := range catalogue.Resources() {
		_, lists := r.Storage().(rest.Lister)
		if resource := r.GVR.GroupResource(); lists && r.Subresource == "" && !printed[resource] && !unrecordedTables.Has(resource.String()) {
			t.Errorf("no table of %s is compared", resource)
		}
	}
}

// unrecordedTables are of kinds whose objects only a node may create.
var unrecordedTables = sets.New("podcertificaterequests.certificates.k8s.io")

func recordedTables(t *testing.T) []recordedTable {
	t.Helper()
	file, err := os.Open("printers/testdata/tables.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() // it is only read
	reader, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var tables []recordedTable
	if err := json.NewDecoder(reader).Decode(&tables); err != nil {
		t.Fatal(err)
	}
	return tables
}

func requestInfo(t *testing.T, infos request.RequestInfoFactory, path string) *request.RequestInfo {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	info, err := infos.NewRequestInfo(req)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// decoderOfAll decodes every built-in kind.
func decoderOfAll(t *testing.T) runtime.Decoder {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, apiextensionsv1.AddToScheme, apiregistration.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return serializer.NewCodecFactory(scheme).UniversalDeserializer()
}

// throughJSON returns cells as a client reads them.
func throughJSON(t *testing.T, cells []any) []any {
	t.Helper()
	data, err := json.Marshal(cells)
	if err != nil {
		t.Fatal(err)
	}
	var read []any
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	return read
}
