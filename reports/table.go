package reports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// column is a column of numbers in the table of areas.
type column struct {
	title string
	color string
	value func(Counts) int
}

// columnGroup are columns under one heading.
type columnGroup struct {
	title   string
	columns []column
}

// tableColumns are the columns of a table with that total: warnings only where there are any.
func tableColumns(total Counts) []columnGroup {
	groups := []columnGroup{
		{"cases", []column{
			{"pass", sgrGreen, func(c Counts) int { return c.CaseCounts.Pass }},
			{"fail", sgrRed, func(c Counts) int { return c.CaseCounts.Fail }},
			{"known", sgrYellow, func(c Counts) int { return c.CaseCounts.KnownFail }},
			{"not-run", sgrYellow, func(c Counts) int { return c.CaseCounts.NotRun }},
			{"error", sgrRed, func(c Counts) int { return c.CaseCounts.Error }},
		}},
		{"behaviors", []column{
			{"held", sgrGreen, func(c Counts) int { return c.BehaviorCounts.Held }},
			{"failed", sgrRed, func(c Counts) int { return c.BehaviorCounts.Failed }},
			{"unproven", sgrYellow, func(c Counts) int { return c.BehaviorCounts.Unproven }},
			{"n.a.", sgrFaint, func(c Counts) int { return c.BehaviorCounts.NotApplicable }},
		}},
	}
	if total.CaseCounts.Warn > 0 {
		warn := column{"warn", sgrYellow, func(c Counts) int { return c.CaseCounts.Warn }}
		groups[0].columns = slices.Insert(groups[0].columns, 2, warn)
	}
	return groups
}

// table writes the counts of the areas that have cases, and the total. Of a part of the cases it leaves out the areas of
// which none was run.
func (p *printer) table(areas []Area, total Counts, partial bool) {
	var rows []Area
	var without, behaviors, idle int
	for _, a := range areas {
		switch all := a.CaseCounts.All(); {
		case all == 0:
			without++
			behaviors += a.BehaviorCounts.All()
		case partial && a.CaseCounts.NotRun == all && total.CaseCounts.NotRun < total.CaseCounts.All():
			idle++
		default:
			rows = append(rows, a)
		}
	}
	rows = append(rows, Area{Area: fixtures.Area{ID: "total"}, Counts: total})

	columns := tableColumns(total)
	first, gap := p.tableWidths(rows, columns)
	head, titles := fmt.Sprintf("%-*s", first, ""), fmt.Sprintf("%-*s", first, "area")
	for _, g := range columns {
		head += gap + gap + g.title
		titles += gap
		for _, c := range g.columns {
			titles += gap + c.title
		}
		head = fmt.Sprintf("%-*s", len(titles), head)
	}
	p.line(p.paint(sgrFaint, strings.TrimRight(head, " ")))
	p.line(p.paint(sgrBold, titles))
	for _, a := range rows {
		p.row(a, columns, first, gap)
	}
	if idle > 0 {
		p.line(p.paint(sgrFaint, plural(idle, "area", "areas")+" of which no case was run"))
	}
	if without > 0 {
		p.line(p.paint(sgrFaint, fmt.Sprintf("%s: %s",
			plural(without, "area without cases", "areas without cases"), plural(behaviors, "behavior", "behaviors"))))
	}
	p.line("")
}

// tableWidths returns the width of the column of areas and what stands between columns: less space, then less of the
// names, where the width is short.
func (p *printer) tableWidths(rows []Area, columns []columnGroup) (first int, gap string) {
	longest := len("area")
	for _, a := range rows {
		longest = max(longest, utf8.RuneCountInString(line(a.ID)))
	}
	gap = "  "
	titles, gaps := 0, 0
	for _, g := range columns {
		gaps++
		for _, c := range g.columns {
			titles += len(c.title)
			gaps++
		}
	}
	if longest+titles+gaps*len(gap) > p.Width {
		gap = " "
	}
	const least = 8
	return min(longest, max(p.Width-titles-gaps*len(gap), least)), gap
}

func (p *printer) row(a Area, columns []columnGroup, first int, gap string) {
	row := fmt.Sprintf("%-*s", first, cut(line(a.ID), first))
	for _, g := range columns {
		row += gap
		for _, c := range g.columns {
			cell, color := strconv.Itoa(c.value(a.Counts)), c.color
			if cell == "0" {
				cell, color = ".", sgrFaint
			}
			row += gap + p.paint(color, fmt.Sprintf("%*s", len(c.title), cell))
		}
	}
	p.line(row)
}
