package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gatehouse-dev/gatehouse/reports"
)

// reportFlags are the flags of gatehouse report.
type reportFlags struct {
	from   []string
	files  reports.Files
	flavor string
	times  string
}

func reportCommand() *cobra.Command {
	var flags reportFlags
	command := &cobra.Command{
		Use:   "report --from FILE [FILE...]",
		Short: "Write the reports of a run again, and merge its shards",
		Long: `Reads the report.json of a run, shows its summary, and writes its other reports again. The reports of several shards of
one run are merged into what one run would have given. Those of runs on several targets or versions are shown side by
side; they go into one HTML page and one Markdown summary.

--times writes how long each case took: a small file, to be kept for gatehouse conformance --times, by which shards take
equally long.

Exit status: that of the run, of several the worst: 0, 1 when a target is not conformant, 3 when a run was in error; 2
when the command line or a report is wrong.`,
		Example: `  gatehouse report --from out/report.json --junit junit.xml --junit-flavor testgrid
  gatehouse report --from shard-*/report.json --json report.json --junit junit.xml
  gatehouse report --from out/*/report.json --html conformance.html --markdown conformance.md
  gatehouse report --from out/report.json --times times.json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			// A shell makes --from shard-*/report.json one value of the flag and arguments.
			flags.from = append(flags.from, args...)
			err := report(flags, cmd.OutOrStdout())
			if len(args) > 0 && errors.Is(err, fs.ErrNotExist) { // it may have been meant for a command
				return usageError("%w%s", err, didYouMean(args[0], []string{"diff", "matrix"}))
			}
			return err
		},
		ValidArgsFunction: cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveFilterFileExt),
	}
	set := command.Flags()
	set.StringArrayVar(&flags.from, "from", nil, "read this report.json `FILE`; may be repeated, for the shards of one run")
	set.StringVar(&flags.files.JUnit, "junit", "", "write JUnit XML to this `FILE`")
	set.StringVar(&flags.flavor, "junit-flavor", string(reports.JUnitPortable), flavorUsage)
	set.StringVar(&flags.files.JUnitOptions.Bundles, "bundles", "", "the `DIR` of the failed cases' bundles as GitLab finds it, for links to them")
	set.StringVar(&flags.files.JSON, "json", "", "write report.json to this `FILE`")
	set.StringVar(&flags.files.HTML, "html", "", "write an HTML page to this `FILE`")
	set.StringVar(&flags.files.Markdown, "markdown", "", "write a Markdown summary to this `FILE`")
	set.StringVar(&flags.times, "times", "", "write how long each case took to this `FILE`")
	complete(command, "junit-flavor", words(reports.JUnitPortable.Values()...))
	completeFiles(command, map[string][]string{
		"from": {"json"}, "junit": {"xml"}, "json": {"json"}, "html": {"html"}, "markdown": {"md"}, "times": {"json"},
	}, "bundles")
	command.AddCommand(reportDiffCommand(), reportMatrixCommand())
	return command
}

// report reads and merges reports, writes them, and returns an error with the exit status of the run.
func report(flags reportFlags, stdout io.Writer) error {
	if len(flags.from) == 0 {
		return usageError("--from: name the report.json of a run, or those of its shards")
	}
	flavor, err := parseFlavor(flags.flavor)
	if err != nil {
		return err
	}
	flags.files.JUnitOptions.Flavor = flavor
	parts, err := readReports(flags.from)
	if err != nil {
		return err
	}
	runs, err := reports.MergeRuns(parts...)
	if err != nil {
		return exitError{exitUsage, err}
	}
	if len(runs) > 1 && (flags.files.JUnit != "" || flags.files.JSON != "" || flags.times != "") {
		return usageError("--junit, --json and --times hold one run, and these are %d: write them run by run", len(runs))
	}
	err = writeTo(flags.times, func(w io.Writer) error { return reports.WriteTimes(w, runs[0]) })
	if err := errors.Join(err, writeReport(flags.files, stdout, runs...)); err != nil {
		return exitError{exitEnvironment, err}
	}
	return verdictError(runs...)
}

// readReports reads the report.json files; of a directory the one in it. Its errors are of usage.
func readReports(names []string) ([]reports.Part, error) {
	var parts []reports.Part
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			name = filepath.Join(name, "report.json")
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, exitError{exitUsage, err}
		}
		r, err := reports.ReadJSON(name, data)
		if err != nil {
			return nil, exitError{exitUsage, err}
		}
		parts = append(parts, reports.Part{Name: name, Report: r})
	}
	return parts, nil
}

// writeReport writes the files of a report, or of several side by side, and shows their summaries.
func writeReport(files reports.Files, stdout io.Writer, all ...reports.Report) error {
	errs := []error{files.Write(all...)}
	for _, r := range all {
		errs = append(errs, reports.WriteText(stdout, r, textOptions(stdout)))
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

// notEnded is why a report that is written before anything has run is no verdict.
const notEnded = "the run has not ended: it is going on, or it was killed"

// prepare writes the report of a run that has not ended. It fails before anything has run where none could be written
// afterwards; and what a run that is killed leaves is no report of an earlier one.
func prepare(files reports.Files, begun reports.Report) error {
	files.StepSummary = "" // it takes what the run came to, and nothing before
	return files.Write(begun)
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
