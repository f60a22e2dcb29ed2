package printers_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource/printers"
)

var noon = time.Date(2024, 5, 6, 12, 0, 0, 0, time.UTC)

func at() time.Time { return noon }

// What is compared with a kube-apiserver stands in the tests of package resource. Here is what cannot be recorded.
func TestPodCertificateRequests(t *testing.T) {
	table := printers.New(schema.GroupResource{Group: "certificates.k8s.io", Resource: "podcertificaterequests"}, printers.Options{Now: at})
	for _, test := range []struct {
		conditions []metav1.Condition
		state      string
	}{
		{nil, "Pending"},
		{[]metav1.Condition{{Type: "Other"}, {Type: certificatesv1.PodCertificateRequestConditionTypeIssued}}, "Issued"},
		{[]metav1.Condition{{Type: certificatesv1.PodCertificateRequestConditionTypeDenied}}, "Denied"},
	} {
		request := &certificatesv1.PodCertificateRequest{
			ObjectMeta: metav1.ObjectMeta{Name: "request"},
			Spec: certificatesv1.PodCertificateRequestSpec{
				SignerName: "example.com/signer", PodName: "pod", ServiceAccountName: "account", NodeName: "node",
				UnverifiedUserAnnotations: map[string]string{"a": "b"},
			},
			Status: certificatesv1.PodCertificateRequestStatus{Conditions: test.conditions},
		}
		got, err := table.ConvertToTable(t.Context(), request, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := []any{"request", "pod", "account", "node", "example.com/signer", test.state, "a=b"}
		if diff := cmp.Diff(want, got.Rows[0].Cells); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.conditions, diff)
		}
	}
}

func TestTable(t *testing.T) {
	deployment := appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: "7", CreationTimestamp: metav1.NewTime(noon.Add(-3 * time.Hour))},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{}, Replicas: ptr.To[int32](2)},
	}
	cells := []any{"web", "0/2", int64(0), int64(0), "3h", "", "", ""}
	list := &appsv1.DeploymentList{
		ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "more", RemainingItemCount: ptr.To[int64](1)},
		Items:    []appsv1.Deployment{deployment},
	}
	for name, test := range map[string]struct {
		object  runtime.Object
		options *metav1.TableOptions
		meta    metav1.ListMeta
		columns int
	}{
		"an object":       {&deployment, &metav1.TableOptions{}, metav1.ListMeta{ResourceVersion: "7"}, len(cells)},
		"a list":          {list, &metav1.TableOptions{}, list.ListMeta, len(cells)},
		"without headers": {list, &metav1.TableOptions{NoHeaders: true}, list.ListMeta, 0},
	} {
		t.Run(name, func(t *testing.T) {
			convertor := printers.New(schema.GroupResource{Group: "apps", Resource: "deployments"}, printers.Options{Now: at})
			table, err := convertor.ConvertToTable(t.Context(), test.object, test.options)
			if err != nil {
				t.Fatal(err)
			}
			if len(table.ColumnDefinitions) != test.columns {
				t.Errorf("%d columns, want %d", len(table.ColumnDefinitions), test.columns)
			}
			if diff := cmp.Diff(test.meta, table.ListMeta); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]any{cells}, []any{table.Rows[0].Cells}); diff != "" || len(table.Rows) != 1 {
				t.Errorf("%d rows (-want +got):\n%s", len(table.Rows), diff)
			}
		})
	}
}
