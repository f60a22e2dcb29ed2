package target

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/suites/hook"
)

// openForTest opens the real server, or skips the test where there are no binaries for it.
func openForTest(t *testing.T, needs ...fixtures.Need) Target {
	t.Helper()
	if _, err := findAssets(""); err != nil {
		t.Skip(err)
	}
	server, err := Open(t.Context(), Options{Name: Envtest, Needs: sets.New(needs...)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// TestEnvtest shows on a real server all that the target can do.
func TestEnvtest(t *testing.T) {
	server := openForTest(t, fixtures.NeedControllers)
	client := kubernetes.NewForConfigOrDie(server.RESTConfig())

	t.Run("info", func(t *testing.T) {
		info := server.Info()
		if info.Name != Envtest || !strings.HasPrefix(info.Version, "v1.") || len(info.Flags) == 0 || server.Logs() == "" {
			t.Errorf("info %+v, log %q", info, server.Logs())
		}
		for _, need := range []fixtures.Need{fixtures.NeedHooks, fixtures.NeedAudit, fixtures.NeedRawStore, fixtures.NeedRestart, fixtures.NeedInTreePlugins} {
			if !server.Can().Has(need) {
				t.Errorf("the target lacks %s", need)
			}
		}
	})

	t.Run("audit", func(t *testing.T) {
		id := createWithAudit(t, server.RESTConfig(), "audited")
		events, err := server.AuditEvents(t.Context(), id)
		if err != nil || len(events) != 1 {
			t.Fatalf("events %v, error %v", events, err)
		}
		event := events[0]
		if event.Stage != "ResponseComplete" || event.ResponseStatus.Code != http.StatusCreated || event.User.Username != "gatehouse-admin" ||
			event.RequestObject == nil || event.ResponseObject == nil {
			t.Errorf("event %+v", event)
		}
	})

	t.Run("raw store", func(t *testing.T) {
		for _, test := range []struct{ name, object string }{
			{"what the API refuses today", `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"raw-v1"},
				"webhooks":[{"name":"a.example.com","sideEffects":"Some","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1/"},
				"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}],
				"objectSelector":{"matchLabels":{"case":"raw-v1"}}}]}`},
			{"a version that is served no more", `{"apiVersion":"admissionregistration.k8s.io/v1beta1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"raw-v1beta1"},
				"webhooks":[{"name":"a.example.com","failurePolicy":"Fail","sideEffects":"Some","clientConfig":{"url":"https://127.0.0.1:1/"},
				"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}],
				"objectSelector":{"matchLabels":{"case":"raw-v1beta1"}}}]}`},
		} {
			t.Run(test.name, func(t *testing.T) {
				var object metav1.PartialObjectMetadata
				if err := json.Unmarshal([]byte(test.object), &object); err != nil {
					t.Fatal(err)
				}
				if err := server.StoreRaw(t.Context(), []byte(test.object)); err != nil {
					t.Fatal(err)
				}
				stored, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), object.Name, metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if *stored.Webhooks[0].SideEffects != "Some" || stored.UID == "" || stored.CreationTimestamp.IsZero() {
					t.Errorf("stored %+v", stored)
				}
				if err := server.Settle(t.Context(), validatingWebhooks.GroupResource()); err != nil {
					t.Fatal(err)
				}
				_, err = client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Name: "raw", Labels: map[string]string{"case": object.Name}},
				}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				if err == nil || !strings.Contains(err.Error(), "dry run") {
					t.Errorf("a dry run answers %v, want a refusal for sideEffects", err)
				}
			})
		}
		if err := server.StoreRaw(t.Context(), []byte(`{"apiVersion":"example.com/v1","kind":"Nothing","metadata":{"name":"x"}}`)); err == nil {
			t.Error("an object of an unknown kind is stored")
		}
	})

	t.Run("hooks", func(t *testing.T) { testHooks(t, server, client) })

	t.Run("access", func(t *testing.T) {
		object := metav1.ObjectMeta{Name: "access"}
		user := rest.CopyConfig(server.RESTConfig())
		user.Impersonate.UserName = "somebody"
		somebody := kubernetes.NewForConfigOrDie(user)
		_, err := client.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
			ObjectMeta: object, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.RbacV1().RoleBindings("default").Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: object, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "access"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "somebody"}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Settle(t.Context(), clusterRoles.GroupResource(), roleBindings.GroupResource()); err != nil {
			t.Fatal(err)
		}
		if _, err := somebody.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Error(err)
		}
	})

	t.Run("in-tree plugins", func(t *testing.T) {
		for round := range int32(3) {
			name := fmt.Sprintf("priority-%d", round)
			_, err := client.SchedulingV1().PriorityClasses().Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: round + 7}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := server.Settle(t.Context(), priorityClasses.GroupResource()); err != nil {
				t.Fatal(err)
			}
			pod, err := client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec:       corev1.PodSpec{PriorityClassName: name, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			}, metav1.CreateOptions{})
			if err != nil || *pod.Spec.Priority != round+7 {
				t.Errorf("pod %+v, error %v", pod, err)
			}
		}
	})

	t.Run("controllers", func(t *testing.T) {
		if !server.Can().Has(fixtures.NeedControllers) {
			t.Skip("the assets have no kube-controller-manager")
		}
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ends"}}
		if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := client.CoreV1().Namespaces().Delete(t.Context(), "ends", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			_, err := client.CoreV1().Namespaces().Get(ctx, "ends", metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		})
		if err != nil {
			t.Errorf("the namespace does not end: %v", err)
		}
	})

	t.Run("restart", func(t *testing.T) {
		before, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "audited", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		after, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "audited", metav1.GetOptions{})
		if err != nil || after.UID != before.UID {
			t.Errorf("after the restart: %v, error %v", after, err)
		}
		if err := server.Settle(t.Context(), validatingWebhooks.GroupResource(), namespaces.GroupResource()); err != nil {
			t.Error(err)
		}
		if _, err := server.AuditEvents(t.Context(), createWithAudit(t, server.RESTConfig(), "audited-later")); err != nil {
			t.Error(err)
		}
	})

	t.Run("kubeconfig", func(t *testing.T) { testKubeconfig(t, server.(*envtestTarget)) })

	t.Run("stop", func(t *testing.T) {
		for range 2 {
			if err := server.Stop(); err != nil {
				t.Error(err)
			}
		}
		if err := server.Settle(t.Context(), namespaces.GroupResource()); err == nil {
			t.Error("a stopped target settles")
		}
		if err := server.Restart(t.Context()); err == nil {
			t.Error("a stopped target starts again")
		}
	})
}

