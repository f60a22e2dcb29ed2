package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// areaRow is an area in several reports side by side.
type areaRow struct {
	ID, Title string
	Cells     []areaCell
}

// areaCell is an area in a report, in words.
type areaCell struct {
	// Mark says how the area did: good, soft, bad, or none where nothing of it applies.
	Mark string
	// Cases is how many of the cases passed, Others what became of the others, Behaviors how many behaviours held.
	Cases, Others, Behaviors string
}

// matrix has a row for each area that any of the reports has a case of or should have, in the order of the ledgers.
func matrix(all []Report) (rows []areaRow, total areaRow) {
	for _, area := range areasOfAll(all) {
		row := areaRow{ID: area.ID, Title: line(cmp.Or(area.Title, area.ID))}
		for _, r := range all {
			row.Cells = append(row.Cells, newAreaCell(countsOf(r, area.ID)))
		}
		rows = append(rows, row)
	}
	total = areaRow{Title: "Total"}
	for _, r := range all {
		total.Cells = append(total.Cells, newAreaCell(r.Total))
	}
	return rows, total
}

// areasOfAll are the areas of all reports, each once.
func areasOfAll(all []Report) []fixtures.Area {
	var areas []fixtures.Area
	seen := map[string]bool{}
	for _, r := range all {
		for _, a := range r.Areas {
			if !seen[a.ID] {
				seen[a.ID] = true
				areas = append(areas, a.Area)
			}
		}
	}
	return areas
}

func countsOf(r Report, area string) Counts {
	i := slices.IndexFunc(r.Areas, func(a Area) bool { return a.ID == area })
	if i < 0 {
		return Counts{}
	}
	return r.Areas[i].Counts
}

// noCases stands for the count of an area without cases.
const noCases = "no cases"

func newAreaCell(c Counts) areaCell {
	cell := areaCell{
		Cases:     fmt.Sprintf("%d of %d", c.CaseCounts.Pass, c.CaseCounts.All()),
		Behaviors: fmt.Sprintf("%d of %d", c.BehaviorCounts.Held, c.BehaviorCounts.Applicable()),
	}
	var others []string
	for _, part := range []struct {
		n    int
		word string
	}{{c.CaseCounts.Fail, "failed"}, {c.CaseCounts.Error, "in error"}, {c.CaseCounts.Warn, "warned"}, {c.CaseCounts.KnownFail, "known"}, {c.CaseCounts.NotRun, "not run"}} {
		if part.n > 0 {
			others = append(others, strconv.Itoa(part.n)+" "+part.word)
		}
	}
	cell.Others = strings.Join(others, ", ")
	switch {
	case c.CaseCounts.Fail+c.CaseCounts.Error > 0:
		cell.Mark = "bad"
	case c.CaseCounts.All() > 0 && c.CaseCounts.Executed() == 0: // not selected
		cell.Mark = "none"
	case c.BehaviorCounts.Applicable() == 0:
		cell.Mark, cell.Behaviors = "none", "none apply"
	case c.BehaviorCounts.Held < c.BehaviorCounts.Applicable():
		cell.Mark = "soft"
	default:
		cell.Mark = "good"
	}
	if c.CaseCounts.All() == 0 {
		cell.Cases = noCases
	}
	return cell
}

// runNames tells runs apart: by their targets, and where that is not enough by their numbers.
func runNames(all []Report) []string {
	names := make([]string, len(all))
	count := map[string]int{}
	for i, r := range all {
		names[i] = line(strings.TrimSpace(r.Target.Name + " " + r.Target.Version))
		count[names[i]]++
	}
	seen := map[string]int{}
	for i, name := range names {
		if count[name] > 1 {
			seen[name]++
			names[i] = fmt.Sprintf("%s (%d)", name, seen[name])
		}
	}
	return names
}

// heading says what the reports are about.
func heading(all []Report) string {
	switch {
	case all[0].Webhook != nil:
		return "Gatehouse: a webhook on trial"
	case all[0].PolicyTests != nil:
		return "Gatehouse: tests of policies"
	default:
		return "Gatehouse: conformance of admission"
	}
}

func verdictMark(v Verdict) string {
	switch {
	case v.ExitStatus() != 0:
		return "bad"
	case v == Partial:
		return "soft"
	default:
		return "good"
	}
}

func outcomeMark(o Outcome) string {
	switch o {
	case Pass:
		return "good"
	case Fail, Error:
		return "bad"
	default:
		return "soft"
	}
}

func behaviorMark(v BehaviorVerdict) string {
	switch v {
	case Held:
		return "good"
	case Failed:
		return "bad"
	case Unproven:
		return "soft"
	default:
		return "none"
	}
}
