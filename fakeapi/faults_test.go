package fakeapi_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

type requestFault = func(ctx context.Context, r *fakeapi.Request) error

// What a client is told of a creation with a fault in its way, and whether the object is there afterwards.
func TestRequestFaults(t *testing.T) {
	timeout := apierrors.NewTimeoutError("the answer got lost", 0)
	tests := map[string]struct {
		fault  requestFault
		code   int // 0 for no answer at all
		body   string
		stored bool
	}{
		"none": {func(ctx context.Context, r *fakeapi.Request) error { return r.Do(ctx) },
			201, `"kind":"ConfigMap"`, true},
		"a Status instead": {func(context.Context, *fakeapi.Request) error {
			return apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "probe", errors.New("not now"))
		}, 409, `"reason":"Conflict"`, false},
		"an error instead": {func(context.Context, *fakeapi.Request) error {
			return errors.New("not now")
		},
			500, `"message":"Internal error occurred: not now"`, false},
		"an error afterwards": {func(ctx context.Context, r *fakeapi.Request) error {
			_ = r.Do(ctx)
			return timeout
		}, 504, `"message":"Timeout: the answer got lost"`, true},
		"success kept from the client": {func(ctx context.Context, r *fakeapi.Request) error {
			if err := r.Do(ctx); err != nil {
				return err
			}
			return http.ErrAbortHandler
		}, 0, "", true},
		"no connection": {func(context.Context, *fakeapi.Request) error { return http.ErrAbortHandler },
			0, "", false},
		"no answer": {func(context.Context, *fakeapi.Request) error { return nil },
			500, "neither called Do nor returned an error", false},
		"twice": {func(ctx context.Context, r *fakeapi.Request) error {
			_ = r.Do(ctx)
			return r.Do(ctx)
		}, 500, "the fault called Do twice", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := start(t, fakeapi.Options{Faults: fakeapi.Faults{
				Request: func(ctx context.Context, r *fakeapi.Request) error {
					if r.Verb != "create" {
						return r.Do(ctx)
					}
					return test.fault(ctx, r)
				},
			}})
			code, body := post(t, server, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"probe"}}`)
			if code != test.code || !strings.Contains(body, test.body) {
				t.Errorf("got %d %s\nwant %d with %s", code, body, test.code, test.body)
			}
			_, err := clientFor(t, server.RESTConfig()).CoreV1().ConfigMaps("default").Get(t.Context(), "probe", metav1.GetOptions{})
			if stored := err == nil; stored != test.stored {
				t.Errorf("stored is %v, want %v: %v", stored, test.stored, err)
			}
		})
	}
}

// post creates a config map and returns the answer, or 0 and the error where there is none.
func post(t *testing.T, server *fakeapi.Server, object string) (code int, body string) {
	t.Helper()
	result := clientFor(t, server.RESTConfig()).CoreV1().RESTClient().Post().Namespace("default").Resource("configmaps").
		SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").Body([]byte(object)).Do(t.Context())
	result.StatusCode(&code)
	raw, err := result.Raw()
	if code == 0 {
		return 0, err.Error()
	}
	return code, string(raw)
}

// A refusal of the server passes through as it is, and the fault learns of it.
func TestRequestFaultSeesRefusals(t *testing.T) {
	tests := map[string]struct{ path, told string }{
		"Status":     {"/api/v1/namespaces/default/configmaps/none", `configmaps "none" not found`},
		"plain text": {"/apis/none/v1/things/none", "the server could not find the requested resource"},
		"path":       {"/none", "the server could not find the requested resource"},
		"success":    {"/api/v1/namespaces/default", ""},
	}
	undisturbed := start(t, fakeapi.Options{})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var told error
			server := start(t, fakeapi.Options{Faults: fakeapi.Faults{
				Request: func(ctx context.Context, r *fakeapi.Request) error {
					told = r.Do(ctx)
					return told
				},
			}})
			got, want := do(t, server, "GET", test.path, ""), do(t, undisturbed, "GET", test.path, "")
			if got.code != want.code || got.header.Get("Content-Type") != want.header.Get("Content-Type") || got.code != 200 && got.body != want.body {
				t.Errorf("got %d %s\nwant %d %s", got.code, got.body, want.code, want.body)
			}
			if test.told == "" && told != nil || test.told != "" && (told == nil || !strings.Contains(told.Error(), test.told)) {
				t.Errorf("the fault was told %v, want %q", told, test.told)
			}
		})
	}
}

func TestRequestFaultKnowsTheRequest(t *testing.T) {
	var got *fakeapi.Request
	server := start(t, fakeapi.Options{Faults: fakeapi.Faults{
		Request: func(_ context.Context, r *fakeapi.Request) error {
			got = r
			return apierrors.NewTooManyRequests("slow down", 7)
		},
	}})
	answer := do(t, server, "PUT", "/apis/apps/v1/namespaces/default/deployments/web/status", "{}")
	want := &fakeapi.Request{
		User: "admin", Verb: "update",
		Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Subresource: "status",
		Namespace: "default", Name: "web", Path: "/apis/apps/v1/namespaces/default/deployments/web/status",
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(fakeapi.Request{})); diff != "" {
		t.Error(diff)
	}
	if answer.code != http.StatusTooManyRequests || answer.header.Get("Retry-After") != "7" {
		t.Errorf("got %d, Retry-After %q", answer.code, answer.header.Get("Retry-After"))
	}
	if event := auditEvent(t, server, answer.header.Get("Audit-ID")); event.ResponseStatus.Code != http.StatusTooManyRequests {
		t.Errorf("audit event: %+v", event.ResponseStatus)
	}
	do(t, server, "GET", "/version", "")
	if diff := cmp.Diff(&fakeapi.Request{User: "admin", Verb: "get", Path: "/version"}, got, cmpopts.IgnoreUnexported(fakeapi.Request{})); diff != "" {
		t.Error(diff)
	}
}

// A fault may end watches, in good order or not.
func TestWatchFaults(t *testing.T) {
	end := make(chan error)
	server := start(t, fakeapi.Options{Faults: fakeapi.Faults{
		Request: func(ctx context.Context, r *fakeapi.Request) error {
			if r.Verb != "watch" {
				return r.Do(ctx)
			}
			ctx, cancel := context.WithCancel(ctx)
			ended := make(chan error)
			go func() {
				err := <-end
				cancel()
				ended <- err
			}()
			if err := r.Do(ctx); err != nil {
				return err
			}
			return <-ended
		},
	}})
	configMaps := clientFor(t, server.RESTConfig()).CoreV1().ConfigMaps("default")
	for i, by := range []error{nil, errors.New("lost")} {
		watching, err := configMaps.Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		probe := configMap("probe-" + string(rune('a'+i)))
		if _, err := configMaps.Create(t.Context(), probe, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if event := <-watching.ResultChan(); event.Object.(*corev1.ConfigMap).Name == "" {
			t.Errorf("event %+v", event)
		}
		end <- by
		for event := range watching.ResultChan() { // those of before may come again
			t.Logf("after the end by %v: %s", by, event.Type)
		}
	}
}

type webhookFault = func(ctx context.Context, call *fakeapi.WebhookCall) (*admissionv1.AdmissionResponse, error)

// What comes of a creation that a webhook labels, with a fault in the way of the webhook.
func TestWebhookFaults(t *testing.T) {
	const failed = `failed calling webhook "label.example.com": `
	label := &admissionv1.AdmissionResponse{
		Allowed:   true,
		Patch:     []byte(`[{"op":"add","path":"/data","value":{"label":"by the fault"}}]`),
		PatchType: new(admissionv1.PatchTypeJSONPatch),
	}
	tests := map[string]struct {
		fault webhookFault
		calls int32
		label string
		err   string
	}{
		"none": {func(ctx context.Context, call *fakeapi.WebhookCall) (*admissionv1.AdmissionResponse, error) {
			return call.Do(ctx)
		}, 1, "by the webhook", ""},
		"twice": {func(ctx context.Context, call *fakeapi.WebhookCall) (*admissionv1.AdmissionResponse, error) {
			if response, err := call.Do(ctx); err != nil {
				return response, err
			}
			return call.Do(ctx)
		}, 2, "by the webhook", ""},
		"a failure": {func(context.Context, *fakeapi.WebhookCall) (*admissionv1.AdmissionResponse, error) {
			return nil, errors.New("no route to host")
		}, 0, "", failed + "failed to call webhook: no route to host"},
		"a denial": {func(ctx context.Context, call *fakeapi.WebhookCall) (*admissionv1.AdmissionResponse, error) {
			response, err := call.Do(ctx)
			if err == nil {
				response.Allowed, response.Result = false, &metav1.Status{Message: "not " + call.Request.Name}
			}
			return response, err
		}, 1, "", `admission webhook "label.example.com" denied the request: not probe`},
		"another answer": {func(context.Context, *fakeapi.WebhookCall) (*admissionv1.AdmissionResponse, error) {
			return label, nil
		}, 0, "by the fault", ""},
		"no answer": {func(context.Context, *fakeapi.WebhookCall) (*admissionv1.AdmissionResponse, error) {
			return nil, nil
		}, 0, "", failed + "received invalid webhook response: webhook response was absent"},
		"late": {func(ctx context.Context, call *fakeapi.WebhookCall) (*admissionv1.AdmissionResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, 0, "", failed + "failed to call webhook: context deadline exceeded"},
	}
	for _, version := range []string{"v1", "v1beta1"} {
		for name, test := range tests {
			t.Run(version+" "+name, func(t *testing.T) {
				var calls atomic.Int32
				// The configuration concerns its own objects, too: the fault must not.
				server := start(t, fakeapi.Options{
					Objects: []runtime.Object{labeller(t, version, &calls), configMap("loaded")},
					Faults:  fakeapi.Faults{Webhook: test.fault},
				})
				calls.Store(0)
				configMaps := clientFor(t, server.RESTConfig()).CoreV1().ConfigMaps("default")
				if loaded, err := configMaps.Get(t.Context(), "loaded", metav1.GetOptions{}); err != nil || loaded.Data["label"] != "by the webhook" {
					t.Errorf("loaded: %+v, %v", loaded, err)
				}
				created, err := configMaps.Create(t.Context(), configMap("probe"), metav1.CreateOptions{})
				if test.err == "" && (err != nil || created.Data["label"] != test.label) {
					t.Errorf("got %v, %v; want %q", created, err, test.label)
				}
				if test.err != "" && (err == nil || !strings.HasSuffix(err.Error(), test.err)) {
					t.Errorf("got error %v\nwant      %s", err, test.err)
				}
				if got := calls.Load(); got != test.calls {
					t.Errorf("%d calls, want %d", got, test.calls)
				}
			})
		}
	}
}

// labeller configures a webhook that labels config maps, and counts its calls.
func labeller(t *testing.T, reviewVersion string, calls *atomic.Int32) *admissionregistrationv1.MutatingWebhookConfiguration {
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "label"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:                    "label.example.com",
			Rules:                   onConfigMaps,
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{reviewVersion},
			TimeoutSeconds:          new(int32(1)),
			ClientConfig: webhook(t, func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
				calls.Add(1)
				return &admissionv1.AdmissionResponse{
					Allowed:   true,
					Patch:     []byte(`[{"op":"add","path":"/data","value":{"label":"by the webhook"}}]`),
					PatchType: new(admissionv1.PatchTypeJSONPatch),
				}
			}),
		}},
	}
}

func TestWebhookFaultKnowsTheCall(t *testing.T) {
	var got *fakeapi.WebhookCall
	var calls atomic.Int32
	configuration := labeller(t, "v1", &calls)
	server := start(t, fakeapi.Options{
		Objects: []runtime.Object{configuration},
		Faults: fakeapi.Faults{Webhook: func(ctx context.Context, call *fakeapi.WebhookCall) (*admissionv1.AdmissionResponse, error) {
			got = call
			return call.Do(ctx)
		}},
	})
	if _, err := clientFor(t, server.RESTConfig()).CoreV1().ConfigMaps("default").Create(t.Context(), configMap("probe"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got.Configuration != "label" || got.Webhook != "label.example.com" || !got.Mutating || !strings.HasPrefix(got.URL, *configuration.Webhooks[0].ClientConfig.URL) ||
		got.Request == nil || got.Request.UID == "" || got.Request.Operation != admissionv1.Create || !strings.Contains(string(got.Request.Object.Raw), `"name":"probe"`) {
		t.Errorf("got %+v, request %+v", got, got.Request)
	}
}
