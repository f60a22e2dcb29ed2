package main

import (
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/gatehouse-dev/gatehouse/reports"
)

func reportDiffCommand() *cobra.Command {
	var markdown string
	command := &cobra.Command{
		Use:   "diff BEFORE AFTER",
		Short: "Compare two reports by their behaviors",
		Long: `Says which behaviors changed from one report to another, of two runs or of two servers: broken, worse (it fails as
before, and in cases that had passed), fixed, no longer run, run now, new, removed, and slower, when the cases that
passed both times take more than twice the time and at least 100 ms more. BEFORE and AFTER are report.json files, or
the directories of --out that hold them.

Exit status: 0 nothing broke, 1 a behavior is broken or worse, 2 the command line or a report is wrong, 3 a
file cannot be written.`,
		Example: `  gatehouse report diff main/report.json out/report.json
  gatehouse report diff out/v1.36 out/v1.37 --markdown changes.md`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError("name two reports, BEFORE and AFTER, and not %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return reportDiff(args[0], args[1], markdown, cmd.OutOrStdout())
		},
		ValidArgsFunction: cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveFilterFileExt),
	}
	command.Flags().StringVar(&markdown, "markdown", "", "write the comparison as Markdown to this `FILE`")
	completeFiles(command, map[string][]string{"markdown": {"md"}})
	return command
}

// reportDiff compares two reports, and returns an error with the exit status.
func reportDiff(before, after, markdown string, stdout io.Writer) error {
	parts, err := readReports([]string{before, after})
	if err != nil {
		return err
	}
	c := reports.Compare(parts[0], parts[1])
	err = writeTo(markdown, func(w io.Writer) error { return reports.WriteComparisonMarkdown(w, c) })
	if err := errors.Join(err, reports.WriteComparison(stdout, c, textOptions(stdout))); err != nil {
		return exitError{exitEnvironment, err}
	}
	if c.Broke() {
		return exitError{exitNotConformant, errors.New("")} // the comparison has said what
	}
	return nil
}

func reportMatrixCommand() *cobra.Command {
	var flags struct {
		from           []string
		html, markdown string
	}
	command := &cobra.Command{
		Use:   "matrix --from FILE --from FILE...",
		Short: "Put the reports of several servers or versions side by side",
		Long: `Shows what several reports say about each area and behavior, side by side: servers, versions of one, or a server before
and after a change. Each --from is a column: a report.json, or the directory of --out that holds it. Reports of shards
are merged by gatehouse report before.

Exit status: 0, whatever the reports say; 2 the command line or a report is wrong, 3 a file cannot be written.`,
		Example: `  gatehouse report matrix --from out/fakeapi --from out/envtest --html matrix.html --markdown matrix.md`,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			// A shell makes --from out/*/report.json one value of the flag and arguments.
			return reportMatrix(append(flags.from, args...), flags.html, flags.markdown, cmd.OutOrStdout())
		},
		ValidArgsFunction: cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveFilterFileExt),
	}
	set := command.Flags()
	set.StringArrayVar(&flags.from, "from", nil, "a column: read this report.json `FILE`; may be repeated")
	set.StringVar(&flags.html, "html", "", "write the matrix as a page that stands by itself to this `FILE`")
	set.StringVar(&flags.markdown, "markdown", "", "write the matrix as Markdown to this `FILE`")
	completeFiles(command, map[string][]string{"from": {"json"}, "html": {"html"}, "markdown": {"md"}})
	return command
}

// reportMatrix puts reports side by side.
func reportMatrix(from []string, html, markdown string, stdout io.Writer) error {
	if len(from) == 0 {
		return usageError("--from: name the report.json of each column")
	}
	parts, err := readReports(from)
	if err != nil {
		return err
	}
	m, err := reports.NewMatrix(parts...)
	if err != nil {
		return exitError{exitUsage, err}
	}
	if err := errors.Join(
		writeTo(html, func(w io.Writer) error { return reports.WriteMatrixHTML(w, m) }),
		writeTo(markdown, func(w io.Writer) error { return reports.WriteMatrixMarkdown(w, m) }),
		reports.WriteMatrix(stdout, m, textOptions(stdout)),
	); err != nil {
		return exitError{exitEnvironment, err}
	}
	return nil
}

// writeTo writes a file where a name is given.
func writeTo(name string, write func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	return reports.WriteFile(name, write)
}

// textOptions are the options that suit an output.
func textOptions(out io.Writer) reports.TextOptions {
	if f, ok := out.(*os.File); ok {
		return reports.TerminalOptions(f, os.Getenv)
	}
	return reports.TextOptions{}
}
