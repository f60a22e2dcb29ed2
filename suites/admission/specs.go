// Package admission is the conformance suite: it builds Ginkgo specs from fixtures, one for each case, and runs them
// through the runner. Does this API server admit as documented?
package admission

import (
	"context"
	"slices"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/runner"
)

// Serial is the label of cases beside which nothing else may run.
const Serial = "serial"

// Options say which specs to build and what becomes of their results.
type Options struct {
	// Set are the cases, with their ledger.
	Set *fixtures.Set
	// Server returns the API server to test with a case. It is called while specs run, after every BeforeSuite.
	Server func(*fixtures.LoadedCase) *runner.Server
	// Started is called before a case runs; it may be nil.
	Started func(id string)
	// Finished is called with the result of every case; it may be nil.
	Finished func(reports.Result)
	// Dead is called when the server was found to serve no longer, before the suite is aborted; it may be nil.
	Dead func(error)
	// Context ends the suite early: the case that runs is interrupted and cleans up, those after it are skipped. It may
	// be nil.
	Context context.Context
}

// Specs builds one spec for each case, in containers by area. It is to be called once, before ginkgo.RunSpecs: Ginkgo
// keeps its specs in a global tree. A spec's text is the case's id and title; its labels are those of Labels.
func Specs(o Options) {
	cases := o.Set.Cases
	for len(cases) > 0 {
		area := cases[0].Area
		others := slices.IndexFunc(cases, func(c *fixtures.LoadedCase) bool { return c.Area != area })
		if others < 0 {
			others = len(cases)
		}
		ofArea := cases[:others]
		cases = cases[others:]
		ginkgo.Describe(area, func() {
			for _, c := range ofArea {
				o.spec(c)
			}
		})
	}
}

func (o Options) spec(c *fixtures.LoadedCase) {
	at := types.NewCustomCodeLocation(c.Position.String())
	args := []any{at, ginkgo.Label(Labels(o.Set.Ledger, c)...), func(ctx ginkgo.SpecContext) { o.run(ctx, c) }}
	if c.Serial {
		args = append(args, ginkgo.Serial)
	}
	ginkgo.It(c.ID+" "+c.Title, args...)
}

// Labels are the labels of a case's spec: its area, its behaviours and their levels, what it needs, and Serial.
func Labels(ledger *fixtures.Ledger, c *fixtures.LoadedCase) []string {
	labels := []string{c.Area}
	for _, id := range c.Behaviors {
		labels = append(labels, id)
		if b, known := ledger.Behavior(id); known {
			labels = append(labels, string(b.Level))
		}
	}
	for _, need := range c.Needs {
		labels = append(labels, string(need))
	}
	if c.Serial {
		labels = append(labels, Serial)
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}

// run runs the case as a spec.
func (o Options) run(ctx context.Context, c *fixtures.LoadedCase) {
	if o.Context != nil {
		if o.Context.Err() != nil {
			ginkgo.Skip("interrupted: " + context.Cause(o.Context).Error())
		}
		linked, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(o.Context, func() { cancel(context.Cause(o.Context)) })()
		ctx = linked
	}
	if o.Started != nil {
		o.Started(c.ID)
	}
	server := o.Server(c)
	result := runner.Run(ctx, server, c)
	if o.Finished != nil {
		o.Finished(result)
	}
	switch result.Outcome {
	case reports.Pass:
	case reports.NotRun:
		ginkgo.Skip(result.Reason)
	case reports.Error:
		if dead := server.Alive(ctx); dead != nil {
			if o.Dead != nil {
				o.Dead(dead)
			}
			ginkgo.AbortSuite(dead.Error())
		}
		ginkgo.Fail("ERROR " + reports.Describe(result))
	default:
		ginkgo.Fail(reports.Describe(result))
	}
}
