package fakeapi_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
	"github.com/gatehouse-dev/gatehouse/fakeapi/manifest"
	"github.com/gatehouse-dev/gatehouse/hack/recorded/console"
)

// releases are whole applications, as they are deployed together. Made from what lies beside them in testdata/apply by
//
//	helm template web chart --namespace web --include-crds > chart.yaml
//	kubectl kustomize kustomize/overlay > kustomize.yaml
var releases = []struct {
	release
	// kustomization is what kubectl apply -k takes instead of the manifest.
	kustomization string
}{
	{release{"chart", "testdata/apply/chart.yaml", "testdata/apply/chart/crds"}, ""},
	{release{"kustomize", "testdata/apply/kustomize.yaml", ""}, "testdata/apply/kustomize/overlay"},
}

type release struct {
	name, manifest string
	// definitions are the custom kinds of the manifest. kubectl must have applied them before: it looks up all kinds of a
	// file before it applies any of its objects.
	definitions string
}

func (r release) kubectl(t *testing.T, server *fakeapi.Server, apply ...string) {
	t.Helper()
	if r.definitions != "" {
		kubectl(t, server, append(apply, "-f", r.definitions)...)
	}
	kubectl(t, server, append(apply, "-f", r.manifest)...)
}

// Each way to apply a release leaves what its manifest says, and changes nothing when it is applied again.
func TestApplyReleases(t *testing.T) {
	for _, release := range releases {
		objects, err := manifest.Read(release.manifest)
		if err != nil {
			t.Fatal(err)
		}
		ways := map[string]func(t *testing.T, server *fakeapi.Server){
			"client-go":                   func(t *testing.T, server *fakeapi.Server) { applyWithClientGo(t, server, objects) },
			"controller-runtime":          func(t *testing.T, server *fakeapi.Server) { applyWithControllerRuntime(t, server, objects) },
			"kubectl apply":               func(t *testing.T, server *fakeapi.Server) { release.kubectl(t, server, "apply") },
			"kubectl apply --server-side": func(t *testing.T, server *fakeapi.Server) { release.kubectl(t, server, "apply", "--server-side") },
		}
		if release.kustomization != "" {
			ways["kubectl apply -k"] = func(t *testing.T, server *fakeapi.Server) {
				kubectl(t, server, "apply", "-k", release.kustomization)
			}
		}
		for way, apply := range ways {
			t.Run(release.name+" by "+way, func(t *testing.T) {
				server := start(t, fakeapi.Options{Objects: []runtime.Object{namespaceNamed("web")}})
				apply(t, server)
				first := deployed(t, server, objects)
				apply(t, server)
				for name, object := range deployed(t, server, objects) {
					if before := first[name].GetResourceVersion(); before != object.GetResourceVersion() {
						t.Errorf("%s changed when it was applied again: %s", name, differences("", first[name].Object, object.Object))
					}
				}
			})
		}
		t.Run(release.name+" by Options.Load", func(t *testing.T) {
			server := start(t, fakeapi.Options{Objects: []runtime.Object{namespaceNamed("web")}, Load: []string{release.manifest}})
			deployed(t, server, objects)
		})
	}
}

