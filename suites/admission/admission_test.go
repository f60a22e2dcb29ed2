package admission_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/suites/admission"
	"github.com/gatehouse-dev/gatehouse/suites/runner"
	"github.com/gatehouse-dev/gatehouse/suites/target"
	"github.com/gatehouse-dev/gatehouse/suites/target/remote"
)

// TestAdmission runs the conformance cases on the target that the environment names: TARGET is fakeapi (when absent),
// envtest or kubeconfig; KUBECONFIG and HOOK_ADDRESS are as --kubeconfig and --hook-address of gatehouse conformance.
// Processes of one parallel run share the target. Under the race detector a sample of the cases runs.
func TestAdmission(t *testing.T) {
	set, err := fixtures.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	if underRace {
		var sample []*fixtures.LoadedCase
		for some := range slices.Chunk(set.Cases, raceSample) {
			sample = append(sample, some[0])
		}
		set.Cases = sample
	}
	name := cmp.Or(os.Getenv("TARGET"), target.FakeAPI)
	parts := target.Together(name, set.Cases)
	var own owned
	servers := map[string]*runner.Server{} // by the ids of their cases
	ginkgo.SynchronizedBeforeSuite(func(ctx context.Context) []byte {
		var handovers []remote.Handover
		for _, cases := range parts {
			handover, err := own.open(ctx, name, cases)
			must(err)
			handovers = append(handovers, handover)
		}
		data, err := json.Marshal(handovers)
		must(err)
		return data
	}, func(_ context.Context, data []byte) {
		var handovers []remote.Handover
		must(json.Unmarshal(data, &handovers))
		for i, handover := range handovers {
			connected, disconnect, err := admission.Connect(handover)
			must(err)
			ginkgo.DeferCleanup(disconnect)
			for _, c := range parts[i] {
				servers[c.ID] = connected
			}
		}
	})
	ginkgo.SynchronizedAfterSuite(func() {}, func() { must(own.close()) })
	admission.Specs(admission.Options{Set: set, Server: func(c *fixtures.LoadedCase) *runner.Server { return servers[c.ID] }})
	ginkgo.ReportAfterSuite("cases executed", func(report ginkgo.Report) {
		specs := report.SpecReports.WithLeafNodeType(types.NodeTypeIt)
		if !report.SuiteConfig.DryRun && specs.CountWithState(types.SpecStatePassed|types.SpecStateFailureStates) == 0 {
			ginkgo.Fail("no case was executed")
		}
	})
	ginkgo.RunSpecs(t, "Kubernetes admission")
}

// raceSample is the part of the cases that run under the race detector: one of so many. make conformance runs all.
const raceSample = 4

// must fails the node that runs when there is an error.
func must(err error) {
	if err != nil {
		ginkgo.Fail(err.Error(), 1)
	}
}

// owned is what the first process of a run has for all.
type owned struct {
	targets []target.Target
	owners  []*remote.Owner
}

// open starts a server of the target for the cases.
func (o *owned) open(ctx context.Context, name string, cases []*fixtures.LoadedCase) (remote.Handover, error) {
	options := target.Options{Name: name, Needs: target.Needs(cases)}
	if name == target.Kubeconfig {
		options.HookAddress = os.Getenv("HOOK_ADDRESS")
	}
	opened, err := target.Open(ctx, options)
	if err != nil {
		return remote.Handover{}, err
	}
	o.targets = append(o.targets, opened)
	owner, err := remote.Serve(opened)
	if err != nil {
		return remote.Handover{}, err
	}
	o.owners = append(o.owners, owner)
	return owner.Handover(), nil
}

func (o *owned) close() error {
	var errs []error
	for _, owner := range o.owners {
		errs = append(errs, owner.Close())
	}
	for _, opened := range o.targets {
		errs = append(errs, opened.Stop())
	}
	return errors.Join(errs...)
}
