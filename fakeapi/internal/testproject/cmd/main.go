// Command main is the manager of Relays.
package main

import (
	"flag"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	netv1 "github.com/gatehouse-dev/gatehouse/fakeapi/internal/testproject/api/v1"
	netv2 "github.com/gatehouse-dev/gatehouse/fakeapi/internal/testproject/api/v2"
	"github.com/gatehouse-dev/gatehouse/fakeapi/internal/testproject/internal/controller"
	webhookv1 "github.com/gatehouse-dev/gatehouse/fakeapi/internal/testproject/internal/webhook/v1"
)

func main() {
	var metricsAddr, probeAddr, webhookCertPath string
	var webhookPort int
	var enableLeaderElection bool
	flag.StringVar(&metricsAddr, "metrics-bind-address", "0", "where metrics are served; 0 serves none")
	flag.StringVar(&probeAddr, "health-probe-bind-address", ":8081", "where health is served; 0 serves none")
	flag.BoolVar(&enableLeaderElection, "leader-elect", false, "whether one manager at a time is active")
	flag.StringVar(&webhookCertPath, "webhook-cert-path", "", "the directory of the webhooks' certificate")
	flag.IntVar(&webhookPort, "webhook-port", webhook.DefaultPort, "where webhooks are served")
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	setupLog := ctrl.Log.WithName("setup")

	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(netv1.AddToScheme(scheme))
	utilruntime.Must(netv2.AddToScheme(scheme))

	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metricsserver.Options{BindAddress: metricsAddr},
		WebhookServer:          webhook.NewServer(webhook.Options{CertDir: webhookCertPath, Port: webhookPort}),
		HealthProbeBindAddress: probeAddr,
		LeaderElection:         enableLeaderElection,
		LeaderElectionID:       "relay.net.example.com",
	})
	if err != nil {
		setupLog.Error(err, "Failed to start manager")
		os.Exit(1)
	}
	if err := (&controller.RelayReconciler{Client: mgr.GetClient(), Scheme: mgr.GetScheme()}).SetupWithManager(mgr); err != nil {
		setupLog.Error(err, "Failed to create controller", "controller", "relay")
		os.Exit(1)
	}
	if err := webhookv1.SetupRelayWebhookWithManager(mgr); err != nil {
		setupLog.Error(err, "Failed to create webhook", "webhook", "Relay")
		os.Exit(1)
	}
	if err := mgr.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		setupLog.Error(err, "Failed to set up health check")
		os.Exit(1)
	}
	if err := mgr.AddReadyzCheck("readyz", mgr.GetWebhookServer().StartedChecker()); err != nil {
		setupLog.Error(err, "Failed to set up ready check")
		os.Exit(1)
	}
	setupLog.Info("Starting manager")
	if err := mgr.Start(ctrl.SetupSignalHandler()); err != nil {
		setupLog.Error(err, "Failed to run manager")
		os.Exit(1)
	}
}