func namespaceNamed(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func applyWithClientGo(t *testing.T, server *fakeapi.Server, objects []manifest.Object) {
	t.Helper()
	resources := resourcesOf(t, server)
	for _, object := range objects {
		_, err := resources(object.Unstructured).Apply(t.Context(), object.GetName(), object.Unstructured, metav1.ApplyOptions{FieldManager: "test", Force: true})
		if err != nil {
			t.Fatalf("%s: %v", object.Position(), err)
		}
	}
}

func applyWithControllerRuntime(t *testing.T, server *fakeapi.Server, objects []manifest.Object) {
	t.Helper()
	ctrl.SetLogger(logr.Discard()) // else it complains that nobody did
	c, err := client.New(server.RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		configuration := client.ApplyConfigurationFromUnstructured(object.Unstructured.DeepCopy())
		if err := c.Apply(t.Context(), configuration, client.FieldOwner("test"), client.ForceOwnership); err != nil {
			t.Fatalf("%s: %v", object.Position(), err)
		}
	}
}

// kubectl runs kubectl as the server's administrator; where there is none, the test is skipped.
func kubectl(t *testing.T, server *fakeapi.Server, arguments ...string) {
	t.Helper()
	path, err := console.FindKubectl(t.Context())
	if err != nil {
		t.Skipf("run `make envtest-assets`: %v", err)
	}
	run(t, server, path, arguments...)
}

// run runs a command line client, which finds the server by KUBECONFIG and keeps its files in a directory of the test.
func run(t *testing.T, server *fakeapi.Server, program string, arguments ...string) string {
	t.Helper()
	home := t.TempDir()
	kubeconfig := filepath.Join(home, "kubeconfig")
	if err := os.WriteFile(kubeconfig, server.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+home, "XDG_CACHE_HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(arguments, " "), err, output)
	}
	return string(output)
}

// resourcesOf returns what finds the client for an object.
func resourcesOf(t *testing.T, server *fakeapi.Server) func(*unstructured.Unstructured) dynamic.ResourceInterface {
	t.Helper()
	discoverer, err := discovery.NewDiscoveryClientForConfig(server.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	resources, err := dynamic.NewForConfig(server.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	cached := memory.NewMemCacheClient(discoverer)
	return func(object *unstructured.Unstructured) dynamic.ResourceInterface {
		t.Helper()
		cached.Invalidate() // the object before may be a definition
		mapper := restmapper.NewDeferredDiscoveryRESTMapper(cached)
		mapping, err := mapper.RESTMapping(object.GroupVersionKind().GroupKind(), object.GroupVersionKind().Version)
		if err != nil {
			t.Fatal(err)
		}
		if namespace := object.GetNamespace(); namespace != "" {
			return resources.Resource(mapping.Resource).Namespace(namespace)
		}
		return resources.Resource(mapping.Resource)
	}
}

// deployed returns what the server has of the objects, by kind and name. All must be there, and as they were asked for.
func deployed(t *testing.T, server *fakeapi.Server, objects []manifest.Object) map[string]*unstructured.Unstructured {
	t.Helper()
	resources := resourcesOf(t, server)
	found := map[string]*unstructured.Unstructured{}
	for _, want := range objects {
		got, err := resources(want.Unstructured).Get(t.Context(), want.GetName(), metav1.GetOptions{})
		if err != nil {
			t.Errorf("%s: %v", want.Position(), err)
			continue
		}
		if missing := differences("", want.Object, got.Object); len(missing) > 0 {
			t.Errorf("%s: %s %s differs: %s", want.Position(), want.GetKind(), want.GetName(), strings.Join(missing, "; "))
		}
		found[want.GetKind()+" "+want.GetNamespace()+"/"+want.GetName()] = got
	}
	return found
}

// differences are the places where a value lacks what is wanted, or has something else. More is no difference.
func differences(path string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		got, _ := got.(map[string]any)
		var all []string
		for _, key := range slices.Sorted(maps.Keys(want)) {
			all = append(all, differences(path+"."+key, want[key], got[key])...)
		}
		return all
	case []any:
		got, _ := got.([]any)
		if len(got) != len(want) {
			return []string{fmt.Sprintf("%s: got %d items, want %d", path, len(got), len(want))}
		}
		var all []string
		for i := range want {
			all = append(all, differences(fmt.Sprintf("%s[%d]", path, i), want[i], got[i])...)
		}
		return all
	}
	if equality.Semantic.DeepEqual(want, got) {
		return nil
	}
	return []string{fmt.Sprintf("%s: got %v, want %v", path, got, want)}
}

// Helm installs, upgrades, rolls back and uninstalls a chart, with the hook that it waits for.
func TestHelm(t *testing.T) {
	helm, err := exec.LookPath("helm")
	if err != nil {
		t.Skipf("there is no helm: %v", err)
	}
	server := start(t, fakeapi.Options{})
	defer completeJobs(t, server)()
	clients := clientFor(t, server.RESTConfig())
	maxReplicas := func(want int32) {
		t.Helper()
		scaler, err := clients.AutoscalingV2().HorizontalPodAutoscalers("web").Get(t.Context(), "web-shop", metav1.GetOptions{})
		if err != nil || scaler.Spec.MaxReplicas != want {
			t.Errorf("maxReplicas %d, %v; want %d", scaler.Spec.MaxReplicas, err, want)
		}
	}
	const chart = "testdata/apply/chart"

	run(t, server, helm, "install", "web", chart, "--namespace", "web", "--create-namespace")
	objects, err := manifest.Read("testdata/apply/chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	deployed(t, server, objects)
	maxReplicas(8)
	run(t, server, helm, "upgrade", "web", chart, "--namespace", "web", "--set", "autoscaling.maxReplicas=12")
	maxReplicas(12)
	run(t, server, helm, "rollback", "web", "1", "--namespace", "web")
	maxReplicas(8)
	if history := run(t, server, helm, "history", "web", "--namespace", "web"); !strings.Contains(history, "Rollback to 1") {
		t.Errorf("history:\n%s", history)
	}
	run(t, server, helm, "uninstall", "web", "--namespace", "web")
	deployments, err := clients.AppsV1().Deployments("web").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(deployments.Items) != 0 {
		t.Errorf("after helm uninstall there are %d deployments, %v", len(deployments.Items), err)
	}
}

// completeJobs does what no controller does here: each job is complete as soon as it is created.
func completeJobs(t *testing.T, server *fakeapi.Server) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	jobs := clientFor(t, server.RESTConfig()).BatchV1()
	watching, err := jobs.Jobs("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range watching.ResultChan() {
			job, ok := event.Object.(*batchv1.Job)
			if !ok || event.Type != "ADDED" {
				continue
			}
			now := metav1.Now()
			job.Status = batchv1.JobStatus{StartTime: &now, CompletionTime: &now, Succeeded: 1}
			for _, condition := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
				job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now})
			}
			if _, err := jobs.Jobs(job.Namespace).UpdateStatus(ctx, job, metav1.UpdateOptions{}); err != nil {
				t.Errorf("completing job %s: %v", job.Name, err)
			}
		}
	}()
	return func() { cancel(); watching.Stop(); <-done }
}
