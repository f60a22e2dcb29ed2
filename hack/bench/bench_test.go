// Package bench measures how fast API servers admit: creates through webhooks on fakeapi and, where its assets are at
// hand, on a real kube-apiserver, beside the bare HTTPS POST of the same review as the floor.
package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
	"github.com/gatehouse-dev/gatehouse/suites/target"
)

// scenario is a set of mutating webhooks, of which matching match the creates that are measured.
type scenario struct {
	name     string
	webhooks int
	matching int
}

var scenarios = []scenario{
	{name: "webhooks=0", webhooks: 0, matching: 0},
	{name: "webhooks=1", webhooks: 1, matching: 1},
	{name: "webhooks=50,matching=1", webhooks: 50, matching: 1},
	{name: "webhooks=5,matching=5", webhooks: 5, matching: 5},
}

// BenchmarkCreate measures creates of a config map, one after the other.
func BenchmarkCreate(b *testing.B) {
	for _, name := range []string{target.FakeAPI, target.Envtest} {
		b.Run("target="+name, func(b *testing.B) {
			tgt, err := target.Open(b.Context(), target.Options{Name: name})
			if err != nil {
				b.Skipf("no %s to measure: %v", name, err)
			}
			b.Cleanup(func() {
				if err := tgt.Stop(); err != nil {
					b.Error(err)
				}
			})
			for i, s := range scenarios {
				b.Run(s.name, func(b *testing.B) { benchmarkCreate(b, tgt, fmt.Sprintf("bench-%d", i), s) })
			}
		})
	}
}

func benchmarkCreate(b *testing.B, tgt target.Target, namespace string, s scenario) {
	ctx := b.Context()
	config := tgt.RESTConfig()
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	webhook := httptest.NewTLSServer(http.HandlerFunc(allow))
	defer webhook.Close()
	configuration := configure(webhook, namespace, s)
	made, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: namespace + "-", // a benchmark may run more than once
		Labels:       map[string]string{"bench": namespace},
	}}, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	configurations := client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	if _, err := configurations.Create(ctx, configuration, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := configurations.Delete(context.WithoutCancel(ctx), configuration.Name, metav1.DeleteOptions{}); err != nil {
			b.Error(err)
		}
	}()
	if err := tgt.Settle(ctx, schema.GroupResource{Group: admissionregistrationv1.GroupName, Resource: "mutatingwebhookconfigurations"}); err != nil {
		b.Fatal(err)
	}
	object := probe()
	latencies := make([]time.Duration, 0, b.N)
	for b.Loop() {
		start := time.Now()
		if _, err := client.CoreV1().ConfigMaps(made.Name).Create(ctx, object, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
		latencies = append(latencies, time.Since(start))
	}
	reportLatencies(b, latencies)
}

// BenchmarkPost is the floor: the HTTPS POST of the review that BenchmarkCreate's webhooks get, by itself.
func BenchmarkPost(b *testing.B) {
	webhook := httptest.NewTLSServer(http.HandlerFunc(allow))
	defer webhook.Close()
	body := captureReview(b)
	client := webhook.Client()
	latencies := make([]time.Duration, 0, b.N)
	for b.Loop() {
		start := time.Now()
		response, err := client.Post(webhook.URL, "application/json", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			b.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			b.Fatal(err)
		}
		latencies = append(latencies, time.Since(start))
	}
	reportLatencies(b, latencies)
}

// captureReview is the review that a webhook gets of the create that BenchmarkCreate measures.
func captureReview(b *testing.B) []byte {
	b.Helper()
	var review []byte
	webhook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review = body
		r.Body = io.NopCloser(bytes.NewReader(body))
		allow(w, r)
	}))
	defer webhook.Close()
	const namespace = "capture"
	server, err := fakeapi.Start(b.Context(), fakeapi.Options{Objects: []runtime.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"bench": namespace}}},
		configure(webhook, namespace, scenario{webhooks: 1, matching: 1}),
	}})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Stop()
	client, err := kubernetes.NewForConfig(server.RESTConfig())
	if err != nil {
		b.Fatal(err)
	}
	if _, err := client.CoreV1().ConfigMaps(namespace).Create(b.Context(), probe(), metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	if review == nil {
		b.Fatal("the webhook was not called")
	}
	return review
}

// probe is what is created.
func probe() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"}, Data: map[string]string{"key": "value"}}
}

func reportLatencies(b *testing.B, latencies []time.Duration) {
	slices.Sort(latencies)
	b.ReportMetric(float64(latencies[len(latencies)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(len(latencies))/b.Elapsed().Seconds(), "ops/s")
}

// allow answers every review with yes.
func allow(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

func configure(webhook *httptest.Server, namespace string, s scenario) *admissionregistrationv1.MutatingWebhookConfiguration {
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	caBundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw})
	for i := range s.webhooks {
		selected := namespace
		if i >= s.matching {
			selected = "another"
		}
		configuration.Webhooks = append(configuration.Webhooks, admissionregistrationv1.MutatingWebhook{
			Name:                    fmt.Sprintf("w%d.example.com", i),
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: ptr.To(fmt.Sprintf("%s/%d", webhook.URL, i)), CABundle: caBundle},
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"bench": selected}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		})
	}
	return configuration
}
