package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gatehouse-dev/gatehouse/reports"
)

// reportFlags are the flags of gatehouse report.
type reportFlags struct {
	from  []string
	files reports.Files
}

func reportCommand() *cobra.Command {
	var flags reportFlags
	command := &cobra.Command{
		Use:   "report --from FILE [FILE...]",
		Short: "Write the reports of a run again, and merge its shards",
		Long: `Reads the report.json of a run, shows its summary, and writes its other reports again. The reports of several shards of
one run are merged into what one run would have given. Those of runs on several targets or versions are shown side by
side; they go into one HTML page and one Markdown summary.

The exit status is that of the run, of several the worst: 0, 1 when a target is not conformant, 3 when a run was in
error.`,
		Example: `  gatehouse report --from out/report.json --junit junit.xml
  gatehouse report --from shard-*/report.json --json report.json --junit junit.xml
  gatehouse report --from out/*/report.json --html conformance.html --markdown conformance.md`,
		RunE: func(cmd *cobra.Command, args []string) error {
			// A shell makes --from shard-*/report.json one value of the flag and arguments.
			flags.from = append(flags.from, args...)
			return report(flags, cmd.OutOrStdout())
		},
	}
	set := command.Flags()
	set.StringArrayVar(&flags.from, "from", nil, "read this report.json `FILE`; may be repeated, for the shards of one run")
	set.StringVar(&flags.files.JUnit, "junit", "", "write JUnit XML to this `FILE`")
	set.StringVar(&flags.files.JSON, "json", "", "write report.json to this `FILE`")
	set.StringVar(&flags.files.HTML, "html", "", "write an HTML page to this `FILE`")
	set.StringVar(&flags.files.Markdown, "markdown", "", "write a Markdown summary to this `FILE`")
	return command
}

// report reads and merges reports, writes them, and returns an error with the exit status of the run.
func report(flags reportFlags, stdout io.Writer) error {
	if len(flags.from) == 0 {
		return usageError("--from: name the report.json of a run, or those of its shards")
	}
	var parts []reports.Part
	for _, name := range flags.from {
		data, err := os.ReadFile(name)
		if err != nil {
			return exitError{exitUsage, err}
		}
		r, err := reports.ReadJSON(name, data)
		if err != nil {
			return exitError{exitUsage, err}
		}
		parts = append(parts, reports.Part{Name: name, Report: r})
	}
	runs, err := reports.MergeRuns(parts...)
	if err != nil {
		return exitError{exitUsage, err}
	}
	if len(runs) > 1 && (flags.files.JUnit != "" || flags.files.JSON != "") {
		return usageError("--junit and --json hold one run, and these are %d: write them run by run", len(runs))
	}
	if err := writeReport(flags.files, stdout, runs...); err != nil {
		return exitError{exitEnvironment, err}
	}
	return verdictError(runs...)
}

// writeReport writes the files of a report, or of several side by side, and shows their summaries.
func writeReport(files reports.Files, stdout io.Writer, all ...reports.Report) error {
	options := reports.TextOptions{}
	if f, ok := stdout.(*os.File); ok {
		options = reports.TerminalOptions(f, os.Getenv)
	}
	errs := []error{files.Write(all...)}
	for _, r := range all {
		errs = append(errs, reports.WriteText(stdout, r, options))
	}
	return errors.Join(errs...)
}

// outFiles are the files that a run leaves in a directory, and $GITHUB_STEP_SUMMARY; none where the directory is "".
func outFiles(dir string) reports.Files {
	files := reports.Files{StepSummary: os.Getenv("GITHUB_STEP_SUMMARY")}
	if dir != "" {
		files.JUnit, files.JSON = filepath.Join(dir, "junit.xml"), filepath.Join(dir, "report.json")
		files.HTML, files.Markdown = filepath.Join(dir, "report.html"), filepath.Join(dir, "report.md")
	}
	return files
}

// listFiles tells where the files of a report are.
func listFiles(stdout io.Writer, files reports.Files) {
	for _, path := range []string{files.JUnit, files.JSON, files.HTML, files.Markdown} {
		if path != "" {
			fmt.Fprintln(stdout, "report:", path)
		}
	}
}

// verdictError is the error by which a command ends with the worst exit status of its reports, whose summaries have
// said why; nil for 0. A target that is not conformant outweighs a run that was in error.
func verdictError(all ...reports.Report) error {
	worst := 0
	for _, r := range all {
		if worst != exitNotConformant && r.ExitStatus != 0 {
			worst = r.ExitStatus
		}
	}
	if worst == 0 {
		return nil
	}
	return exitError{worst, errors.New("")}
}
