package fakeapi_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

// queries notes what a client asks a path for.
type queries struct {
	path string
	next http.RoundTripper

	mu   sync.Mutex
	seen []string
}

func (q *queries) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Path == q.path {
		q.mu.Lock()
		q.seen = append(q.seen, request.URL.RawQuery)
		q.mu.Unlock()
	}
	return q.next.RoundTrip(request)
}

// first is the first query.
func (q *queries) first() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.seen) == 0 {
		return ""
	}
	return q.seen[0]
}

// An informer fills its cache by a list and a watch, or by a watch alone, and keeps it up to date.
func TestInformerFillsItsCache(t *testing.T) {
	for _, test := range []struct {
		name      string
		watchList bool
		first     string // of its queries has this
	}{
		{"by a list", false, "limit="},
		{"by a watch", true, "sendInitialEvents=true"},
	} {
		t.Run(test.name, func(t *testing.T) {
			clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, test.watchList)
			server := start(t, fakeapi.Options{})
			config := server.RESTConfig()
			asked := &queries{path: "/api/v1/namespaces/default/configmaps"}
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				asked.next = next
				return asked
			})
			configMaps := clientFor(t, server.RESTConfig()).CoreV1().ConfigMaps("default")
			for _, name := range []string{"a", "b", "c"} {
				if _, err := configMaps.Create(t.Context(), configMap(name), metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}

			factory := informers.NewSharedInformerFactoryWithOptions(clientFor(t, config), 0, informers.WithNamespace("default"))
			informer := factory.Core().V1().ConfigMaps().Informer()
			events := make(chan string, 16)
			registration, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
				AddFunc: func(object any, initial bool) {
					if !initial {
						events <- "added " + object.(*corev1.ConfigMap).Name
					}
				},
				UpdateFunc: func(_, object any) { events <- "updated " + object.(*corev1.ConfigMap).Name },
				DeleteFunc: func(object any) { events <- "deleted " + object.(*corev1.ConfigMap).Name },
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			factory.StartWithContext(ctx)
			defer factory.Shutdown()
			defer cancel()
			if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
				t.Fatal("the cache was not filled")
			}
			if got := len(informer.GetStore().List()); got != 3 {
				t.Errorf("the cache holds %d objects when it is filled, want 3", got)
			}
			if got := asked.first(); !strings.Contains(got, test.first) {
				t.Errorf("the informer asked first for %q, want %q", got, test.first)
			}

			if _, err := configMaps.Create(t.Context(), configMap("d"), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			b := configMap("b")
			b.Data = map[string]string{"k": "v"}
			if _, err := configMaps.Update(t.Context(), b, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := configMaps.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"added d", "updated b", "deleted a"} {
				select {
				case got := <-events:
					if got != want {
						t.Errorf("the informer saw %q, want %q", got, want)
					}
				case <-time.After(patience):
					t.Fatalf("the informer did not see %q", want)
				}
			}
		})
	}
}

// One candidate leads at a time, and the next one follows it.
func TestLeaderElection(t *testing.T) {
	server := start(t, fakeapi.Options{})
	led := make(chan string)
	follow := func(ctx context.Context, name string) {
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock:            lock(t, server.RESTConfig(), name),
			LeaseDuration:   15 * time.Second,
			RenewDeadline:   10 * time.Second,
			RetryPeriod:     50 * time.Millisecond,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { led <- name },
				OnStoppedLeading: func() {},
			},
		})
	}
	var running sync.WaitGroup
	defer running.Wait()
	resign := map[string]context.CancelFunc{}
	for _, name := range []string{"a", "b", "c"} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		resign[name] = cancel
		running.Go(func() { follow(ctx, name) })
	}
	seen := map[string]bool{}
	for range resign {
		select {
		case leader := <-led:
			if seen[leader] {
				t.Errorf("%s leads again", leader)
			}
			seen[leader] = true
			select {
			case other := <-led:
				t.Errorf("%s leads while %s does", other, leader)
			default:
			}
			resign[leader]()
		case <-time.After(patience):
			t.Fatalf("nobody leads after %v", seen)
		}
	}
}

func lock(t *testing.T, config *rest.Config, name string) resourcelock.Interface {
	t.Helper()
	client := clientFor(t, config)
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: "default", Name: "leader"},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: name},
	}
}

// What a write of a policy answered is good for the next one, although the server writes the status in between.
func TestPolicyUpdatedAsItWasAnswered(t *testing.T) {
	policies := clientFor(t, start(t, fakeapi.Options{}).RESTConfig()).AdmissionregistrationV1().ValidatingAdmissionPolicies()
	policy, err := policies.Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
				},
			}}},
			Validations: []admissionregistrationv1.Validation{{Expression: "true"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(){
		"labels":     func() { policy.Labels = map[string]string{"a": "b"} },
		"expression": func() { policy.Spec.Validations[0].Expression = "object.data.a == 1" },
	} {
		change()
		if policy, err = policies.Update(t.Context(), policy, metav1.UpdateOptions{}); err != nil {
			t.Fatalf("update of the %s: %v", what, err)
		}
	}
	policy.Status.Conditions = []metav1.Condition{{Type: "Seen", Status: metav1.ConditionTrue, Reason: "Test", LastTransitionTime: metav1.Now()}}
	if _, err = policies.UpdateStatus(t.Context(), policy, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("update of the status: %v", err)
	}
	stored, err := policies.Get(t.Context(), "p", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s := stored.Status; len(s.Conditions) != 1 || s.ObservedGeneration != 2 || len(s.TypeChecking.ExpressionWarnings) != 1 {
		t.Errorf("status %+v, want the client's condition and the server's check of generation 2", s)
	}
	stored.ResourceVersion = "1"
	if _, err = policies.Update(t.Context(), stored, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("update of what others changed: %v, want a conflict", err)
	}
}
