package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// words completes one of a closed list.
func words(list ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
}

// complete sets how the value of a flag is completed, which the command must have.
func complete(command *cobra.Command, flag string, with cobra.CompletionFunc) {
	if err := command.RegisterFlagCompletionFunc(flag, with); err != nil {
		panic(err) // a mistake in this program: the command has no such flag, or it is completed twice
	}
}

// completeFiles completes the flags of files by the extensions that they take, and those of directories.
func completeFiles(command *cobra.Command, files map[string][]string, dirs ...string) {
	for flag, extensions := range files {
		complete(command, flag, cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt))
	}
	for _, flag := range dirs {
		complete(command, flag, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	}
}

// completeTarget completes the flags of addTargetFlags.
func completeTarget(command *cobra.Command) {
	complete(command, "target", words(targetNames()...))
	complete(command, "hook-address", cobra.NoFileCompletions)
	complete(command, "context", cobra.NoFileCompletions)
	completeFiles(command, nil, "assets")
}

// completeLabels completes the last label of a filter.
func completeLabels(_ *cobra.Command, _ []string, filter string) ([]string, cobra.ShellCompDirective) {
	ledger, err := fixtures.BuiltinLedger()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	word := strings.LastIndexAny(filter, filterOperators) + 1
	return withPrefix(filter[:word], filter[word:], labelsOf(ledger)), cobra.ShellCompDirectiveNoFileComp
}

// completeFocus completes the area at the beginning of an id.
func completeFocus(_ *cobra.Command, _ []string, focus string) ([]string, cobra.ShellCompDirective) {
	ledger, err := fixtures.BuiltinLedger()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	anchor := ""
	if strings.HasPrefix(focus, "^") {
		anchor = "^"
	}
	var areas []string
	for _, a := range ledger.Areas {
		areas = append(areas, a.ID+"/")
	}
	return withPrefix(anchor, strings.TrimPrefix(focus, anchor), areas), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeArea completes the id of an area.
func completeArea(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	ledger, err := fixtures.BuiltinLedger()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var found []string
	for _, a := range ledger.Areas {
		if strings.HasPrefix(a.ID, word) {
			found = append(found, cobra.CompletionWithDesc(a.ID, a.Title))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeBehavior completes the id of a behavior, as the first argument.
func completeBehavior(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	ledger, err := fixtures.BuiltinLedger()
	switch {
	case err != nil:
		return nil, cobra.ShellCompDirectiveError
	case len(args) > 0:
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []string
	for _, b := range ledger.Behaviors {
		if strings.HasPrefix(b.ID, word) {
			found = append(found, cobra.CompletionWithDesc(b.ID, b.Statement))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// withPrefix returns the known words that begin with word, after what stands before it.
func withPrefix(before, word string, known []string) []string {
	var found []string
	for _, k := range known {
		if strings.HasPrefix(k, word) {
			found = append(found, before+k)
		}
	}
	return found
}
