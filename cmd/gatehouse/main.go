// Command gatehouse serves the Kubernetes admission API, proves that an API server admits as documented, puts webhooks on
// trial, and reports on it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
)

// The exit statuses.
const (
	exitNotConformant = 1
	exitUsage         = 2
	exitEnvironment   = 3
)

// exitError is an error that says which status the program exits with.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string { return e.err.Error() }
func (e exitError) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return exitError{exitUsage, fmt.Errorf(format, args...)}
}

func main() {
	// The first signal asks the command to come to an end, the second ends it.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	// The libraries of Kubernetes log what concerns those who run clusters.
	klog.SetLogger(logr.Discard())
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run executes the command line and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.InitDefaultCompletionCmd()
	for _, command := range root.Commands() {
		if command.Name() == "completion" {
			ofSubcommands(command)
		}
	}
	understood := false
	root.PersistentPreRun = func(*cobra.Command, []string) { understood = true }
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	// A verdict is an error without words of its own.
	if text := err.Error(); text != "" {
		fmt.Fprintf(stderr, "gatehouse: %s\n", text)
	}
	var exit exitError
	switch {
	case errors.As(err, &exit):
		return exit.code
	case !understood:
		fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", command.CommandPath())
		return exitUsage
	default:
		return exitEnvironment
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "gatehouse",
		Short: "Serve the Kubernetes admission API, prove it, and validate webhooks against it",
		Long: `Gatehouse is an API server for tests of Kubernetes admission, and a conformance suite that proves that an API server
admits as documented.

Exit status: 0 all is well, 1 not conformant, 2 the command line is wrong, 3 the environment failed.`,
		Example: `  gatehouse conformance --out out
  gatehouse serve --explain
  gatehouse behaviors webhook.rules.
  source <(gatehouse completion bash)`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(serveCommand(), conformanceCommand(), conformanceShardCommand(), replayCommand(), webhookCommand(),
		policyCommand(), behaviorsCommand(), reportCommand(), versionCommand())
	return root
}
