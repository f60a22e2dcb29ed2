package reports

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// htmlAreas are the areas with their behaviours and cases. Those with a problem are open.
func htmlAreas(all []Report, names []string, shown []htmlProblem) []htmlArea {
	anchors := map[string]string{} // by run and case
	for _, p := range shown {
		anchors[p.Run+"\n"+p.ID] = p.Anchor
	}
	var areas []htmlArea
	for _, area := range areasOfAll(all) {
		out := htmlArea{ID: area.ID, Title: line(cmp.Or(area.Title, area.ID)), Description: line(area.Description)}
		for _, r := range all {
			cell := newAreaCell(countsOf(r, area.ID))
			out.Cells = append(out.Cells, cell)
			out.Open = out.Open || cell.Mark == "bad"
		}
		out.Behaviors = htmlBehaviors(all, names, area.ID, anchors)
		if len(out.Behaviors) > 0 {
			areas = append(areas, out)
		}
	}
	return areas
}

func htmlBehaviors(all []Report, names []string, area string, anchors map[string]string) []htmlBehavior {
	var out []htmlBehavior
	index := map[string]int{}
	for run, r := range all {
		results := resultsByID(r)
		for _, b := range r.Behaviors {
			if b.Area != area {
				continue
			}
			i, ok := index[b.ID]
			if !ok {
				i = len(out)
				index[b.ID] = i
				out = append(out, newHTMLBehavior(b))
			}
			out[i].Verdicts = append(out[i].Verdicts, htmlVerdict{names[run], string(b.Verdict), behaviorMark(b.Verdict), line(b.Reason)})
			for _, id := range b.Cases {
				result := results[id]
				out[i].addCase(id, htmlOutcome{
					names[run], string(result.Outcome), outcomeMark(result.Outcome), took(result.Duration), anchors[names[run]+"\n"+line(id)],
				})
			}
		}
	}
	for i := range out {
		words := map[string]bool{}
		for _, v := range out[i].Verdicts {
			words[v.Verdict] = true
		}
		out[i].Verdict = strings.Join(slices.Sorted(maps.Keys(words)), ",")
	}
	return out
}

func resultsByID(r Report) map[string]Result {
	results := make(map[string]Result, len(r.Results))
	for _, result := range r.Results {
		results[result.ID] = result
	}
	return results
}

func newHTMLBehavior(b Behavior) htmlBehavior {
	out := htmlBehavior{ID: line(b.ID), Statement: line(b.Statement), Level: string(b.Level), Kind: string(b.Kind)}
	for _, source := range b.Sources {
		out.Sources = append(out.Sources, line(source))
	}
	var versions []string
	if b.Since != "" {
		versions = append(versions, "since Kubernetes "+line(b.Since))
	}
	if b.Until != "" {
		versions = append(versions, "until Kubernetes "+line(b.Until))
	}
	out.Versions = strings.Join(versions, ", ")
	return out
}

func (b *htmlBehavior) addCase(id string, o htmlOutcome) {
	i := slices.IndexFunc(b.Cases, func(c htmlCase) bool { return c.ID == line(id) })
	if i < 0 {
		b.Cases = append(b.Cases, htmlCase{ID: line(id)})
		i = len(b.Cases) - 1
	}
	b.Cases[i].Outcomes = append(b.Cases[i].Outcomes, o)
}

// notRunGroups are the cases of a run that were not run, by the reason.
func notRunGroups(r Report, name string) []htmlNotRun {
	var groups []htmlNotRun
	index := map[string]int{}
	for _, result := range r.Results {
		if result.Outcome != NotRun {
			continue
		}
		reason := line(notRunReason(result))
		i, ok := index[reason]
		if !ok {
			i = len(groups)
			index[reason] = i
			groups = append(groups, htmlNotRun{Run: name, Reason: reason})
		}
		groups[i].Cases = append(groups[i].Cases, line(result.ID))
	}
	return groups
}
