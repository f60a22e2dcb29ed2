package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/spf13/cobra"

	"github.com/gatehouse-dev/gatehouse/fixtures"
	"github.com/gatehouse-dev/gatehouse/reports"
	"github.com/gatehouse-dev/gatehouse/suites/admission"
	"github.com/gatehouse-dev/gatehouse/suites/runner"
)

// messagesFD is the file descriptor on which a shard reports to its parent.
const messagesFD = 3

// conformanceShardCommand is a shard of gatehouse conformance, for that command's own use.
func conformanceShardCommand() *cobra.Command {
	return &cobra.Command{
		Use:    shardArgument,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			messages := os.NewFile(messagesFD, "messages")
			defer messages.Close()
			return runShard(cmd.Context(), cmd.InOrStdin(), messages)
		},
	}
}

// runShard does what the plan on stdin says until stdin ends. An error says that the shard could not begin; what becomes
// of the cases goes to messages.
func runShard(ctx context.Context, stdin io.Reader, messages io.Writer) error {
	input := json.NewDecoder(stdin)
	var plan shardPlan
	if err := input.Decode(&plan); err != nil {
		return fmt.Errorf("reading the plan: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // ends with the process, at the latest
		_, _ = io.Copy(io.Discard, stdin)
		cancel(errors.New("the run was stopped"))
	}()
	set, err := planned(plan)
	if err != nil {
		return err
	}
	server, disconnect, err := admission.Connect(plan.Target)
	if err != nil {
		return err
	}
	defer disconnect()
	out := &messageWriter{encoder: json.NewEncoder(messages)}
	server.Leftovers = func(id string, paths []string) { out.write(shardMessage{Left: &leftovers{ID: id, Paths: paths}}) }
	admission.Specs(admission.Options{
		Set: set, Context: ctx, Server: func(*fixtures.LoadedCase) *runner.Server { return server },
		Started:  func(id string) { out.write(shardMessage{Started: id}) },
		Finished: func(result reports.Result) { out.write(shardMessage{Result: &result}) },
		Dead:     func(err error) { out.write(shardMessage{Dead: err.Error()}) },
	})
	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.RandomSeed = 1
	suite.Timeout = 24 * time.Hour
	suite.GracePeriod = shardGrace
	reporter.Succinct, reporter.NoColor = true, true
	ginkgo.RunSpecs(deaf{}, "gatehouse conformance", suite, reporter)
	return out.err
}

// planned loads the fixtures and leaves those cases that the plan names.
func planned(plan shardPlan) (*fixtures.Set, error) {
	all, err := loadFixtures(plan.Builtin, plan.Fixtures, filesOf(plan.Cases))
	if err != nil {
		return nil, err
	}
	set := &fixtures.Set{Ledger: all.Ledger}
	for _, c := range all.Cases {
		if slices.Contains(plan.Cases, c.ID) {
			set.Cases = append(set.Cases, c)
		}
	}
	if len(set.Cases) != len(plan.Cases) {
		return nil, fmt.Errorf("%d of %d cases of the plan are not among the fixtures", len(plan.Cases)-len(set.Cases), len(plan.Cases))
	}
	return set, nil
}

// messageWriter writes lines of JSON and keeps the first error.
type messageWriter struct {
	mu      sync.Mutex
	encoder *json.Encoder
	err     error
}

func (w *messageWriter) write(m shardMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.encoder.Encode(m); err != nil && w.err == nil {
		w.err = fmt.Errorf("reporting to the parent: %w", err)
	}
}

// deaf is a GinkgoTestingT for which a failure is no failure of the process: the results tell of it.
type deaf struct{}

func (deaf) Fail() {}
