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
