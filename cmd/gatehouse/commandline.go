package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commandLine is the command line of a command that was called with args, but for some flags.
func commandLine(command *cobra.Command, args []string, but ...string) []string {
	return slices.Concat(strings.Fields(command.CommandPath()), flagArguments(command.Flags(), but...), args)
}

// flagArguments are the arguments that set the flags again that were set, but for some.
func flagArguments(set *pflag.FlagSet, but ...string) []string {
	var args []string
	set.Visit(func(f *pflag.Flag) {
		if slices.Contains(but, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if several, ok := f.Value.(pflag.SliceValue); ok {
			values = several.GetSlice()
		}
		for _, value := range values {
			args = append(args, "--"+f.Name+"="+value)
		}
	})
	return args
}
