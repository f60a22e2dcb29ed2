package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version of this program",
		Long: `Shows the version of this program, the commit that it was built from, the version of the Kubernetes libraries that it
speaks with, and the version of Go that built it.`,
		Example: `  gatehouse version`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				info = &debug.BuildInfo{}
			}
			return writeVersion(cmd.OutOrStdout(), info)
		},
	}
}

// kubernetesModule is the module whose version names that of the Kubernetes libraries.
const kubernetesModule = "k8s.io/apiserver"

// writeVersion writes what the build information tells.
func writeVersion(out io.Writer, info *debug.BuildInfo) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "gatehouse\t%s\n", orUnknown(info.Main.Version))
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if commit := settings["vcs.revision"]; commit != "" {
		if settings["vcs.modified"] == "true" {
			commit += ", and changes to it"
		}
		fmt.Fprintf(w, "commit\t%s\n", commit)
	}
	for _, module := range info.Deps {
		if module.Path == kubernetesModule {
			fmt.Fprintf(w, "kubernetes libraries\t%s\n", module.Version)
		}
	}
	fmt.Fprintf(w, "go\t%s %s/%s\n", orUnknown(info.GoVersion), runtime.GOOS, runtime.GOARCH)
	return w.Flush()
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// version is the version of this program as Go's build information tells it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}
