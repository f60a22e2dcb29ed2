package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/target"
	"github.com/gatehouse-dev/gatehouse/suites/webhook"
)

// webhookFlags are the flags of gatehouse webhook.
type webhookFlags struct {
	config   string
	target   target.Options
	out      string
	all      bool
	rotation time.Duration
	command  []string // what puts the webhook on trial again
}

func webhookCommand() *cobra.Command {
	var flags webhookFlags
	command := &cobra.Command{
		Use:   "webhook",
		Short: "Show whether a webhook keeps the contract of admission webhooks",
		Long: `Puts a webhook on trial: reads its manifests, starts its server (or calls one that runs), makes every request on an
API server that its rules match, posts the reviews that come of them to it, as they are and changed in ways that a
webhook must bear, and says rule by rule whether it keeps the documented contract. No cluster is needed.

The file (gatehouse.yaml) says what is on trial:

  manifests: [config/webhook.yaml]           # files, directories, or - for the standard input
  run:                                       # or url: https://127.0.0.1:9443 and ca: ca.crt
    command: [bin/manager, "--webhook-port=${port}", "--webhook-cert-dir=${certDir}"]
  samples:
    admitted: [samples/good.yaml]
    refused: [{file: samples/bad.yaml, message: must not}]

gatehouse behaviors --area webhook-contract lists the rules.

Exit status: 0 the webhook keeps the contract (there may be warnings), 1 it does not, 2 the command line, the file or
a manifest is wrong, 3 the environment failed.`,
		Example: `  gatehouse webhook --config gatehouse.yaml
  kustomize build config/default | gatehouse webhook --config gatehouse.yaml --out out
  gatehouse webhook --config gatehouse.yaml --target envtest`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags.command = commandLine(cmd, nil, "out", "all")
			return runWebhook(cmd.Context(), flags, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	set := command.Flags()
	set.StringVar(&flags.config, "config", "gatehouse.yaml", "the `FILE` that says what is on trial")
	set.StringVar(&flags.target.Name, "target", "", "the API server to use: fakeapi, envtest or kubeconfig; that of the file, else fakeapi, when absent")
	set.StringVar(&flags.target.Kubeconfig, "kubeconfig", "", "the kubeconfig `FILE` of the cluster to use; kubectl's when absent")
	set.StringVar(&flags.target.Context, "context", "", "the kubeconfig's context `NAME`; its current one when absent")
	set.StringVar(&flags.target.HookAddress, "hook-address", "", "where the cluster reaches webhook servers on this machine, as `HOST[:PORT[-LAST]]`")
	set.StringVar(&flags.target.Assets, "assets", "", "the `DIR` of kube-apiserver and etcd for envtest; $KUBEBUILDER_ASSETS when absent")
	set.StringVar(&flags.out, "out", "", "write junit.xml, report.json, report.html and report.md to this `DIR`")
	set.BoolVar(&flags.all, "all", false, "show every rule, those that the webhook keeps too")
	set.DurationVar(&flags.rotation, "rotation-wait", 0, "how long the webhook may take to serve a new certificate; without it the trial does not wait for that")
	return command
}

// runWebhook judges the webhook and writes the reports. Its error carries the exit status.
func runWebhook(ctx context.Context, flags webhookFlags, stdin io.Reader, stdout, stderr io.Writer) error {
	if flags.target.Name != "" {
		if err := checkTarget(&conformanceFlags{target: flags.target}); err != nil {
			return err
		}
	}
	if err := checkWritable(flags.out); err != nil {
		return exitError{exitEnvironment, err}
	}
	files := outFiles(flags.out)
	report, err := webhook.Judge(ctx, webhook.Options{
		ConfigFile: flags.config, Target: flags.target, Stdin: stdin,
		Limits:   webhook.Limits{Rotation: flags.rotation},
		Begun:    func(begun reports.Report) error { begun.Command = flags.command; return prepare(files, begun) },
		Progress: func(text string) { fmt.Fprintln(stderr, text) },
	})
	report.Command = flags.command
	if err != nil {
		status := exitEnvironment
		if wrong := (*webhook.UsageError)(nil); errors.As(err, &wrong) {
			status = exitUsage
		}
		if report.Interrupted != "" { // it had begun
			err = errors.Join(err, files.Write(report))
		}
		return exitError{status, err}
	}
	fmt.Fprintln(stderr)
	options := textOptions(stdout)
	options.All = flags.all
	if err := errors.Join(files.Write(report), reports.WriteText(stdout, report, options)); err != nil {
		return exitError{exitEnvironment, err}
	}
	listFiles(stdout, files)
	return verdictError(report)
}
