package fieldschema_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource/apiregistration"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/resource/fieldschema"
)

func TestEncoding(t *testing.T) {
	parser, err := typed.NewParser(`types:
- name: everything
  map:
    fields:
    - name: atomic
      type:
        list:
          elementType:
            namedType: leaf
          elementRelationship: atomic
    - name: keyed
      type:
        list:
          elementType:
            namedType: everything
          elementRelationship: associative
          keys: [name, port]
    - name: defaulted
      type:
        namedType: leaf
      default: three
    - name: overridden
      type:
        namedType: everything
        elementRelationship: atomic
    - name: free
      type:
        map:
          elementType:
            scalar: untyped
            list:
              elementType:
                namedType: leaf
              elementRelationship: atomic
            map:
              elementType:
                namedType: leaf
              elementRelationship: separable
    unions:
    - discriminator: kind
      fields:
      - fieldName: keyed
        discriminatorValue: Keyed
- name: leaf
  scalar: string
`)
	if err != nil {
		t.Fatal(err)
	}
	data, err := fieldschema.Encode(&parser.Schema)
	if err != nil {
		t.Fatal(err)
	}
	var got schema.Schema
	if err := fieldschema.Decode(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parser.Schema.Types, got.Types, cmpopts.IgnoreUnexported(schema.Map{})); diff != "" {
		t.Errorf("types that were encoded and decoded (-want +got):\n%s", diff)
	}
}

// TestMerge applies a change to an object, which shows what its schema says of its lists.
func TestMerge(t *testing.T) {
	webhooks := func(webhooks ...admissionregistrationv1.ValidatingWebhook) runtime.Object {
		return &admissionregistrationv1.ValidatingWebhookConfiguration{
			TypeMeta: metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"}, Webhooks: webhooks,
		}
	}
	rules := func(operations ...admissionregistrationv1.OperationType) []admissionregistrationv1.RuleWithOperations {
		var rules []admissionregistrationv1.RuleWithOperations
		for _, operation := range operations {
			rules = append(rules, admissionregistrationv1.RuleWithOperations{Operations: []admissionregistrationv1.OperationType{operation}})
		}
		return rules
	}
	scale := func(replicas int32) runtime.Object {
		return &autoscalingv1.Scale{TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	}
	configMap := func(key string) runtime.Object {
		return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: map[string]string{key: "x"}}
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, apiregistration.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	service := func(conditions ...string) runtime.Object {
		service := &apiregistration.APIService{TypeMeta: metav1.TypeMeta{APIVersion: "apiregistration.k8s.io/v1", Kind: "APIService"}}
		for _, condition := range conditions {
			service.Status.Conditions = append(service.Status.Conditions, apiregistration.APIServiceCondition{Type: condition})
		}
		return service
	}
	for name, test := range map[string]struct{ object, change, want runtime.Object }{
		"a kind without apply configurations": {service("a"), service("b"), service("a", "b")},
		"webhooks are told apart by their names": {
			webhooks(admissionregistrationv1.ValidatingWebhook{Name: "a"}), webhooks(admissionregistrationv1.ValidatingWebhook{Name: "b"}),
			webhooks(admissionregistrationv1.ValidatingWebhook{Name: "a"}, admissionregistrationv1.ValidatingWebhook{Name: "b"}),
		},
		"rules are one value": {
			webhooks(admissionregistrationv1.ValidatingWebhook{Name: "a", Rules: rules("CREATE", "UPDATE")}),
			webhooks(admissionregistrationv1.ValidatingWebhook{Name: "a", Rules: rules("DELETE")}),
			webhooks(admissionregistrationv1.ValidatingWebhook{Name: "a", Rules: rules("DELETE")}),
		},
		"a kind that has no schema": {scale(1), scale(2), scale(2)},
		"data is a map": {configMap("a"), configMap("b"), &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: map[string]string{"a": "x", "b": "x"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			converter := fieldschema.Converter{Scheme: scheme}
			object, err := converter.ObjectToTyped(test.object)
			if err != nil {
				t.Fatal(err)
			}
			change, err := converter.ObjectToTyped(test.change)
			if err != nil {
				t.Fatal(err)
			}
			merged, err := object.Merge(change)
			if err != nil {
				t.Fatal(err)
			}
			got, err := converter.TypedToObject(merged)
			if err != nil {
				t.Fatal(err)
			}
			want, err := runtime.DefaultUnstructuredConverter.ToUnstructured(test.want)
			if err != nil {
				t.Fatal(err)
			}
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, content); diff != "" {
				t.Errorf("merged (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnknownFieldsAreRefused(t *testing.T) {
	converter := fieldschema.Converter{Scheme: clientscheme.Scheme}
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	if _, err := converter.ObjectToTyped(pod); err != nil {
		t.Errorf("a pod: %v", err)
	}
	unknown := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Nothing"}}
	if _, err := converter.ObjectToTyped(unknown); err == nil {
		t.Error("a kind that is not in the scheme has a schema")
	}
}
