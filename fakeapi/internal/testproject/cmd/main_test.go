package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
	netv1 "github.com/gatehouse-dev/gatehouse/fakeapi/internal/testproject/api/v1"
	netv2 "github.com/gatehouse-dev/gatehouse/fakeapi/internal/testproject/api/v2"
)

// managerVariable makes the test binary the manager.
const managerVariable = "RELAY_MANAGER"

func TestMain(m *testing.M) {
	if os.Getenv(managerVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// patience is how long anything may take.
const patience = 30 * time.Second

// The manager runs as a program, with the rights that config/rbac gives it, before a server that was given what
// `kubectl apply -k config/default` would apply.
func TestManager(t *testing.T) {
	certificates, caBundle := certificate(t, "relay-webhook-service.relay-system.svc")
	port := freePort(t)
	const token = "manager"
	server, err := fakeapi.Start(t.Context(), fakeapi.Options{
		Load:             []string{filepath.Join("..", "dist", "install.yaml")},
		ServiceAddresses: map[string]string{"relay-system/relay-webhook-service:443": fmt.Sprintf("127.0.0.1:%d", port)},
		Users: []fakeapi.User{{
			Token: token, Name: "system:serviceaccount:relay-system:relay-controller-manager",
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:relay-system"},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, netv1.AddToScheme, netv2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(server.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	injectCABundle(t, c, caBundle)
	runManager(t, writeKubeconfig(t, server, token), certificates, port)

	ctx := t.Context()
	relay2 := &netv2.Relay{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe"}, Spec: netv2.RelaySpec{Host: "db"}}
	eventually(t, "the webhooks", func() error { return c.Create(ctx, relay2) })
	if relay2.Spec.Port != 80 || *relay2.Spec.Replicas != 2 {
		t.Errorf("created: %+v; want the defaults of the webhook", relay2.Spec)
	}
	err = c.Create(ctx, &netv2.Relay{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "bad"}, Spec: netv2.RelaySpec{Host: "localhost"}})
	if !apierrors.IsInvalid(err) {
		t.Errorf("a relay to its own host: %v", err)
	}

	key := client.ObjectKeyFromObject(relay2)
	relay, config := &netv1.Relay{}, &corev1.ConfigMap{}
	eventually(t, "the controller", func() error {
		if err := c.Get(ctx, key, relay); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(relay.Status.Conditions, "Ready") {
			return fmt.Errorf("status %+v", relay.Status)
		}
		return c.Get(ctx, key, config)
	})
	if relay.Spec.Target != "db:80" || config.Data["target"] != "db:80" {
		t.Errorf("target %q, config map %v; want db:80", relay.Spec.Target, config.Data)
	}

	if err := c.Delete(ctx, relay); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the relay", func() error {
		if err := c.Get(ctx, key, relay); !apierrors.IsNotFound(err) {
			return fmt.Errorf("finalizers %v: %w", relay.Finalizers, err)
		}
		return nil
	})
	if err := c.Get(ctx, key, config); !apierrors.IsNotFound(err) {
		t.Errorf("the config map of the relay that is gone: %v", err)
	}
}

// injectCABundle does what cert-manager's injector does.
func injectCABundle(t *testing.T, c client.Client, caBundle []byte) {
	t.Helper()
	encoded := base64.StdEncoding.EncodeToString(caBundle)
	for _, target := range []struct {
		object client.Object
		path   string
	}{
		{&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "relays.net.example.com"}}, "/spec/conversion/webhook/clientConfig/caBundle"},
		{&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "relay-mutating-webhook-configuration"}}, "/webhooks/0/clientConfig/caBundle"},
		{&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "relay-validating-webhook-configuration"}}, "/webhooks/0/clientConfig/caBundle"},
	} {
		patch := client.RawPatch(types.JSONPatchType, fmt.Appendf(nil, `[{"op": "add", "path": %q, "value": %q}]`, target.path, encoded))
		if err := c.Patch(t.Context(), target.object, patch); err != nil {
			t.Fatal(err)
		}
	}
}

// runManager runs the manager until the end of the test.
func runManager(t *testing.T, kubeconfig, certificates string, port int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	manager := exec.CommandContext(ctx, os.Args[0],
		"--health-probe-bind-address=0", "--webhook-cert-path="+certificates, fmt.Sprintf("--webhook-port=%d", port))
	manager.Env = append(os.Environ(), managerVariable+"=1", "KUBECONFIG="+kubeconfig)
	var output bytes.Buffer
	manager.Stdout, manager.Stderr = &output, &output
	manager.Cancel = func() error { return manager.Process.Signal(os.Interrupt) }
	if err := manager.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		err := manager.Wait()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the manager: %v", err)
		}
		if t.Failed() {
			t.Logf("the manager's output:\n%s", &output)
		}
	})
}

func writeKubeconfig(t *testing.T, server *fakeapi.Server, token string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["fakeapi"] = &clientcmdapi.Cluster{
		Server: server.RESTConfig().Host, CertificateAuthorityData: server.RESTConfig().CAData,
	}
	config.AuthInfos["manager"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["manager"] = &clientcmdapi.Context{Cluster: "fakeapi", AuthInfo: "manager"}
	config.CurrentContext = "manager"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// certificate writes tls.crt and tls.key for a name.
func certificate(t *testing.T, name string) (directory string, caBundle []byte) {
	t.Helper()
	chain, key, err := cert.GenerateSelfSignedCertKey(name, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	directory = t.TempDir()
	for file, content := range map[string][]byte{"tls.crt": chain, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(directory, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return directory, chain
}

// freePort finds a port that is free, for a program that must be told one.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() // it is only about the number
	return listener.Addr().(*net.TCPAddr).Port
}

// eventually waits until there is no error any more.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("waiting for %s: %v", what, last)
	}
}
