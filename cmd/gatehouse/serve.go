package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"

	"github.com/spf13/cobra"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/yaml"

	"github.com/gatehouse-dev/gatehouse/fakeapi"
)

// serveFlags are the flags of gatehouse serve.
type serveFlags struct {
	bindAddress   string
	port          int
	kubeconfigOut string
	load          []string
	services      map[string]string
	auditLog      string
	auditPolicy   string
	explain       bool

	v1beta1Configurations bool
	legacyWorkloads       bool
}

func serveCommand() *cobra.Command {
	var flags serveFlags
	command := &cobra.Command{
		Use:   "serve",
		Short: "Run an API server with objects in memory",
		Long: `Runs an API server with objects in memory until it is interrupted. It prints how to reach it when it is ready.

The kubeconfig holds a bearer token of an administrator. It is written, readable by you alone, when the server is ready:
to the file named by --kubeconfig-out or by the environment variable KUBECONFIG_OUT, else to a temporary file, which is
removed at the end.`,
		Example: `  gatehouse serve --kubeconfig-out kubeconfig --load testdata/ --explain
  KUBECONFIG=kubeconfig kubectl create configmap demo`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.kubeconfigOut == "" {
				flags.kubeconfigOut = os.Getenv("KUBECONFIG_OUT")
			}
			return serve(cmd.Context(), flags, cmd.OutOrStdout())
		},
	}
	set := command.Flags()
	set.StringVar(&flags.bindAddress, "bind-address", "127.0.0.1", "the `IP` address to listen on; whoever reaches it and has the kubeconfig can do everything")
	set.IntVar(&flags.port, "port", 0, "the port to listen on; 0 takes a free one")
	set.StringVar(&flags.kubeconfigOut, "kubeconfig-out", "", "the `FILE` to write the kubeconfig to (environment: KUBECONFIG_OUT)")
	set.StringArrayVar(&flags.load, "load", nil, "create the objects of a YAML or JSON `FILE|DIR` before the server is ready; may be repeated")
	set.StringToStringVar(&flags.services, "service", nil, "where a webhook's clientConfig.service is reached, as `NAMESPACE/NAME:PORT=HOST:PORT`; may be repeated")
	set.StringVar(&flags.auditLog, "audit-log", "", "append audit events to this `FILE` as lines of JSON; - is the standard output")
	set.StringVar(&flags.auditPolicy, "audit-policy", "", "the audit.k8s.io/v1 Policy in this YAML `FILE` says which requests to record, and how much of them")
	set.BoolVar(&flags.explain, "explain", false, "print in plain words what admission decided on each request, and why")
	set.BoolVar(&flags.v1beta1Configurations, "v1beta1-configurations", false, "serve webhook configurations in admissionregistration.k8s.io/v1beta1 too, as servers up to v1.21 did")
	set.BoolVar(&flags.legacyWorkloads, "legacy-workloads", false, "serve workloads in apps/v1beta1, apps/v1beta2 and extensions/v1beta1 too, as servers up to v1.15 did")
	return command
}

// gcPercent makes the garbage of a server that may run all day a smaller part of its memory than Go's 100 would.
const gcPercent = 50

// serve runs a server until ctx is done.
func serve(ctx context.Context, flags serveFlags, stdout io.Writer) (err error) {
	if flags.port < 0 || flags.port > 65535 {
		return usageError("--port is %d: want 0 to 65535", flags.port)
	}
	if net.ParseIP(flags.bindAddress) == nil {
		return usageError("--bind-address is %q: want an IP address", flags.bindAddress)
	}
	options := fakeapi.Options{
		Address:          net.JoinHostPort(flags.bindAddress, strconv.Itoa(flags.port)),
		Load:             flags.load,
		ServiceAddresses: flags.services,
		// Nobody asks this process for what has passed.
		History:               1,
		V1beta1Configurations: flags.v1beta1Configurations,
		LegacyWorkloads:       flags.legacyWorkloads,
	}
	if flags.auditLog == "" {
		options.AuditPolicy = &auditv1.Policy{Rules: []auditv1.PolicyRule{{Level: auditv1.LevelNone}}}
	}
	if flags.explain {
		options.Explain = stdout
	}
	if flags.auditPolicy != "" {
		if options.AuditPolicy, err = readAuditPolicy(flags.auditPolicy); err != nil {
			return exitError{exitUsage, fmt.Errorf("--audit-policy: %w", err)}
		}
	}
	switch flags.auditLog {
	case "":
	case "-":
		options.AuditLog = stdout
	default:
		file, err := os.OpenFile(flags.auditLog, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return exitError{exitUsage, fmt.Errorf("--audit-log: %w", err)}
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		options.AuditLog = file
	}

	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	}
	server, err := fakeapi.Start(ctx, options)
	if err != nil {
		return exitError{exitEnvironment, err}
	}
	defer server.Stop()
	path, remove, err := writeKubeconfig(flags.kubeconfigOut, server.Kubeconfig())
	if err != nil {
		return exitError{exitEnvironment, err}
	}
	defer remove()
	fmt.Fprintf(stdout, "gatehouse: serving Kubernetes %s at %s\nexport KUBECONFIG=%s\n", server.Version(), server.RESTConfig().Host, path)
	<-ctx.Done()
	return nil
}

// readAuditPolicy reads a policy file. It must say which version and kind it is, and have no field that these do not.
func readAuditPolicy(path string) (*auditv1.Policy, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var policy auditv1.Policy
	if err := yaml.UnmarshalStrict(data, &policy); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if want := auditv1.SchemeGroupVersion.WithKind("Policy"); policy.GroupVersionKind() != want {
		return nil, fmt.Errorf("%s: apiVersion %q and kind %q: want %s and %s", path, policy.APIVersion, policy.Kind, want.GroupVersion(), want.Kind)
	}
	if len(policy.Rules) == 0 {
		return nil, fmt.Errorf("%s: rules: want at least one", path)
	}
	return &policy, nil
}

// writeKubeconfig writes the file so that a reader finds all of it or none, and the owner alone can read it. Without a
// path it makes a temporary file, which remove removes.
func writeKubeconfig(path string, content []byte) (written string, remove func(), err error) {
	directory := os.TempDir()
	if path != "" {
		directory = filepath.Dir(path)
	}
	file, err := os.CreateTemp(directory, ".gatehouse-kubeconfig-*") // mode 0600
	if err != nil {
		return "", nil, fmt.Errorf("writing the kubeconfig: %w", err)
	}
	discard := func() { _ = os.Remove(file.Name()) }
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err != nil {
		discard()
		return "", nil, fmt.Errorf("writing the kubeconfig: %w", err)
	}
	if path == "" {
		return file.Name(), discard, nil
	}
	if err := os.Rename(file.Name(), path); err != nil {
		discard()
		return "", nil, fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return path, func() {}, nil
}
