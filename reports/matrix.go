package reports

import (
	"errors"
	"slices"
	"strings"

	"github.com/gatehouse-dev/gatehouse/fixtures"
)

// Matrix is what several reports say, side by side: servers, or versions of one.
type Matrix struct {
	// Columns are the reports.
	Columns []MatrixColumn
	// Areas are the areas of all ledgers: those of the first report, then those that the others add.
	Areas []MatrixArea
}

// MatrixColumn is one of the reports.
type MatrixColumn struct {
	// Title is the server and its version, with the report's name where another has the same.
	Title string
	// Report is what it says.
	Report Report
}

// MatrixArea is an area and its behaviours.
type MatrixArea struct {
	fixtures.Area
	// Counts are the counts of the area by column.
	Counts []Counts
	// Behaviors are the area's behaviours.
	Behaviors []MatrixBehavior
}

// MatrixBehavior is a behaviour and what each report says about it.
type MatrixBehavior struct {
	fixtures.Behavior
	// Cells are the verdicts by column.
	Cells []MatrixCell
}

// MatrixCell is what one report says about a behaviour.
type MatrixCell struct {
	// Verdict is empty where the report's ledger does not have the behaviour.
	Verdict BehaviorVerdict
	// Note is why: the cases that failed, or what kept all of them from being run.
	Note string
}

// Differs reports whether the reports disagree on the behaviour.
func (b MatrixBehavior) Differs() bool {
	return slices.ContainsFunc(b.Cells, func(c MatrixCell) bool { return c.Verdict != b.Cells[0].Verdict })
}

// Differences are the behaviours on which the reports disagree, in the order of the areas.
func (m Matrix) Differences() []MatrixBehavior {
	var all []MatrixBehavior
	for _, a := range m.Areas {
		for _, b := range a.Behaviors {
			if b.Differs() {
				all = append(all, b)
			}
		}
	}
	return all
}

// NewMatrix puts reports side by side.
func NewMatrix(parts ...Part) (Matrix, error) {
	if len(parts) == 0 {
		return Matrix{}, errors.New("no reports to put side by side")
	}
	var m Matrix
	titles := map[string]int{}
	for _, p := range parts {
		titles[serverName(p.Report.Target)]++
	}
	type place struct{ area, index int }
	areas, places := map[string]int{}, map[string]place{}
	for i, p := range parts {
		title := serverName(p.Report.Target)
		if titles[title] > 1 {
			title = line(title + " (" + p.Name + ")")
		}
		m.Columns = append(m.Columns, MatrixColumn{Title: title, Report: p.Report})
		for _, a := range p.Report.Areas {
			if _, there := areas[a.ID]; !there {
				areas[a.ID] = len(m.Areas)
				m.Areas = append(m.Areas, MatrixArea{Area: a.Area, Counts: make([]Counts, len(parts))})
			}
			m.Areas[areas[a.ID]].Counts[i] = a.Counts
		}
		results := resultsByID(p.Report)
		for _, b := range p.Report.Behaviors {
			at, there := places[b.ID]
			if !there {
				area := &m.Areas[areas[b.Area]]
				at = place{areas[b.Area], len(area.Behaviors)}
				places[b.ID] = at
				area.Behaviors = append(area.Behaviors, MatrixBehavior{Behavior: b.Behavior, Cells: make([]MatrixCell, len(parts))})
			}
			m.Areas[at.area].Behaviors[at.index].Cells[i] = MatrixCell{b.Verdict, cellNote(b, results)}
		}
	}
	return m, nil
}

// cellNote says why a verdict is not held.
func cellNote(b Behavior, results map[string]Result) string {
	if b.Verdict != Failed {
		return line(b.Reason)
	}
	notes := failedCases(b.Cases, results)
	if more := len(notes) - 1; more > 0 {
		return notes[0] + "; and " + plural(more, "other case", "other cases")
	}
	return strings.Join(notes, "")
}
