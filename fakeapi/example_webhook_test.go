package fakeapi_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"log"
	"net/http/httptest"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

// A test of an admission webhook that is built with controller-runtime: it runs in a server of the test, and the
// configuration, which could as well be a file to load, points to it.
func Example_webhook() {
	ctx := context.Background()
	// The webhook under test.
	noSecretsInNames := admission.HandlerFunc(func(_ context.Context, request admission.Request) admission.Response {
		if request.Name == "password" {
			return admission.Denied("a password belongs into a Secret")
		}
		return admission.Allowed("")
	})
	hook := httptest.NewTLSServer(&ctrlwebhook.Admission{Handler: noSecretsInNames})
	defer hook.Close()

	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "config-maps"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "config-maps.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL:      new(hook.URL),
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	api, err := fakeapi.Start(ctx, fakeapi.Options{Objects: []runtime.Object{configuration}})
	if err != nil {
		log.Fatal(err)
	}
	defer api.Stop()

	configMaps := kubernetes.NewForConfigOrDie(api.RESTConfig()).CoreV1().ConfigMaps("default")
	for _, name := range []string{"colors", "password"} {
		_, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		fmt.Println(name, "→", err)
	}
	// Output:
	// colors → <nil>
	// password → admission webhook "config-maps.example.com" denied the request: a password belongs into a Secret
}
