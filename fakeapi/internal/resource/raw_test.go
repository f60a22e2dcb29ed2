package resource_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource"
)

// storeRaw writes an object past the API.
func storeRaw(t *testing.T, c *resource.Catalogue, body object) error {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return c.StoreRaw(t.Context(), data)
}

func TestRawWrites(t *testing.T) {
	for name, test := range map[string]struct {
		body object
		path string
		want object
	}{
		"what the API would refuse": {
			object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "x", "namespace": "default"}, "data": object{"not a key": "1"}},
			"/api/v1/namespaces/default/configmaps/x",
			object{"data": object{"not a key": "1"}},
		},
		"defaults are filled in": {
			object{"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": "x", "namespace": "default"}},
			"/api/v1/namespaces/default/secrets/x",
			object{"type": "Opaque"},
		},
		"unknown fields are dropped": {
			object{"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": "x", "namespace": "default"}, "color": "red"},
			"/api/v1/namespaces/default/secrets/x",
			object{"color": nil},
		},
		"a version that is not the stored one": {
			object{"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": object{"name": "x", "namespace": "default"}, "spec": object{"maxReplicas": 3}},
			"/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/x",
			object{"apiVersion": "autoscaling/v2"},
		},
		"a namespace of a cluster-scoped kind": {
			object{"apiVersion": "v1", "kind": "Node", "metadata": object{"name": "x", "namespace": "default"}},
			"/api/v1/nodes/x",
			object{"metadata": object{"name": "x", "uid": "uid-5", "resourceVersion": "6", "creationTimestamp": "2024-05-06T07:08:09Z"}},
		},
		"a custom resource": {
			object{"apiVersion": "example.com/v2beta1", "kind": "Widget", "metadata": object{"name": "x", "namespace": "default"}, "spec": object{"color": "no color"}},
			widgetsPath + "/x",
			object{"apiVersion": "example.com/v1", "spec": object{"color": "no color", "size": int64(3)}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := api{t: t, catalogue: newCatalogue(t, resource.Options{})}
			if strings.HasPrefix(test.path, widgetsPath) {
				a.do("POST", definitions, widgets())
			}
			if err := storeRaw(t, a.catalogue, test.body); err != nil {
				t.Fatal(err)
			}
			got := a.do("GET", test.path, nil)
			for field, want := range test.want {
				if diff := cmp.Diff(want, got.Object[field]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", field, diff)
				}
			}
		})
	}
}

// TestRawWebhooksOfTheRetiredVersion stores what was valid in v1beta1, which has other defaults than v1.
func TestRawWebhooksOfTheRetiredVersion(t *testing.T) {
	c := newCatalogue(t, resource.Options{})
	for _, kind := range []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
		err := storeRaw(t, c, object{
			"apiVersion": "admissionregistration.k8s.io/v1beta1", "kind": kind, "metadata": object{"name": "x"},
			"webhooks": []any{object{"name": "a", "clientConfig": object{"service": object{"name": "s", "namespace": "n"}}, "rules": []any{object{"operations": []any{"CREATE"}}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var (
		ignore, exact   = admissionregistrationv1.Ignore, admissionregistrationv1.Exact
		unknown         = admissionregistrationv1.SideEffectClassUnknown
		never, all      = admissionregistrationv1.NeverReinvocationPolicy, admissionregistrationv1.AllScopes
		seconds, port   = int32(30), int32(443)
		rules           = []admissionregistrationv1.RuleWithOperations{{Operations: []admissionregistrationv1.OperationType{"CREATE"}, Rule: admissionregistrationv1.Rule{Scope: &all}}}
		client          = admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Name: "s", Namespace: "n", Port: &port}}
		anything        = &metav1.LabelSelector{}
		reviewsOfBefore = []string{"v1beta1"}
	)
	if diff := cmp.Diff([]admissionregistrationv1.ValidatingWebhook{{
		Name: "a", ClientConfig: client, Rules: rules, FailurePolicy: &ignore, MatchPolicy: &exact, SideEffects: &unknown, TimeoutSeconds: &seconds,
		NamespaceSelector: anything, ObjectSelector: anything, AdmissionReviewVersions: reviewsOfBefore,
	}}, c.Sources().ValidatingWebhooks()[0].Webhooks); diff != "" {
		t.Errorf("validating webhooks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]admissionregistrationv1.MutatingWebhook{{
		Name: "a", ClientConfig: client, Rules: rules, FailurePolicy: &ignore, MatchPolicy: &exact, SideEffects: &unknown, TimeoutSeconds: &seconds,
		NamespaceSelector: anything, ObjectSelector: anything, AdmissionReviewVersions: reviewsOfBefore, ReinvocationPolicy: &never,
	}}, c.Sources().MutatingWebhooks()[0].Webhooks); diff != "" {
		t.Errorf("mutating webhooks (-want +got):\n%s", diff)
	}
}

func TestRawWritesThatCannotBe(t *testing.T) {
	c := newCatalogue(t, resource.Options{})
	for want, body := range map[string]object{
		"no resource for kind Other in example.com/v1":           {"apiVersion": "example.com/v1", "kind": "Other", "metadata": object{"name": "x"}},
		"no resource for kind TokenReview in authentication.k8s": {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "metadata": object{"name": "x"}},
		"Node without metadata.name":                             {"apiVersion": "v1", "kind": "Node"},
		"Secret x without metadata.namespace":                    {"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": "x"}},
		"Secret x: unrecognized type: string":                    {"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": "x"}, "type": object{}},
		"raw object: Object 'Kind' is missing":                   {"apiVersion": "v1"},
	} {
		if err := storeRaw(t, c, body); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", body, err, want)
		}
	}
}

// TestPut replaces what is there and leaves the caller's object alone.
func TestPut(t *testing.T) {
	c := newCatalogue(t, resource.Options{})
	for _, value := range []string{"one", "two"} {
		given := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}, Data: map[string]string{"a": value}}
		before := given.DeepCopy()
		if err := c.Put(t.Context(), given); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, given); diff != "" {
			t.Errorf("the given object was changed (-before +after):\n%s", diff)
		}
		if got := get(t, c, "x").Data["a"]; got != value {
			t.Errorf("stored %s, want %s", got, value)
		}
	}
}