// createWithAudit creates a ConfigMap and returns the request's Audit-ID.
func createWithAudit(t *testing.T, config *rest.Config, name string) string {
	t.Helper()
	id := ""
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := inner.RoundTrip(r)
			if err == nil {
				id = response.Header.Get("Audit-ID")
			}
			return response, err
		})
	})
	client := kubernetes.NewForConfigOrDie(config)
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return id
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// testHooks shows that a real server reaches the servers of a pool, and sees their faults as such.
func testHooks(t *testing.T, server Target, client kubernetes.Interface) {
	pool, err := hook.NewPool(server.HookAddress())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	text := "not a review"
	for _, test := range []struct {
		name    string
		webhook fixtures.Webhook
		service bool   // reached through a Service
		want    string // in the message; "" when admitted
		calls   int
	}{
		{name: "sound", calls: 1},
		{name: "service", service: true, calls: 1},
		{name: "denied", webhook: fixtures.Webhook{Answer: []fixtures.Answer{{Status: fixtures.Object{"message": "never"}}}}, want: "denied the request: never", calls: 1},
		{name: "unknown-ca", webhook: fixtures.Webhook{TLS: fixtures.TLSUnknownCA}, want: "certificate signed by unknown authority"},
		{name: "wrong-name", webhook: fixtures.Webhook{TLS: fixtures.TLSWrongName}, want: "x509: cannot validate certificate"},
		{name: "expired", webhook: fixtures.Webhook{TLS: fixtures.TLSExpired}, want: "certificate has expired"},
		{name: "refused", webhook: fixtures.Webhook{Refuse: true}, want: "connection refused"},
		{name: "closed", webhook: fixtures.Webhook{Answer: []fixtures.Answer{{HTTP: &fixtures.HTTPAnswer{Close: true}}}}, want: "EOF", calls: 1},
		{name: "truncated", webhook: fixtures.Webhook{Answer: []fixtures.Answer{{HTTP: &fixtures.HTTPAnswer{Truncate: 5}}}}, want: "unexpected EOF", calls: 1},
		{name: "body", webhook: fixtures.Webhook{Answer: []fixtures.Answer{{HTTP: &fixtures.HTTPAnswer{Body: &text}}}}, want: "couldn't get version/kind", calls: 1},
		{name: "slow", webhook: fixtures.Webhook{Answer: []fixtures.Answer{{Delay: "1h"}}}, want: "context deadline exceeded", calls: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			webhooks := map[string]fixtures.Webhook{"hook": test.webhook}
			servers, err := pool.Open(test.name, webhooks)
			if err != nil {
				t.Fatal(err)
			}
			defer servers.Close()
			if err := servers.Script(webhooks); err != nil {
				t.Fatal(err)
			}
			config := servers.ClientConfigs()["hook"]
			clientConfig := admissionregistrationv1.WebhookClientConfig{URL: &config.URL, CABundle: config.CABundle}
			if test.service {
				port := int32(config.Port)
				_, err := client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
					ObjectMeta: metav1.ObjectMeta{Name: "hook"},
					Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: config.Host},
				}, metav1.CreateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				clientConfig = admissionregistrationv1.WebhookClientConfig{
					Service:  &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "hook", Path: &config.Path, Port: &port},
					CABundle: config.CABundle,
				}
			}
			timeout, none := int32(1), admissionregistrationv1.SideEffectClassNone
			_, err = client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
				ObjectMeta: metav1.ObjectMeta{Name: test.name},
				Webhooks: []admissionregistrationv1.ValidatingWebhook{{
					Name: "hook.example.com", ClientConfig: clientConfig, SideEffects: &none, TimeoutSeconds: &timeout,
					AdmissionReviewVersions: []string{"v1"},
					Rules: []admissionregistrationv1.RuleWithOperations{{
						Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
						Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
					}},
					ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"case": test.name}},
				}},
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := server.Settle(t.Context(), validatingWebhooks.GroupResource()); err != nil {
				t.Fatal(err)
			}
			_, err = client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: test.name, Labels: map[string]string{"case": test.name}},
			}, metav1.CreateOptions{})
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("the server answers %v, want %q", err, test.want)
			}
			calls, err := servers.Drain(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(calls) != test.calls {
				t.Errorf("%d calls recorded, want %d", len(calls), test.calls)
			}
		})
	}
}
