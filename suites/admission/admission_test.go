package admission_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/suites/admission"
	"github.com/gatehouse-dev/gatehouse/suites/runner"
	"github.com/gatehouse-dev/gatehouse/suites/target"
	"github.com/gatehouse-dev/gatehouse/suites/target/remote"
)

// TestAdmission runs the conformance cases on the target that the environment names: TARGET is fakeapi (when absent),
// envtest or kubeconfig; KUBECONFIG and HOOK_ADDRESS are as --kubeconfig and --hook-address of gatehouse conformance.
// Processes of one parallel run share the target.
func TestAdmission(t *testing.T) {
	set, err := fixtures.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	var own owned
	var server *runner.Server
	ginkgo.SynchronizedBeforeSuite(func(ctx context.Context) []byte {
		must(own.open(ctx, set))
		handover, err := json.Marshal(own.owner.Handover())
		must(err)
		return handover
	}, func(_ context.Context, data []byte) {
		var handover remote.Handover
		must(json.Unmarshal(data, &handover))
		connected, disconnect, err := admission.Connect(handover)
		must(err)
		ginkgo.DeferCleanup(disconnect)
		server = connected
	})
	ginkgo.SynchronizedAfterSuite(func() {}, func() { must(own.close()) })
	admission.Specs(admission.Options{Set: set, Server: func() *runner.Server { return server }})
	ginkgo.ReportAfterSuite("cases executed", func(report ginkgo.Report) {
		specs := report.SpecReports.WithLeafNodeType(types.NodeTypeIt)
		if !report.SuiteConfig.DryRun && specs.CountWithState(types.SpecStatePassed|types.SpecStateFailureStates) == 0 {
			ginkgo.Fail("no case was executed")
		}
	})
	ginkgo.RunSpecs(t, "Kubernetes admission")
}

// must fails the node that runs when there is an error.
func must(err error) {
	if err != nil {
		ginkgo.Fail(err.Error(), 1)
	}
}

// owned is what the first process of a run has for all.
type owned struct {
	target target.Target
	owner  *remote.Owner
}

func (o *owned) open(ctx context.Context, set *fixtures.Set) (err error) {
	options := target.Options{Name: cmp.Or(os.Getenv("TARGET"), target.FakeAPI), Needs: sets.New[fixtures.Need]()}
	if options.Name == target.Kubeconfig {
		options.HookAddress = os.Getenv("HOOK_ADDRESS")
	}
	for _, c := range set.Cases {
		options.Needs.Insert(c.Needs...)
	}
	if o.target, err = target.Open(ctx, options); err != nil {
		return err
	}
	o.owner, err = remote.Serve(o.target)
	return err
}

func (o *owned) close() error {
	var errs []error
	if o.owner != nil {
		errs = append(errs, o.owner.Close())
	}
	if o.target != nil {
		errs = append(errs, o.target.Stop())
	}
	return errors.Join(errs...)
}
