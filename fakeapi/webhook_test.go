package fakeapi_test

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/onsi/gomega/gbytes"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/cert"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
	"github.com/gatehouse-dev/gatehouse/fakeapi/decision"
)

// webhook serves an admission webhook over HTTPS and returns how to call it.
func webhook(t *testing.T, answer func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse) admissionregistrationv1.WebhookClientConfig {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = answer(review.Request)
		review.Response.UID = review.Request.UID
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return admissionregistrationv1.WebhookClientConfig{
		URL:      new(server.URL),
		CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
}

// onConfigMaps are rules for the creation of config maps.
var onConfigMaps = []admissionregistrationv1.RuleWithOperations{{
	Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
	Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
}}

func TestWebhooks(t *testing.T) {
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "label"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:                    "label.example.com",
			Rules:                   onConfigMaps,
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			ClientConfig: webhook(t, func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
				return &admissionv1.AdmissionResponse{
					Allowed:          true,
					Patch:            []byte(`[{"op":"add","path":"/data","value":{"labelled":"yes"}}]`),
					PatchType:        new(admissionv1.PatchTypeJSONPatch),
					Warnings:         []string{"take care"},
					AuditAnnotations: map[string]string{"seen": "true"},
				}
			}),
		}},
	}
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "deny"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "deny.example.com",
			Rules:                   onConfigMaps,
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			ClientConfig: webhook(t, func(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
				if request.Name != "bad" {
					return &admissionv1.AdmissionResponse{Allowed: true}
				}
				return &admissionv1.AdmissionResponse{Result: &metav1.Status{Code: http.StatusTeapot, Message: "not today"}}
			}),
		}},
	}
	explained := gbytes.NewBuffer()
	server := start(t, fakeapi.Options{Objects: []runtime.Object{mutating, validating}, Explain: explained})
	client := clientFor(t, server.RESTConfig())

	created, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("good"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if created.Data["labelled"] != "yes" {
		t.Errorf("the mutating webhook changed nothing: %v", created.Data)
	}
	_, err = client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("bad"), metav1.CreateOptions{})
	if status, ok := err.(apierrors.APIStatus); !ok || status.Status().Code != http.StatusTeapot || status.Status().Message != `admission webhook "deny.example.com" denied the request: not today` {
		t.Errorf("the validating webhook did not deny: %v", err)
	}
	if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "bad", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("what was denied is stored: %v", err)
	}

	// Warnings, audit annotations and the decision record tell about it.
	const body = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"third"}}`
	answer := do(t, server, "POST", "/api/v1/namespaces/default/configmaps", body, "Content-Type", "application/json")
	if got := answer.header.Values("Warning"); len(got) != 1 || got[0] != `299 - "take care"` {
		t.Errorf("warnings: %q", got)
	}
	auditID := answer.header.Get("Audit-ID")
	records := server.Decisions(auditID)
	if len(records) != 1 || !records[0].Allowed || records[0].AuditID != auditID {
		t.Fatalf("decisions: %+v", records)
	}
	called := map[string]decision.Outcome{}
	for _, step := range records[0].Steps {
		if step.Call != nil {
			called[step.Name] = step.Outcome
		}
	}
	if called["label.example.com"] != decision.Allowed || called["deny.example.com"] != decision.Allowed {
		t.Errorf("decisions: calls %v", called)
	}
	event := auditEvent(t, server, auditID)
	if event.Annotations["label.example.com/seen"] != "true" {
		t.Errorf("audit annotations: %v", event.Annotations)
	}
	patch := ""
	for key, value := range event.Annotations {
		if strings.HasPrefix(key, "patch.webhook.admission.k8s.io/") {
			patch = value
		}
	}
	if !strings.Contains(patch, `"path":"/data"`) {
		t.Errorf("audit annotations have no patch: %v", event.Annotations)
	}
	server.Stop()
	if text := string(explained.Contents()); !strings.Contains(text, "label.example.com") || !strings.Contains(text, "not today") {
		t.Errorf("explained:\n%s", text)
	}
}

// A configuration acts from the next request on, and no longer than it is there.
func TestConfigurationsTakeEffectAtOnce(t *testing.T) {
	server := start(t, fakeapi.Options{})
	client := clientFor(t, server.RESTConfig())
	configurations := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	configMaps := client.CoreV1().ConfigMaps("default")
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "deny"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "deny.example.com",
			Rules:                   onConfigMaps,
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			ClientConfig: webhook(t, func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
				return &admissionv1.AdmissionResponse{Result: &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden}}
			}),
		}},
	}
	for range 3 {
		if _, err := configurations.Create(t.Context(), configuration, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := configMaps.Create(t.Context(), configMap("probe"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
			t.Fatalf("with the configuration: %v", err)
		}
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := configMaps.Create(t.Context(), configMap("probe"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
			t.Fatalf("with the configuration after a restart: %v", err)
		}
		if err := configurations.Delete(t.Context(), "deny", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := configMaps.Create(t.Context(), configMap("probe"), metav1.CreateOptions{}); err != nil {
			t.Fatalf("without the configuration: %v", err)
		}
		if err := configMaps.Delete(t.Context(), "probe", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// A webhook by service is called where ServiceAddresses says, under the name of the service. When its certificate is
// changed, the connections that there are go on; new ones need a caBundle that vouches for the new one.
func TestServiceAddresses(t *testing.T) {
	const name = "hook.team.svc"
	first, firstBundle := serving(t, name)
	second, secondBundle := serving(t, name)
	var certificate atomic.Pointer[tls.Certificate]
	certificate.Store(&first)
	hook := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, Warnings: []string{req.TLS.ServerName + " " + req.Host}}
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	}))
	hook.TLS = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate.Load(), nil }}
	hook.StartTLS()
	defer hook.Close()

	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "hook"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "hook.example.com",
			Rules:                   onConfigMaps,
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				Service:  &admissionregistrationv1.ServiceReference{Namespace: "team", Name: "hook", Port: new(int32(8443))},
				CABundle: firstBundle,
			},
		}},
	}
	server := start(t, fakeapi.Options{
		Objects:          []runtime.Object{configuration},
		ServiceAddresses: map[string]string{"team/hook:8443": hook.Listener.Addr().String()},
	})
	create := func(when, wantError string) {
		t.Helper()
		var answer response
		for {
			answer = do(t, server, "POST", "/api/v1/namespaces/default/configmaps?dryRun=All", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, "Content-Type", "application/json")
			// A connection that was just closed may still be taken for one that can be used.
			if !strings.Contains(string(answer.body), "EOF") && !strings.Contains(string(answer.body), "connection reset") {
				break
			}
		}
		warning := answer.header.Get("Warning")
		switch {
		case wantError == "" && (answer.code != http.StatusCreated || warning != `299 - "`+name+` `+name+`:8443"`):
			t.Errorf("%s: %d %s, warning %q", when, answer.code, answer.body, warning)
		case wantError != "" && !strings.Contains(string(answer.body), wantError):
			t.Errorf("%s: %d %s, want %s", when, answer.code, answer.body, wantError)
		}
	}
	create("at first", "")
	certificate.Store(&second)
	create("with a new certificate, over the old connection", "")
	hook.CloseClientConnections()
	create("over a new connection", "certificate signed by unknown authority")
	client := clientFor(t, server.RESTConfig()).AdmissionregistrationV1().ValidatingWebhookConfigurations()
	stored, err := client.Get(t.Context(), "hook", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stored.Webhooks[0].ClientConfig.CABundle = secondBundle
	if _, err := client.Update(t.Context(), stored, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	create("with the new caBundle", "")
}

// serving makes a certificate for a name, and the bundle that vouches for it.
func serving(t *testing.T, name string) (tls.Certificate, []byte) {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey(name, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	return pair, certificate
}
