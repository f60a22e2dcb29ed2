package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gatehouse-dev/gatehouse/fixtures/tree"
)

// didYouMean suggests the nearest of the known names for a wrong one, to be put behind an error; "" when none is near.
func didYouMean(wrong string, known []string) string {
	if text := tree.Suggest(wrong, known); strings.HasPrefix(text, "did you mean") {
		return "; " + text
	}
	return ""
}

// ofSubcommands makes a command that only its subcommands do anything for: alone it tells of them, and a name that is none
// of theirs is an error.
func ofSubcommands(command *cobra.Command) *cobra.Command {
	command.Args = func(command *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var known []string
		for _, sub := range command.Commands() {
			known = append(known, sub.Name())
		}
		return usageError("there is no command %q%s", command.CommandPath()+" "+args[0], didYouMean(args[0], known))
	}
	command.RunE = func(command *cobra.Command, _ []string) error { return command.Help() }
	return command
}

// flagError adds the nearest flag to the error about one that the command does not have.
func flagError(command *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	var known []string
	command.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, "--"+f.Name)
		}
	})
	return fmt.Errorf("%w%s", err, didYouMean("--"+unknown.GetSpecifiedName(), known))
}
