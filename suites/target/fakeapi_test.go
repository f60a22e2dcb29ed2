package target

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// TestFakeAPI shows all that the target can do.
func TestFakeAPI(t *testing.T) {
	server, err := Open(t.Context(), Options{Name: FakeAPI})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	client := kubernetes.NewForConfigOrDie(server.RESTConfig())
	if info := server.Info(); info.Name != FakeAPI || !strings.HasPrefix(info.Version, "v1.") {
		t.Errorf("info %+v", info)
	}
	for _, need := range []fixtures.Need{fixtures.NeedHooks, fixtures.NeedAudit, fixtures.NeedRawStore, fixtures.NeedRestart} {
		if !server.Can().Has(need) {
			t.Errorf("the target lacks %s", need)
		}
	}
	if server.Can().Has(fixtures.NeedV1beta1Configurations) {
		t.Error("the target serves versions that nobody needs")
	}
	testHooks(t, server, client)

	id := createWithAudit(t, server.RESTConfig(), "audited")
	if events, err := server.AuditEvents(t.Context(), id); err != nil || len(events) == 0 || events[len(events)-1].Stage != "ResponseComplete" {
		t.Errorf("events %v, error %v", events, err)
	}
	if text := server.Explain(id); !strings.Contains(text, "CREATE configmaps default/audited") {
		t.Errorf("the explanation is %q", text)
	}
	if text := server.Explain("unknown"); text != "" {
		t.Errorf("the explanation of an unknown request is %q", text)
	}
	if err := server.StoreRaw(t.Context(), []byte(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"raw"},
		"webhooks":[{"name":"a.example.com","sideEffects":"Some","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1/"}}]}`)); err != nil {
		t.Error(err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	stored, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "raw", metav1.GetOptions{})
	if err != nil || *stored.Webhooks[0].SideEffects != "Some" {
		t.Errorf("stored past the API: %v, error %v", stored, err)
	}
}

func TestFakeAPIWithRetiredVersions(t *testing.T) {
	server, err := Open(t.Context(), Options{Name: FakeAPI, Needs: sets.New(fixtures.NeedLegacyWorkloads)})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	if !server.Can().HasAll(fixtures.NeedLegacyWorkloads, fixtures.NeedV1beta1Configurations, fixtures.NeedHooks) {
		t.Errorf("the target can %v", server.Can().UnsortedList())
	}
	client := kubernetes.NewForConfigOrDie(server.RESTConfig())
	for need, has := range map[fixtures.Need]func(context.Context, kubernetes.Interface) (bool, error){
		fixtures.NeedLegacyWorkloads: hasLegacyWorkloads, fixtures.NeedV1beta1Configurations: hasV1beta1Configurations,
	} {
		if served, err := has(t.Context(), client); err != nil || !served {
			t.Errorf("%s by discovery: %t, error %v", need, served, err)
		}
	}
}
