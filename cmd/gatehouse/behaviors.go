package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/suites/webhook/zoo"
)

// behaviorsFlags are the flags of gatehouse behaviors.
type behaviorsFlags struct {
	area string
	dirs []string
}

func behaviorsCommand() *cobra.Command {
	var flags behaviorsFlags
	command := &cobra.Command{
		Use:   "behaviors [--area AREA] [ID]",
		Short: "List or explain the behaviors that the conformance suite shows",
		Long: `Lists the behaviors of the ledger by area, or explains one: what must be so, how much it is guaranteed, where that is
written, and which fixtures show it. The beginning of an ID lists the behaviors whose ids begin so. The rules of
gatehouse webhook are shown by webhooks that break one each; what those do wrong stands beside them. Each area says how
many of its behaviors are shown.`,
		Example: `  gatehouse behaviors --area matching-rules
  gatehouse behaviors webhook.rules.operation.
  gatehouse behaviors webhook.rules.operation.create`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := fixtures.LoadAll(flags.dirs...)
			if err != nil {
				return exitError{exitUsage, err}
			}
			return behaviors(set, flags.area, strings.Join(args, ""), cmd.OutOrStdout())
		},
	}
	command.Flags().StringVar(&flags.area, "area", "", "list the behaviors of this `AREA` alone")
	command.Flags().StringArrayVar(&flags.dirs, "fixtures", nil, "also read the fixtures and the ledger in this `DIR`; may be repeated")
	command.ValidArgsFunction = completeBehavior
	complete(command, "area", completeArea)
	completeFiles(command, nil, "fixtures")
	return command
}

// behaviors explains the behavior with that id, or lists those that area and id select; both may be empty.
func behaviors(set *fixtures.Set, area, id string, out io.Writer) error {
	selected := set.Ledger.Behaviors
	if id != "" {
		found, err := set.Ledger.Find(id)
		if err != nil {
			return exitError{exitUsage, err}
		}
		selected = found
	}
	if area != "" {
		if _, err := set.Ledger.OfArea(area); err != nil {
			return exitError{exitUsage, fmt.Errorf("--area: %w", err)}
		}
	}
	if len(selected) == 1 && selected[0].ID == id {
		return explainBehavior(set, selected[0], out)
	}
	return listBehaviors(set, selected, area, out)
}

// listBehaviors writes one line for each behavior, under a heading for each area.
func listBehaviors(set *fixtures.Set, selected []fixtures.Behavior, area string, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	heading := ""
	for _, b := range selected {
		if area != "" && b.Area != area {
			continue
		}
		if b.Area != heading {
			if heading != "" {
				fmt.Fprintln(w)
			}
			heading = b.Area
			a, _ := set.Ledger.Area(b.Area)
			fmt.Fprintf(w, "%s: %s (%s)\n", a.ID, a.Description, shown(set, func(b fixtures.Behavior) bool { return b.Area == a.ID }))
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", b.ID, b.Level, b.Kind, witnesses(set, b))
	}
	if area == "" && len(selected) == len(set.Ledger.Behaviors) {
		fmt.Fprintf(w, "\nshown in all: %s\n", shown(set, func(fixtures.Behavior) bool { return true }))
	}
	return w.Flush()
}

// shown says of each level how many of the selected behaviors have a witness.
func shown(set *fixtures.Set, selected func(fixtures.Behavior) bool) string {
	var parts []string
	for _, level := range []fixtures.Level{fixtures.Must, fixtures.Should, fixtures.May} {
		witnessed, all := 0, 0
		for _, b := range set.Ledger.Behaviors {
			if b.Level != level || !selected(b) {
				continue
			}
			all++
			if len(set.Witnesses(b.ID)) > 0 || len(zoo.Breaking(b.ID)) > 0 {
				witnessed++
			}
		}
		if all > 0 {
			parts = append(parts, fmt.Sprintf("%s %d of %d", level, witnessed, all))
		}
	}
	return strings.Join(parts, ", ")
}

// witnesses says in a few words what shows a behavior.
func witnesses(set *fixtures.Set, b fixtures.Behavior) string {
	if area, _ := set.Ledger.Area(b.Area); area.Witness != fixtures.Zoo {
		return countCases(len(set.Witnesses(b.ID)))
	}
	return strings.Join(faultsOf(b), "; ")
}

// faultsOf says what the webhooks of the zoo do wrong that break a rule, or why there is none.
func faultsOf(b fixtures.Behavior) []string {
	if strings.HasPrefix(b.Notes, zoo.Unseen) {
		return []string{zoo.Unseen}
	}
	var faults []string
	for _, animal := range zoo.Breaking(b.ID) {
		faults = append(faults, "a webhook that "+animal.Name)
	}
	if faults == nil {
		return []string{"no webhook"}
	}
	return faults
}

func countCases(n int) string {
	switch n {
	case 0:
		return "no case"
	case 1:
		return "1 case"
	default:
		return fmt.Sprintf("%d cases", n)
	}
}

// explainBehavior writes all that the ledger and the fixtures say about a behavior.
func explainBehavior(set *fixtures.Set, b fixtures.Behavior, out io.Writer) error {
	area, _ := set.Ledger.Area(b.Area)
	fmt.Fprintf(out, "%s\n\n  %s\n\n", b.ID, b.Statement)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "Area:\t%s (%s)\n", area.ID, area.Title)
	fmt.Fprintf(w, "Level:\t%s\n", b.Level)
	kind := string(b.Kind)
	if b.Confirmed != "" {
		kind += ", confirmed on kube-apiserver " + b.Confirmed
	}
	fmt.Fprintf(w, "Kind:\t%s\n", kind)
	fmt.Fprintf(w, "Applies to:\t%s%s\n", strings.Join(b.API, ", "), versionRange(b))
	fmt.Fprintf(w, "Ledger:\t%s\n", b.Position)
	writeList(w, "Sources:", b.Sources)
	if b.Notes != "" {
		fmt.Fprintf(w, "Notes:\t%s\n", b.Notes)
	}
	if area.Witness == fixtures.Zoo {
		writeList(w, "Broken by:", faultsOf(b))
		return w.Flush()
	}
	var cases []string
	for _, c := range set.Witnesses(b.ID) {
		cases = append(cases, fmt.Sprintf("%s (%s:%d)", c.ID, c.Position.File, c.Position.Line))
	}
	if cases == nil {
		cases = []string{"none yet"}
	}
	writeList(w, "Cases:", cases)
	return w.Flush()
}

func versionRange(b fixtures.Behavior) string {
	text := ""
	if b.Since != "" {
		text += ", since Kubernetes " + b.Since
	}
	if b.Until != "" {
		text += ", until Kubernetes " + b.Until
	}
	return text
}

// writeList writes a heading with the entries of a list below one another.
func writeList(w io.Writer, heading string, entries []string) {
	for _, entry := range entries {
		fmt.Fprintf(w, "%s\t%s\n", heading, entry)
		heading = ""
	}
}
